# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, powers and roundings. Integers keep their type and wrap."""
from pando.torch.aten.table import aten
from pando.torch.symbols import (absolute, add, both, cast, computed, divide, either, equal, floating, full, greater,
                                   is_float, is_symbol, less, multiply, negate, not_equal, op, operand, square, subtract, where)
from pando.torch.unsupported import refuse


# ---- arithmetic
def scaled(y, alpha, dtype):
    return y if alpha == 1 else computed("multiply", y, alpha, dtype=dtype) if is_symbol(y) else y * alpha


@aten("add")
def add_of(c, x, y, alpha=1):
    if c.dtype == "bool":
        return either(operand(x, c.like, "bool"), operand(y, c.like, "bool")) if alpha else cast(x, "bool")
    return computed("add", x, scaled(y, alpha, c.dtype), dtype=c.dtype)


@aten("sub")
def sub(c, x, y, alpha=1):
    return computed("subtract", x, scaled(y, alpha, c.dtype), dtype=c.dtype)


@aten("rsub")
def rsub(c, x, y, alpha=1):
    return computed("subtract", y, scaled(x, alpha, c.dtype), dtype=c.dtype)


@aten("mul")
def mul(c, x, y):
    if c.dtype == "bool":
        return both(operand(x, c.like, "bool"), operand(y, c.like, "bool"))
    if x is y:
        return computed("square", x, dtype=c.dtype)
    return computed("multiply", x, y, dtype=c.dtype)


@aten("neg")
def neg(c, x):
    return negate(x)


@aten("abs")
def abs_of(c, x):
    return absolute(x)


@aten("sign", "sgn")
def sign(c, x):
    return x if x.dtype == "bool" else computed("sign", x)


@aten("square")
def square_of(c, x):
    return computed("square", x, dtype=c.dtype)


@aten("addcmul")
def addcmul(c, x, a, b, value=1):
    return computed("add", x, scaled(computed("multiply", a, b, dtype=c.dtype), value, c.dtype), dtype=c.dtype)


@aten("addcdiv")
def addcdiv(c, x, a, b, value=1):
    return add(x, multiply(divide(a, b), value))


# ---- division
def whole(x):
    """x without its fraction."""
    return where(less(x, 0), negate(op("floor", negate(x))), op("floor", x))


def fmod_of(x, y, dtype):
    """What division towards 0 leaves of x: it has the sign of x."""
    x, y = (operand(v, x if is_symbol(x) else y, dtype) for v in (x, y))
    if dtype == "float32":
        rest = op("remainder", absolute(x), absolute(y))
        return where(less(x, 0), negate(rest), rest)
    return subtract(x, multiply(quotient(x, y, dtype), y))


def quotient(x, y, dtype):
    """The quotient of integers, towards 0."""
    x, y = (operand(v, x if is_symbol(x) else y, dtype) for v in (x, y))
    below = computed("floor_divide", x, y)
    rest = not_equal(subtract(x, multiply(below, y)), 0)
    return where(both(rest, signs_differ(x, y)), add(below, 1), below)


def signs_differ(x, y):
    return op("not_equal", less(x, 0), less(y, 0))


def floor_of_quotient(x, y):
    """What Python's // makes of floats, which is not always the floor of the rounded quotient."""
    rest = fmod_of(x, y, "float32")
    there = both(not_equal(rest, 0), signs_differ(rest, y))
    exact = divide(subtract(x, rest), y)
    exact = where(there, subtract(exact, 1.0), exact)
    below = op("floor", exact)
    below = where(greater(subtract(exact, below), 0.5), add(below, 1.0), below)
    made = where(equal(exact, 0), multiply(divide(x, y), 0.0), below)
    return where(equal(y, 0), divide(x, y), made)


@aten("div", "true_divide")
def div(c, x, y, rounding_mode=None):
    if rounding_mode is None:
        return divide(x, y)
    if c.dtype == "float32":
        x, y = (operand(v, c.like, "float32") for v in (x, y))
        return floor_of_quotient(x, y) if rounding_mode == "floor" else whole(divide(x, y))
    if rounding_mode == "floor":
        return computed("floor_divide", x, y, dtype=c.dtype)
    wide = "int32" if c.dtype == "uint8" else c.dtype
    return cast(quotient(x, y, wide), c.dtype)


@aten("floor_divide")
def floor_divide(c, x, y):
    return div(c, x, y, "floor")


@aten("remainder")
def remainder(c, x, y):
    return computed("remainder", x, y, dtype=c.dtype)


@aten("fmod")
def fmod(c, x, y):
    wide = "int32" if c.dtype == "uint8" else c.dtype
    return cast(fmod_of(x, y, wide), c.dtype)


# ---- powers
@aten("pow")
def power(c, x, y):
    if c.dtype != "float32":
        return integer_power(cast(x, c.dtype) if is_symbol(x) else refuse("powers of an integer by tensors"), y)
    if is_symbol(y):
        return floating("power", x, y)
    x = cast(x, "float32")
    known = {0.5: lambda: op("sqrt", x), 2: lambda: square(x), 3: lambda: multiply(square(x), x), 1: lambda: x,
             -1: lambda: divide(1.0, x), -0.5: lambda: op("rsqrt", x), -2: lambda: divide(1.0, square(x))}
    return known.get(y, lambda: op("power", x, full(x, [], y, "float32")))()


def integer_power(x, y):
    """Powers by squaring, which wrap as PyTorch's do."""
    if is_symbol(y) or y != int(y) or y < 0:
        refuse("an exponent of integers must be a number of at least 0")
    made, y = None, int(y)
    while y:
        if y % 2:
            made = x if made is None else multiply(made, x)
        y //= 2
        x = square(x) if y else x
    return full(x, x.shape, 1, x.dtype) if made is None else made


# ---- roundings, which leave integers as they are
@aten("floor")
def floor(c, x):
    return op("floor", x) if is_float(x) else x


@aten("ceil")
def ceil(c, x):
    return negate(op("floor", negate(x))) if is_float(x) else x


@aten("trunc", "fix")
def trunc(c, x):
    return whole(x) if is_float(x) else x


@aten("round")
def round_of(c, x, decimals=0):
    if not is_float(x):
        return x if not decimals else refuse("decimals of integers")
    factor = 10.0 ** abs(decimals)
    if decimals > 0:
        return divide(op("round", multiply(x, factor)), factor)
    return multiply(op("round", divide(x, factor)), factor) if decimals else op("round", x)


@aten("frac")
def frac(c, x):
    return subtract(x, whole(x))
