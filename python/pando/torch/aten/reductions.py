# SPDX-License-Identifier: Apache-2.0
"""Reductions over axes, and norms of vectors."""
import math

import pando.torch.layout as layout
from pando.torch.aten.table import aten
from pando.torch.layout import axes_of, axis_of, in_reverse_order, largest, reshape, smallest, total, with_axis
from pando.torch.symbols import (absolute, add, cast, computed, divide, equal, full, is_nan, multiply, not_equal, op, rank,
                                   size, square, subtract, where)
from pando.torch.unsupported import refuse


@aten("sum")
def sum_of(c, x, dim=None, keepdim=False, dtype=None):
    return cast(total(cast(x, c.dtype), dim, keepdim), c.dtype)


@aten("nansum")
def nansum(c, x, dim=None, keepdim=False, dtype=None):
    return sum_of(c, where(is_nan(x), 0, x), dim, keepdim)


@aten("mean")
def mean_of(c, x, dim=None, keepdim=False, dtype=None):
    return layout.mean(cast(x, c.dtype), dim, keepdim)


@aten("count_nonzero")
def count_nonzero(c, x, dim=None):
    return total(cast(x, "bool"), dim)


@aten("prod")
def prod(c, x, dim=None, keepdim=False, dtype=None):
    """Halves are multiplied until one element is left."""
    x = cast(x, c.dtype)
    if dim is None:
        x, dim = reshape(x, [size(x)]), 0
    elif not rank(x):
        return x
    axis = axis_of(dim, rank(x))
    if x.shape[axis] == 0:
        return full(x, c.shape, 1, c.dtype)
    while (n := x.shape[axis]) > 1:
        made = multiply(layout.part(x, axis, 0, n // 2), layout.part(x, axis, n // 2, n // 2))
        x = layout.concat([made, layout.part(x, axis, n - 1, 1)], axis) if n % 2 else made
    return reshape(x, c.shape)


# ---- the largest and the smallest
@aten("amax")
def amax(c, x, dim=(), keepdim=False):
    return largest(x, dim, keepdim)


@aten("amin")
def amin(c, x, dim=(), keepdim=False):
    return smallest(x, dim, keepdim)


def place_of_largest(x, dim, keepdim):
    x = cast(x, "int32") if x.dtype in ("bool", "uint8") else x
    if dim is None:
        place = op("argmax", reshape(x, [size(x)]), axis=0)
        return cast(reshape(place, [1] * rank(x)) if keepdim else place, "int64")
    if not rank(x):
        return full(x, [], 0, "int64")
    axis = axis_of(dim, rank(x))
    place = op("argmax", x, axis=axis)
    return cast(with_axis(place, axis) if keepdim else place, "int64")


@aten("argmax")
def argmax(c, x, dim=None, keepdim=False):
    return place_of_largest(x, dim, keepdim)


@aten("argmin")
def argmin(c, x, dim=None, keepdim=False):
    return place_of_largest(in_reverse_order(x), dim, keepdim)


@aten("max")
def max_of(c, x, dim=None, keepdim=False):
    return largest(x) if dim is None else (largest(x, [dim], keepdim), place_of_largest(x, dim, keepdim))


@aten("min")
def min_of(c, x, dim=None, keepdim=False):
    if dim is None:
        return smallest(x)
    return smallest(x, [dim], keepdim), place_of_largest(in_reverse_order(x), dim, keepdim)


@aten("aminmax")
def aminmax(c, x, dim=None, keepdim=False):
    if not rank(x):
        refuse("a scalar, of which PyTorch makes a vector, and its traces a scalar")
    axes = None if dim is None else [dim]
    return smallest(x, axes, keepdim), largest(x, axes, keepdim)


@aten("any")
def any_of(c, x, dim=None, keepdim=False):
    x = cast(x, "bool")
    return cast(largest(x, dim, keepdim), c.dtype) if size(x) else full(x, c.shape, 0, c.dtype)


@aten("all")
def all_of(c, x, dim=None, keepdim=False):
    x = cast(x, "bool")
    return cast(smallest(x, dim, keepdim), c.dtype) if size(x) else full(x, c.shape, 1, c.dtype)


# ---- moments
def variance(x, axes, keep, correction):
    """The mean, with its axes, and the variance."""
    axes = axes_of(axes, rank(x))
    middle = layout.mean(x, axes, True)
    count = math.prod(x.shape[axis] for axis in axes)
    squares = total(square(subtract(x, middle)), axes, keep)
    return middle, divide(squares, full(x, [], max(float(count - correction), 0.0), "float32"))


@aten("var")
def var(c, x, dim=None, unbiased=True, keepdim=False, correction=None):
    return variance(x, *moment_arguments(dim, unbiased, keepdim, correction))[1]


@aten("std")
def std(c, x, dim=None, unbiased=True, keepdim=False, correction=None):
    return op("sqrt", var(c, x, dim, unbiased, keepdim, correction))


def moment_arguments(dim, unbiased, keepdim, correction):
    """The overload without axes has `unbiased` in their place."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return dim, keepdim, float(unbiased if correction is None else correction)


@aten("var_mean")
def var_mean(c, x, dim=None, unbiased=True, keepdim=False, correction=None):
    dim, keepdim, correction = moment_arguments(dim, unbiased, keepdim, correction)
    middle, made = variance(x, dim, keepdim, correction)
    return made, reshape(middle, made.shape)


@aten("std_mean")
def std_mean(c, x, dim=None, unbiased=True, keepdim=False, correction=None):
    made, middle = var_mean(c, x, dim, unbiased, keepdim, correction)
    return op("sqrt", made), middle


# ---- norms
@aten("norm", "linalg_vector_norm")
def norm(c, x, p=2, dim=None, keepdim=False, dtype=None):
    return norm_of(cast(x, c.dtype), 2 if p is None else p, dim, keepdim)


def norm_of(x, p, dim, keepdim):
    far, axes = absolute(x), axes_of(dim, rank(x))
    if p == 2:
        return op("sqrt", total(square(far), axes, keepdim))
    if p == math.inf:
        return largest(far, axes, keepdim) if axes else far
    if p == -math.inf:
        return smallest(far, axes, keepdim) if axes else far
    if p == 0:
        return total(cast(not_equal(far, 0), "float32"), axes, keepdim)
    if p == 1:
        return total(far, axes, keepdim)
    return computed("power", total(computed("power", far, float(p)), axes, keepdim), 1.0 / p)


@aten("logsumexp")
def logsumexp(c, x, dim, keepdim=False):
    x, axes = cast(x, "float32"), axes_of(dim, rank(x))
    top = largest(x, axes, True)
    top = where(equal(absolute(top), math.inf), 0.0, top)    # infinity less infinity would be NaN
    made = add(op("log", total(op("exp", subtract(x, top)), axes, True)), top)
    return reshape(made, c.shape)
