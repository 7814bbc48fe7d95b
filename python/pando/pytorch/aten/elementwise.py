# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions of floats."""
import math

from pando.pytorch.aten.table import aten
from pando.pytorch.symbols import (absolute, add, cast, divide, either, equal, floating, full, greater, is_float, is_nan, less,
                                   maximum, minimum, multiply, negate, op, operand, square, subtract, where)


def unary(name, pando):
    @aten(name)
    def function(c, x):
        return floating(pando, x)
    return function


for _pair in dict(sqrt="sqrt", rsqrt="rsqrt", exp="exp", log="log", sin="sin", cos="cos", erf="erf", special_erf="erf",
                  tanh="tanh", sigmoid="sigmoid", silu="silu").items():
    unary(*_pair)


@aten("reciprocal")
def reciprocal(c, x):
    return divide(1, x)


def expm1_of(x):
    """exp(x) - 1, as exact near 0 as elsewhere: elu has no cancellation below 0."""
    below = op("elu", minimum(x, 0.0), alpha=1.0)
    above = negate(multiply(op("elu", negate(maximum(x, 0.0)), alpha=1.0), op("exp", x)))
    return where(less(x, 0), below, above)


def log1p_of(x):
    """log(1 + x), by a correction for the rounding of 1 + x."""
    rounded = add(x, 1.0)
    grown = subtract(rounded, 1.0)
    near = equal(grown, 0)
    made = multiply(op("log", rounded), divide(x, where(near, 1.0, grown)))
    return where(either(near, equal(x, math.inf)), x, made)


@aten("expm1", "special_expm1")
def expm1(c, x):
    return expm1_of(cast(x, "float32"))


@aten("log1p", "special_log1p")
def log1p(c, x):
    return log1p_of(cast(x, "float32"))


@aten("exp2", "special_exp2")
def exp2(c, x):
    return floating("power", 2.0, x)


@aten("log2")
def log2(c, x):
    return multiply(floating("log", x), 1 / math.log(2))


@aten("log10")
def log10(c, x):
    return multiply(floating("log", x), 1 / math.log(10))


@aten("tan")
def tan(c, x):
    return divide(floating("sin", x), floating("cos", x))


def halves(x):
    """exp(x) / 2 and exp(-x) / 2; exp(x) alone would be infinite too early."""
    root = op("exp", multiply(x, 0.5))
    return multiply(multiply(root, 0.5), root), divide(divide(0.5, root), root)


@aten("sinh")
def sinh(c, x):
    x = cast(x, "float32")
    near = multiply(subtract(expm1_of(x), expm1_of(negate(x))), 0.5)
    return where(less(absolute(x), 1), near, subtract(*halves(x)))


@aten("cosh")
def cosh(c, x):
    return add(*halves(cast(x, "float32")))


@aten("asinh")
def asinh(c, x):
    x = cast(x, "float32")
    far = absolute(x)
    near = minimum(far, 1e9)    # its square is finite
    grown = log1p_of(add(near, divide(square(near), add(op("sqrt", add(square(near), 1.0)), 1.0))))
    made = where(greater(far, 1e9), add(op("log", far), math.log(2)), grown)
    return where(less(x, 0), negate(made), made)


@aten("acosh")
def acosh(c, x):
    x = cast(x, "float32")
    above = subtract(minimum(x, 1e9), 1.0)
    near = log1p_of(add(above, op("sqrt", add(multiply(above, 2.0), square(above)))))
    return where(less(x, 1), math.nan, where(greater(x, 1e9), add(op("log", x), math.log(2)), near))


@aten("atanh")
def atanh(c, x):
    x = cast(x, "float32")
    return multiply(subtract(log1p_of(x), log1p_of(negate(x))), 0.5)


@aten("logaddexp")
def logaddexp(c, a, b):
    apart = absolute(subtract(a, b))
    return where(equal(a, b), add(a, math.log(2)), add(maximum(a, b), log1p_of(op("exp", negate(apart)))))


@aten("xlogy", "special_xlogy")
def xlogy(c, x, y):
    x, y = (operand(v, c.like, "float32") for v in (x, y))
    made = where(equal(x, 0), 0.0, multiply(x, op("log", y)))
    return where(is_nan(y), math.nan, made)


@aten("isnan")
def isnan(c, x):
    return is_nan(x)


@aten("isinf")
def isinf(c, x):
    return equal(absolute(x), math.inf) if is_float(x) else full(x, x.shape, False, "bool")


@aten("isfinite")
def isfinite(c, x):
    return less(absolute(x), math.inf) if is_float(x) else full(x, x.shape, True, "bool")


@aten("nan_to_num")
def nan_to_num(c, x, nan=None, posinf=None, neginf=None):
    if not is_float(x):
        return x
    most = 3.4028234663852886e38
    above = where(equal(x, math.inf), most if posinf is None else posinf, x)
    made = where(equal(x, -math.inf), -most if neginf is None else neginf, above)
    return where(is_nan(x), 0.0 if nan is None else nan, made)


@aten("logaddexp2")
def logaddexp2(c, a, b):
    return divide(logaddexp(c, multiply(a, math.log(2)), multiply(b, math.log(2))), math.log(2))


@aten("special_xlog1py")
def xlog1py(c, x, y):
    x, y = (operand(v, c.like, "float32") for v in (x, y))
    made = where(equal(x, 0), 0.0, multiply(x, log1p_of(y)))
    return where(is_nan(y), math.nan, made)


@aten("special_entr")
def entr(c, x):
    x = cast(x, "float32")
    made = where(equal(x, 0), 0.0, where(less(x, 0), -math.inf, negate(multiply(x, op("log", x)))))
    return where(is_nan(x), math.nan, made)


@aten("hypot")
def hypot(c, a, b):
    """The larger times a root that cannot overflow."""
    a, b = absolute(a), absolute(b)
    long, short = maximum(a, b), minimum(a, b)
    share = divide(short, where(equal(long, 0), 1.0, long))
    made = multiply(long, op("sqrt", add(square(share), 1.0)))
    return where(either(equal(a, math.inf), equal(b, math.inf)), math.inf, made)


@aten("sinc", "special_sinc")
def sinc(c, x):
    angle = multiply(cast(x, "float32"), math.pi)
    zero = equal(angle, 0)
    return where(zero, 1.0, divide(op("sin", angle), where(zero, 1.0, angle)))


@aten("deg2rad")
def deg2rad(c, x):
    return multiply(cast(x, "float32"), math.pi / 180)


@aten("rad2deg")
def rad2deg(c, x):
    return multiply(cast(x, "float32"), 180 / math.pi)


@aten("angle")
def angle(c, x):
    x = cast(x, "float32")
    return where(is_nan(x), x, where(less(x, 0), math.pi, 0.0))


@aten("isposinf")
def isposinf(c, x):
    return equal(x, math.inf) if is_float(x) else full(x, x.shape, False, "bool")


@aten("isneginf")
def isneginf(c, x):
    return equal(x, -math.inf) if is_float(x) else full(x, x.shape, False, "bool")


@aten("heaviside")
def heaviside(c, x, values):
    made = where(equal(x, 0), values, cast(greater(x, 0), c.dtype), c.dtype)
    return where(is_nan(x), x, made, c.dtype)


@aten("lerp")
def lerp(c, x, end, weight):
    """From the nearer end, as PyTorch does."""
    weight = operand(weight, x, "float32")
    apart = subtract(end, x)
    return where(less(absolute(weight), 0.5), add(x, multiply(weight, apart)),
                 subtract(end, multiply(apart, subtract(1.0, weight))))
