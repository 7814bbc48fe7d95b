# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions of floats."""
import math

from pando.torch.aten.table import aten
from pando.torch.symbols import (absolute, add, cast, divide, either, equal, floating, full, greater, is_float, is_nan, less,
                                   maximum, minimum, multiply, negate, op, operand, square, subtract, where)
from pando.torch.unsupported import refuse


def unary(name, pando):
    @aten(name)
    def function(c, x):
        return floating(pando, x)
    return function


for _name in ("sqrt", "rsqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "asin", "acos", "atan", "sinh", "cosh", "tanh",
              "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma", "digamma", "sigmoid", "silu"):
    unary(_name, _name)
for _pair in dict(special_erf="erf", special_erfc="erfc", special_erfinv="erfinv", special_expm1="expm1", special_log1p="log1p",
                  special_gammaln="lgamma", special_digamma="digamma", special_psi="digamma").items():
    unary(*_pair)


@aten("polygamma", "special_polygamma")
def polygamma(c, n, x):
    if n > 1:
        refuse(f"the polygamma function of order {n}; 0 and 1 are there")
    if n and not is_float(x):
        refuse("the trigamma function of integers, where PyTorch gives large numbers for infinity")
    return floating("trigamma" if n else "digamma", x)


@aten("mvlgamma", "special_multigammaln")
def mvlgamma(c, x, p):
    x, made = cast(x, "float32"), None
    for i in range(p):
        term = op("lgamma", subtract(x, i / 2))
        made = term if made is None else add(made, term)
    return add(made, p * (p - 1) / 4 * math.log(math.pi))


@aten("atan2")
def atan2(c, y, x):
    return floating("atan2", y, x)


@aten("reciprocal")
def reciprocal(c, x):
    return divide(1, x)


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


@aten("logaddexp")
def logaddexp(c, a, b):
    apart = absolute(subtract(a, b))
    return where(equal(a, b), add(a, math.log(2)), add(maximum(a, b), op("log1p", op("exp", negate(apart)))))


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
    made = where(equal(x, 0), 0.0, multiply(x, op("log1p", y)))
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
