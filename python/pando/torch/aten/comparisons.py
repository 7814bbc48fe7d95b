# SPDX-License-Identifier: Apache-2.0
"""Comparisons, truth values and bits."""
from pando.torch.aten.table import aten
from pando.torch.layout import reshape, total, with_axis
from pando.torch.symbols import both, cast, computed, either, equal, negation, op, operand, promoted, rank, size
from pando.torch.unsupported import refuse


# ---- comparisons
def comparison(name, pando, negated=False):
    @aten(name)
    def function(c, x, y):
        dtype = promoted(x, y)
        if dtype == "bool":
            x, y = (operand(operand(v, c.like, "bool"), c.like, "int32") for v in (x, y))
        return computed(pando, x, y)
    return function


for _pair in dict(eq="equal", ne="not_equal", lt="less", le="less_equal", gt="greater", ge="greater_equal").items():
    comparison(*_pair)


# ---- truth values and bits
def logical(c, name, x, y):
    return op(name, operand(x, c.like, "bool"), operand(y, c.like, "bool"))


@aten("logical_and")
def logical_and(c, x, y):
    return both(x, y)


@aten("logical_or")
def logical_or(c, x, y):
    return either(x, y)


@aten("logical_xor")
def logical_xor(c, x, y):
    return logical(c, "not_equal", x, y)


@aten("logical_not")
def logical_not(c, x):
    return negation(x)


def bits(name, pando, of_bools):
    @aten(name)
    def function(c, x, y):
        return logical(c, of_bools, x, y) if c.dtype == "bool" else computed(pando, x, y, dtype=c.dtype)
    return function


bits("bitwise_and", "bitwise_and", "logical_and")
bits("bitwise_or", "bitwise_or", "logical_or")
bits("bitwise_xor", "bitwise_xor", "not_equal")


@aten("bitwise_not")
def bitwise_not(c, x):
    return negation(x) if x.dtype == "bool" else computed("bitwise_xor", x, 255 if x.dtype == "uint8" else -1)


def shift(name, pando):
    @aten(name)
    def function(c, x, y):
        if c.dtype == "uint8":
            refuse("shifts of uint8; use int32")
        return computed(pando, x, y, dtype=c.dtype)
    return function


for _pair in dict(bitwise_left_shift="shift_left", bitwise_right_shift="shift_right", __lshift__="shift_left",
                  __rshift__="shift_right").items():
    shift(*_pair)


# ---- counts of comparisons
@aten("searchsorted")
def searchsorted(c, boundaries, x, out_int32=False, right=False, side=None, sorter=None):
    """How many boundaries are below x, or at it too; NaN is above all."""
    if sorter is not None:
        refuse("an order of its own; sort the boundaries")
    right = right or side == "right"
    x = operand(x, boundaries, promoted(boundaries, x))
    shape = c.shape
    if rank(boundaries) == 1:
        apart = with_axis(x, rank(x))
    else:
        apart, boundaries = with_axis(x, rank(x)), with_axis(boundaries, rank(boundaries) - 1)
    above = computed("greater" if right else "greater_equal", boundaries, apart)
    return cast(reshape(total(negation(above), [-1]), shape), c.dtype)


@aten("bucketize")
def bucketize(c, x, boundaries, out_int32=False, right=False):
    return searchsorted(c, boundaries, x, out_int32, right)


@aten("isin")
def isin(c, elements, tests, assume_unique=False, invert=False):
    x, y = (operand(v, c.like, promoted(elements, tests)) for v in (elements, tests))
    if not size(x) or not size(y):
        return c.full(c.shape, invert, "bool")
    found = cast(total(equal(with_axis(x, rank(x)), reshape(y, [size(y)])), [-1]), "bool")
    return negation(found) if invert else found
