# SPDX-License-Identifier: Apache-2.0
"""Products of matrices and vectors, and softmax."""
from pando.torch.aten.table import aten
from pando.torch.layout import axis_of, broadcast, reshape, swap_axes, total, with_axis
from pando.torch.symbols import cast, computed, is_float, multiply, op, rank, size, subtract
from pando.torch.unsupported import refuse

# Products of integers are made of elementwise ones, whose terms take memory.
MOST_INTEGER_TERMS = 1 << 24


def product(a, b):
    """The products of matrices in the last two axes."""
    if is_float(a):
        return op("matmul", a, b)
    if size(a) * b.shape[-1] > MOST_INTEGER_TERMS:
        refuse("the product of such large matrices of integers; use float32")
    terms = computed("multiply", with_axis(a, rank(a)), with_axis(b, rank(b) - 2), dtype=a.dtype)
    return cast(total(terms, [rank(a) - 1]), a.dtype)


def scaled_sum(c, x, y, beta, alpha):
    """beta * x + alpha * y, where nothing of x counts if beta is 0."""
    y = y if alpha == 1 else computed("multiply", y, alpha, dtype=c.dtype)
    if beta == 0:
        return broadcast(y, c.shape)
    return computed("add", y, x if beta == 1 else computed("multiply", x, beta, dtype=c.dtype), dtype=c.dtype)


@aten("mm", "bmm", "matmul")
def mm(c, a, b):
    return product(a, b)


@aten("addmm", "baddbmm")
def addmm(c, x, a, b, beta=1, alpha=1):
    return scaled_sum(c, x, product(a, b), beta, alpha)


@aten("addbmm")
def addbmm(c, x, a, b, beta=1, alpha=1):
    return scaled_sum(c, x, cast(total(product(a, b), [0]), x.dtype), beta, alpha)


@aten("mv")
def mv(c, a, b):
    return reshape(product(a, with_axis(b, 1)), c.shape)


@aten("addmv")
def addmv(c, x, a, b, beta=1, alpha=1):
    return scaled_sum(c, x, mv(c, a, b), beta, alpha)


@aten("addr")
def addr(c, x, a, b, beta=1, alpha=1):
    if c.dtype == "bool":
        refuse("truth values; use logical ops")
    return scaled_sum(c, x, multiply(with_axis(a, 1), b), beta, alpha)


@aten("dot", "vdot")
def dot(c, a, b):
    return cast(total(multiply(a, b)), c.dtype)


@aten("_trilinear")
def trilinear(c, a, b, d, expand1, expand2, expand3, sumdim, unroll_dim=1):
    made = None
    for x, axes in ((a, expand1), (b, expand2), (d, expand3)):
        for axis in axes:
            x = with_axis(x, axis)
        made = x if made is None else multiply(made, x)
    return total(made, sumdim) if sumdim else made


# ---- softmax
def on_last_axis(name, x, dim):
    """Pando's op of the last axis along another one."""
    axis = axis_of(dim, rank(x))
    if not rank(x):
        return reshape(op(name, reshape(x, [1])), [])
    if axis == rank(x) - 1:
        return op(name, x)
    return swap_axes(op(name, swap_axes(x, axis, rank(x) - 1)), axis, rank(x) - 1)


@aten("_softmax")
def softmax(c, x, dim, half_to_float):
    return on_last_axis("softmax", cast(x, "float32"), dim)


@aten("_log_softmax")
def log_softmax(c, x, dim, half_to_float):
    return on_last_axis("log_softmax", cast(x, "float32"), dim)


@aten("_softmax_backward_data")
def softmax_backward(c, g, y, dim, input_dtype):
    return multiply(y, subtract(g, total(multiply(g, y), [dim], True)))
