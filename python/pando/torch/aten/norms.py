# SPDX-License-Identifier: Apache-2.0
"""Normalisation over the batch, over channels and over the last axes."""
import math

from pando.torch.aten.table import Absent, aten
from pando.torch.layout import channels_first, channels_last, mean, reshape, total
from pando.torch.symbols import add, divide, multiply, op, rank, square, subtract, vjp


# ---- over the batch
def by_channel(values, x):
    """One value for each channel, so that it broadcasts to x."""
    return reshape(values, [1, -1] + [1] * (rank(x) - 2))


def with_defaults(c, w, b, channels):
    return (c.full(channels, 1, "float32") if w is None else w, c.full(channels, 0, "float32") if b is None else b)


def trained(x, w, b, eps, output="y"):
    """Pando's op on [N, ..., C]: x normalised by its own mean and variance, or one of these."""
    return op("batch_norm", channels_last(x), w, b, epsilon=eps, output=output)


def with_statistics(x, w, b, middle, var, eps):
    """x normalised by a mean and a variance that are given."""
    factor = op("rsqrt", add(var, eps))
    y = multiply(subtract(x, by_channel(middle, x)), by_channel(multiply(factor, w), x))
    return add(y, by_channel(b, x))


def batch_norm(c, x, w, b, running, training, momentum, eps):
    """The result, the mean and 1 / deviation of the batch, and what becomes of the running statistics."""
    w, b = with_defaults(c, w, b, [x.shape[1]])
    if not training:
        return with_statistics(x, w, b, *running, eps), *[Absent("statistics of the batch in evaluation")] * 2, *running
    middle, var = (trained(x, w, b, eps, output) for output in ("mean", "variance"))
    count = math.prod(x.shape) // x.shape[1]
    updated = running
    if running[0] is not None:
        unbiased = multiply(var, count / (count - 1) if count > 1 else math.inf)
        updated = [add(multiply(old, 1 - momentum), multiply(new, momentum)) for old, new in zip(running, (middle, unbiased))]
    return channels_first(trained(x, w, b, eps)), middle, op("rsqrt", add(var, eps)), *updated


@aten("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training")
def native_batch_norm(c, x, w, b, *arguments):
    """PyTorch 1.13 changes the running statistics without saying so in the schema; a second call goes on from the first."""
    name = c.node.target._schema.name
    if name.endswith("no_training"):
        return batch_norm(c, x, w, b, arguments[:2], False, *arguments[2:])[:3]
    if len(arguments) == 3:    # no_stats
        return batch_norm(c, x, w, b, [None, None], *arguments)[:3]
    running = [c.value(node) for node in c.node.args[3:5]]
    y, middle, factor, *updated = batch_norm(c, x, w, b, running, *arguments[2:])
    if arguments[2] and running[0] is not None:
        c.assign(3, updated[0])
        c.assign(4, updated[1])
    return y, middle, factor


@aten("_native_batch_norm_legit_functional")
def functional_batch_norm(c, x, w, b, running_mean, running_var, training, momentum, eps):
    return batch_norm(c, x, w, b, [running_mean, running_var], training, momentum, eps)


@aten("_batch_norm_with_update_functional")
def batch_norm_with_update(c, x, w, b, running_mean, running_var, momentum, eps):
    y, middle, factor, *updated = batch_norm(c, x, w, b, [running_mean, running_var], True, momentum, eps)
    return y, middle, factor, c.full([0], 0, "uint8"), *updated


@aten("native_batch_norm_backward", takes_absent=True)
def native_batch_norm_backward(c, g, x, w, running_mean, running_var, middle, factor, training, eps, mask):
    held, zero = with_defaults(c, w, None, [x.shape[1]])
    if training:
        return vjp(lambda x, w, b: channels_first(trained(x, w, b, eps)), [x, held, zero], g, mask)
    factor = op("rsqrt", add(running_var, eps))
    axes = [0, *range(2, rank(x))]
    hat = multiply(subtract(x, by_channel(running_mean, x)), by_channel(factor, x))
    return (multiply(g, by_channel(multiply(factor, held), x)) if mask[0] else None,
            total(multiply(g, hat), axes) if mask[1] else None, total(g, axes) if mask[2] else None)


@aten("batch_norm_backward", takes_absent=True)
def batch_norm_backward(c, g, x, w, running_mean, running_var, middle, factor, training, eps, mask, reserve):
    return native_batch_norm_backward(c, g, x, w, running_mean, running_var, middle, factor, training, eps, mask)


# ---- over the last axes
def layer_norm(x, w, b, size, eps):
    n = math.prod(size)
    y = op("layer_norm", reshape(x, [math.prod(x.shape) // n if n else 0, n]), reshape(w, [n]), reshape(b, [n]), epsilon=eps)
    return reshape(y, x.shape)


@aten("native_layer_norm")
def native_layer_norm(c, x, size, w, b, eps):
    axes = list(range(-len(size), 0))
    middle = mean(x, axes, True)
    factor = op("rsqrt", add(mean(square(subtract(x, middle)), axes, True), eps))
    return layer_norm(x, *with_defaults(c, w, b, size), size, eps), middle, factor


@aten("native_layer_norm_backward")
def native_layer_norm_backward(c, g, x, size, middle, factor, w, b, mask):
    held, offset = with_defaults(c, w, b, size)
    made = c.maker(4, ["native_layer_norm"])
    if made is not None:    # one op of Pando, whose gradient is one too
        return vjp(lambda x, w, b: layer_norm(x, w, b, size, made.args[4]), [x, held, offset], g, mask)
    axes, rest = list(range(-len(size), 0)), list(range(rank(x) - len(size)))
    hat = multiply(subtract(x, middle), factor)
    gh = multiply(g, held)
    gx = subtract(subtract(gh, mean(gh, axes, True)), multiply(hat, mean(multiply(gh, hat), axes, True)))
    return (multiply(gx, factor) if mask[0] else None, sum_over(multiply(g, hat), rest) if mask[1] else None,
            sum_over(g, rest) if mask[2] else None)


def sum_over(x, axes):
    """The sum over these axes, of which there may be none."""
    return total(x, axes) if axes else x


# ---- over groups of channels
@aten("native_group_norm")
def native_group_norm(c, x, w, b, n, channels, area, groups, eps):
    rows = reshape(x, [n * groups, (channels // groups) * area])
    middle = mean(rows, [1], True)
    factor = op("rsqrt", add(mean(square(subtract(rows, middle)), [1], True), eps))
    size = [rows.shape[1]]
    y = reshape(layer_norm(rows, *with_defaults(c, None, None, size), size, eps), x.shape)
    y = y if w is None else multiply(y, by_channel(w, x))
    y = y if b is None else add(y, by_channel(b, x))
    return y, reshape(middle, [n, groups]), reshape(factor, [n, groups])


# ---- of weights
def lengths(v, dim):
    """The norm of the part of v at each place along an axis."""
    return op("sqrt", total(square(v), [i for i in range(rank(v)) if i != dim % rank(v)], True))


@aten("_weight_norm_interface")
def weight_norm(c, v, g, dim=0):
    norms = lengths(v, dim)
    return multiply(v, divide(g, norms)), norms


@aten("_weight_norm_interface_backward")
def weight_norm_backward(c, cotangent, v, g, norms, dim):
    return vjp(lambda v, g: multiply(v, divide(g, lengths(v, dim))), [v, g], cotangent)
