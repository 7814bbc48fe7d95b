# SPDX-License-Identifier: Apache-2.0
"""Activations and their backward ops, in the forms that Pando's passes know."""
from pando.torch.aten.choices import clamp
from pando.torch.aten.table import aten
from pando.torch.layout import axis_of, part, reshape
from pando.torch.symbols import (add, both, cast, computed, divide, greater, is_float, is_nan, less, maximum, minimum,
                                   multiply, negation, op, rank, size, square, subtract, vjp, where)


@aten("relu")
def relu(c, x):
    return op("relu", x) if is_float(x) else maximum(x, 0)


@aten("relu6")
def relu6(c, x):
    return clamp(c, x, 0, 6)


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
    below = multiply(op("expm1", multiply(x, input_scale)), alpha * scale)
    return where(greater(x, 0), multiply(x, scale), below)


@aten("softplus")
def softplus(c, x, beta=1, threshold=20):
    scaled = multiply(x, beta)
    return where(greater(scaled, threshold), x, divide(op("softplus", scaled), beta))


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


@aten("mish")
def mish(c, x):
    return multiply(x, op("tanh", op("softplus", x)))


@aten("softshrink")
def softshrink(c, x, lambd=0.5):
    return where(greater(x, lambd), subtract(x, lambd), where(less(x, -lambd), add(x, lambd), multiply(x, 0.0)))


@aten("hardshrink")
def hardshrink(c, x, lambd=0.5):
    inside = both(computed("greater_equal", x, -lambd), computed("less_equal", x, lambd))
    return where(inside, 0.0, x)


@aten("prelu", "_prelu_kernel")
def prelu(c, x, weight):
    if size(weight) > 1 and rank(weight) == 1 and rank(x) > 1:
        weight = reshape(weight, [1, -1] + [1] * (rank(x) - 2))
    weight = weight if rank(weight) <= rank(x) else reshape(weight, [])
    return where(greater(x, 0), x, multiply(x, weight))


@aten("celu")
def celu(c, x, alpha=1.0):
    return where(greater(x, 0), x, multiply(op("expm1", divide(x, alpha)), alpha))


@aten("glu")
def glu(c, x, dim=-1):
    axis = axis_of(dim, rank(x))
    half = x.shape[axis] // 2
    return multiply(part(x, axis, 0, half), op("sigmoid", part(x, axis, half, half)))


@aten("logit", "special_logit")
def logit(c, x, eps=None):
    x = cast(x, "float32")
    x = x if eps is None else minimum(maximum(x, eps), 1.0 - eps)
    return op("log", divide(x, subtract(1.0, x)))
