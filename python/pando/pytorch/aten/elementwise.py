# SPDX-License-Identifier: Apache-2.0
"""Elementwise ops of floats, and choices."""
import math

from pando.pytorch.aten.table import aten
from pando.pytorch.symbols import (absolute, add, both, cast, computed, divide, either, equal, floating, full, greater, is_float,
                                   is_nan, is_symbol, less, maximum, minimum, multiply, negate, negation, op, operand,
                                   square, subtract, vjp, where)
from pando.pytorch.unsupported import refuse


def unary(name, pando):
    @aten(name)
    def function(c, x):
        return floating(pando, x)
    return function


for _pair in dict(sqrt="sqrt", rsqrt="rsqrt", exp="exp", log="log", sin="sin", cos="cos", erf="erf", special_erf="erf",
                  tanh="tanh", sigmoid="sigmoid", silu="silu").items():
    unary(*_pair)


@aten("relu")
def relu(c, x):
    return op("relu", x) if is_float(x) else maximum(x, 0)


@aten("relu6")
def relu6(c, x):
    return clamp(c, x, 0, 6)


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


@aten("gelu")
def gelu(c, x, approximate="none"):
    return op({"none": "gelu", "tanh": "gelu_tanh"}[approximate], x)


@aten("leaky_relu")
def leaky_relu(c, x, slope=0.01):
    return op("leaky_relu", x, alpha=slope)


@aten("elu")
def elu(c, x, alpha=1.0, scale=1.0, input_scale=1.0):
    if scale == input_scale == 1:
        return op("elu", x, alpha=alpha)
    below = multiply(expm1_of(multiply(x, input_scale)), alpha * scale)
    return where(greater(x, 0), multiply(x, scale), below)


@aten("softplus")
def softplus(c, x, beta=1, threshold=20):
    scaled = multiply(x, beta)
    return where(greater(scaled, threshold), x, divide(op("softplus", scaled), beta))


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


# ---- choices
@aten("where")
def where_of(c, condition, a, b):
    return where(condition, a, b, c.dtype)


@aten("masked_fill")
def masked_fill(c, x, mask, value):
    return where(mask, operand(value, x, x.dtype), x, x.dtype)


@aten("maximum")
def maximum_of(c, a, b):
    return maximum(a, b)


@aten("minimum")
def minimum_of(c, a, b):
    return minimum(a, b)


@aten("fmax")
def fmax(c, a, b):
    return where(is_nan(a), b, where(is_nan(b), a, maximum(a, b)), c.dtype)


@aten("fmin")
def fmin(c, a, b):
    return where(is_nan(a), b, where(is_nan(b), a, minimum(a, b)), c.dtype)


@aten("clamp", "hardtanh")
def clamp(c, x, least=None, most=None):
    dtype = c.dtype
    numbers = [limit for limit in (least, most) if limit is not None and not is_symbol(limit)]
    if any(limit != limit for limit in numbers):
        refuse("a limit is NaN")
    x = cast(x, dtype)
    if len(numbers) == 2 and dtype == "float32" and least <= most:
        return op("clip", x, min=least, max=most)
    x = x if least is None else computed("maximum", x, least, dtype=dtype)
    return x if most is None else computed("minimum", x, most, dtype=dtype)


@aten("clamp_min")
def clamp_min(c, x, least):
    return computed("maximum", x, least, dtype=c.dtype)


@aten("clamp_max")
def clamp_max(c, x, most):
    return computed("minimum", x, most, dtype=c.dtype)


# ---- backward ops that Pando's passes know, or that PyTorch would decompose into more
@aten("threshold")
def threshold(c, x, limit, value):
    return where(both(negation(greater(x, limit)), negation(is_nan(x))), value, x, c.dtype)


@aten("threshold_backward")
def threshold_backward(c, g, y, limit):
    return op("relu_gradient", g, y) if limit == 0 and is_float(g) else where(computed("less_equal", y, limit), 0, g, c.dtype)


@aten("tanh_backward")
def tanh_backward(c, g, y):
    return multiply(g, subtract(1.0, square(y)))


@aten("sigmoid_backward")
def sigmoid_backward(c, g, y):
    return multiply(g, multiply(y, subtract(1.0, y)))


@aten("gelu_backward")
def gelu_backward(c, g, x, approximate="none"):
    return vjp(lambda v: gelu(c, v, approximate), [x], g)[0]


@aten("silu_backward")
def silu_backward(c, g, x):
    return vjp(lambda v: op("silu", v), [x], g)[0]


@aten("leaky_relu_backward")
def leaky_relu_backward(c, g, x, slope, is_result):
    return where(greater(x, 0), g, multiply(g, slope))


@aten("hardtanh_backward")
def hardtanh_backward(c, g, x, least, most):
    return where(both(greater(x, least), less(x, most)), g, 0.0)
