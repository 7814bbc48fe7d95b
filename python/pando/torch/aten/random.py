# SPDX-License-Identifier: Apache-2.0
"""Random numbers. They are Pando's, from a seed, the number of the source in the graph and the counter of calls; masks are not
kept, but made again. PyTorch's generator would draw others."""
from pando.torch.aten.table import Absent, aten
from pando.torch.layout import reshape
from pando.torch.symbols import add, cast, full, less, minimum, multiply, op, rank
from pando.torch.unsupported import refuse


def dropped(x, rate, counter, stream, seed):
    """x without a part of its elements, and the others divided by what is left of 1."""
    if rate == 0:
        return x
    if rate == 1:
        return full(x, x.shape, 0, x.dtype)
    made = op("dropout", x if rank(x) else reshape(x, [1]), counter, rate=rate, stream=stream, seed=seed)
    return made if rank(x) else reshape(made, [])


@aten("native_dropout")
def native_dropout(c, x, rate, train):
    if not train:
        return x, c.full(x.shape, True, "bool")
    stream = c.stream()
    return dropped(x, rate, c.counter, stream, c.seed), Absent("mask of dropout", rate=rate, stream=stream)


@aten("native_dropout_backward", takes_absent=True)
def native_dropout_backward(c, g, mask, scale):
    if isinstance(mask, Absent):
        return dropped(g, mask.kept["rate"], c.counter, mask.kept["stream"], c.seed)
    return multiply(multiply(g, cast(mask, "float32")), scale)


# ---- numbers
def drawn(c, name, shape, **attributes):
    made = op(name, c.counter, shape=list(shape) or [1], stream=c.stream(), seed=c.seed, **attributes)
    return made if len(shape) else reshape(made, [])


def checked(generator):
    if generator is not None:
        refuse("a generator of its own; leave it out")


@aten("rand", "rand_like")
def rand(c, *arguments, generator=None, **options):
    checked(generator)
    return drawn(c, "random_uniform", c.shape, low=0.0, high=1.0)


@aten("randn", "randn_like")
def randn(c, *arguments, generator=None, **options):
    checked(generator)
    return drawn(c, "random_normal", c.shape, mean=0.0, deviation=1.0)


@aten("uniform")
def uniform(c, x, low=0.0, high=1.0, generator=None):
    checked(generator)
    return drawn(c, "random_uniform", c.shape, low=low, high=high)


def spread(c, middle, deviation):
    """Normal numbers of this mean and deviation, which may be tensors that broadcast."""
    return add(multiply(drawn(c, "random_normal", c.shape, mean=0.0, deviation=1.0), deviation), middle)


@aten("normal")
def normal(c, middle, deviation=1.0, *size, generator=None, **options):
    checked(generator)
    return spread(c, middle, deviation)


@aten("normal_functional")
def normal_functional(c, x, middle=0.0, deviation=1.0, generator=None):
    checked(generator)
    return spread(c, middle, deviation)


@aten("bernoulli")
def bernoulli(c, x, p=None, generator=None):
    checked(generator)
    return cast(less(drawn(c, "random_uniform", c.shape, low=0.0, high=1.0), x if p is None else p), c.dtype)


@aten("randint")
def randint(c, *arguments, generator=None, **options):
    """randint([low,] high, size)"""
    return whole_numbers(c, [x for x in arguments if not isinstance(x, (list, tuple))], generator)


@aten("randint_like")
def randint_like(c, x, *arguments, generator=None, **options):
    return whole_numbers(c, arguments, generator)


def whole_numbers(c, limits, generator):
    checked(generator)
    low, high = limits if len(limits) == 2 else (0, *limits)
    if high - low > 1 << 24:
        refuse(f"whole numbers from {low} to {high}; a range has at most 2^24 numbers")
    drawn_from_0 = op("floor", drawn(c, "random_uniform", c.shape, low=0.0, high=float(high - low)))
    return cast(add(cast(minimum(drawn_from_0, float(high - low - 1)), "int64"), low), c.dtype)
