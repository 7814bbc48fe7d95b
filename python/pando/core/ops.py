# SPDX-License-Identifier: Apache-2.0
"""Functions on tensors of any kind, on which tf.*, tf.math.* and keras.ops.* are built. Axes are NumPy's; results
have the class of the first tensor. core/dispatch.py decides how each is computed."""
import builtins
import math

import numpy as np

from pando.core import eager
from pando.core.dispatch import call, result_class, value_of
from pando.core.integers import (bitwise_and, bitwise_or, ceil, clip, floor, in_reverse_order, invert,  # noqa: F401
                                 kind_of, round)  # noqa: A004, NumPy's names
from pando.core.promotion import dtype_name, is_number
from pando.core.errors import TraceError, no_value
from pando.core.tensor import FUNCTIONS, Tensor


def _elementwise(name, inputs):
    if inputs == 1:
        def function(x, **attributes):
            return call(name, x, **attributes)
    else:
        def function(a, b, **attributes):
            return call(name, a, b, **attributes)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The op {name} of docs/ops.md, for each element."
    return function


for _name in (*eager.FLOAT_UNARY, *eager.UNARY, "logical_not"):
    globals().setdefault(_name, _elementwise(_name, 1))
for _name in (*eager.FLOAT_BINARY, *eager.BINARY, *eager.BITWISE, *eager.COMPARISONS, "logical_and", "logical_or"):
    globals().setdefault(_name, _elementwise(_name, 2))


def rank(x):
    return len(x.shape)


def axis_of(axis, count):
    """The axis counted from the front. Raises IndexError."""
    if not -count <= axis < builtins.max(count, 1):
        raise IndexError(f"a tensor of {count} axes has not got axis {axis}; "
                         f"use {-count} to {count - 1}" if count else f"a scalar has no axis {axis}")
    return axis % count if count else 0


def as_tensor(x, cls=Tensor):
    return x if isinstance(x, Tensor) else cls(x if hasattr(x, "is_same") else np.asarray(x))


def cast(x, dtype):
    """The tensor with elements of another type."""
    name = getattr(dtype, "name", dtype)
    name = name if isinstance(name, str) else np.dtype(dtype).name
    value = value_of(x)
    if not is_number(value) and dtype_name(value) == name and isinstance(x, Tensor):
        return x
    return call("cast", x, dtype=name)


def _axes(axis, x):
    if axis is None:
        return list(builtins.range(rank(x)))
    return [axis_of(one, rank(x)) for one in (axis if isinstance(axis, (tuple, list)) else [axis])]


def reduce(name, x, axis=None, keepdims=False):
    x = as_tensor(x)
    axes = _axes(axis, x)
    if not axes:
        return x
    return call(name, x, axes=axes, keep_dims=keepdims)


def sum(x, axis=None, keepdims=False):  # noqa: A001, NumPy's name
    """The sum over the axes; booleans are counted."""
    x = as_tensor(x)
    if x.dtype == "bool":
        x = cast(x, "int64" if isinstance(x._value, np.ndarray) else "int32")
    return reduce("reduce_sum", x, axis, keepdims)


def mean(x, axis=None, keepdims=False):
    x = as_tensor(x)
    return reduce("reduce_mean", x if x.dtype.is_floating_point else cast(x, "float32"), axis, keepdims)


def integer_mean(x, axis=None, keepdims=False):
    """The mean of integers in their type, rounded towards 0, as TensorFlow has it."""
    x = as_tensor(x)
    axes = _axes(axis, x)
    if None in [x.shape[a] for a in axes]:
        raise TraceError("the mean over a batch of unknown size is a float; cast the integers to float32")
    count = math.prod(x.shape[a] for a in axes)
    total = sum(cast(x, "int64"), axes, keepdims)
    return cast(sign(total) * floor_divide(abs(total), builtins.max(count, 1)), x.dtype.name)


def max(x, axis=None, keepdims=False):  # noqa: A001
    return reduce("reduce_max", x, axis, keepdims)


def min(x, axis=None, keepdims=False):  # noqa: A001
    return in_reverse_order(reduce("reduce_max", in_reverse_order(x), axis, keepdims))


def var(x, axis=None, keepdims=False, correction=0):
    x = as_tensor(x)
    axes = _axes(axis, x)
    count = math.prod(x.shape[a] for a in axes)
    squares = call("square", x - mean(x, axes, True))
    return sum(squares, axes, keepdims) / builtins.max(count - correction, 0)


def std(x, axis=None, keepdims=False, correction=0):
    return call("sqrt", var(x, axis, keepdims, correction))


def argmax(x, axis=-1):
    return call("argmax", x, axis=axis_of(axis, rank(x)))


def argmin(x, axis=-1):
    return argmax(in_reverse_order(x), axis)


def all(x, axis=None, keepdims=False):  # noqa: A001
    return call("logical_not", any(call("logical_not", x), axis, keepdims))


def any(x, axis=None, keepdims=False):  # noqa: A001
    x = as_tensor(x)
    return max(x if kind_of(x) == "b" else call("not_equal", x, 0), axis, keepdims)


def reshape(x, shape):
    return call("reshape", x, shape=[-1 if size is None else int(size) for size in shape])


def transpose(x, permutation=None):
    count = rank(x)
    permutation = list(reversed(builtins.range(count))) if permutation is None else permutation
    return call("transpose", x, permutation=[axis_of(int(axis), count) for axis in permutation])


def swap_axes(x, a, b):
    order = list(builtins.range(rank(x)))
    a, b = axis_of(a, len(order)), axis_of(b, len(order))
    order[a], order[b] = order[b], order[a]
    return transpose(x, order)


def expand_dims(x, axis):
    sizes = list(x.shape)
    sizes.insert(axis_of(axis, len(sizes) + 1), 1)
    return reshape(x, _with_one_unknown(sizes))


def squeeze(x, axis=None):
    sizes = list(x.shape)
    axes = {axis_of(one, len(sizes)) for one in (axis if isinstance(axis, (tuple, list)) else [axis])} \
        if axis is not None else set(builtins.range(len(sizes)))
    return reshape(x, _with_one_unknown([n for i, n in enumerate(sizes) if not (i in axes and n == 1)]))


def _with_one_unknown(sizes):
    return [-1 if size is None else size for size in sizes]


def flatten(x, first=0, last=-1):
    sizes = list(x.shape)
    if not sizes:
        return reshape(x, [1])
    first, last = axis_of(first, len(sizes)), axis_of(last, len(sizes))
    joined = sizes[first:last + 1]
    product = -1 if None in joined else math.prod(joined)
    return reshape(x, _with_one_unknown([*sizes[:first], product, *sizes[last + 1:]]))


def broadcast_to(x, shape):
    return call("broadcast", x, shape=[-1 if size is None else int(size) for size in shape])


def concat(tensors, axis=0):
    tensors = list(tensors)
    if not tensors:
        raise ValueError("concat: needs at least one tensor")
    return call("concat", *tensors, axis=axis_of(axis, rank(tensors[0])))


def stack(tensors, axis=0):
    cls = result_class(tensors)
    tensors = [as_tensor(tensor, cls) for tensor in tensors]
    return concat([expand_dims(tensor, axis if axis >= 0 else axis + rank(tensor) + 1) for tensor in tensors],
                  axis if axis >= 0 else axis + rank(tensors[0]) + 1)


def part(x, axis, start, size):
    """`size` elements along the axis from `start` on; -1 reaches to its end."""
    count = rank(x)
    starts, sizes = [0] * count, [-1] * count
    starts[axis_of(axis, count)], sizes[axis_of(axis, count)] = start, size
    return call("slice", x, starts=starts, sizes=sizes)


def split(x, sizes, axis=0):
    """Parts of these sizes along the axis."""
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    return [part(x, axis, int(start), int(size)) for start, size in zip(starts, sizes)]


def pad(x, widths, value=0.0):
    """A pair (before, after) for each axis."""
    return call("pad", x, before=[int(pair[0]) for pair in widths], after=[int(pair[1]) for pair in widths],
                value=float(value))


def where(condition, a, b):
    return call("select", as_tensor(condition, result_class([a, b])), a, b)


def gather(table, indices):
    """Rows of the table chosen by integers."""
    return call("gather", table, indices)


def one_hot(indices, depth, dtype="float32"):
    return call("one_hot", indices, depth=depth, dtype=getattr(dtype, "name", dtype))


def stop_gradient(x):
    """The same values, through which no gradient goes."""
    return call("stop_gradient", x)


def matmul(a, b, transpose_a=False, transpose_b=False):
    """The product of matrices; vectors are taken as NumPy takes them."""
    a, b = as_tensor(a), as_tensor(b)
    first, second = rank(a) == 1, rank(b) == 1
    product = call("matmul", expand_dims(a, 0) if first else a, expand_dims(b, 1) if second else b,
                   transpose_a=transpose_a, transpose_b=transpose_b)
    if second:
        product = squeeze(product, -1)
    return squeeze(product, -1 if second else -2) if first else product


def along(x, axis, name):
    """An op that works on the last axis, such as softmax, along another one."""
    last = rank(x) - 1
    axis = axis_of(axis, last + 1)
    return call(name, x) if axis == last else swap_axes(call(name, swap_axes(x, axis, last)), axis, last)


def softmax(x, axis=-1):  # noqa: F811
    return along(as_tensor(x), axis, "softmax")


def log_softmax(x, axis=-1):  # noqa: F811
    return along(as_tensor(x), axis, "log_softmax")


def logsumexp(x, axis=-1, keepdims=False):
    largest = stop_gradient(max(x, axis, True))
    total = call("log", sum(call("exp", x - largest), axis, True)) + largest
    return total if keepdims else squeeze(total, _axes(axis, x))


def power(a, b):  # noqa: F811
    """a to the b; small whole powers are products, so that integers and negative numbers have them."""
    if isinstance(b, (int, float)) and b == 2:
        return call("square", a)
    if isinstance(b, int) and not isinstance(b, bool) and b == 3:
        return call("multiply", call("square", a), a)
    return call("power", a, b)


def log1p(x):
    return call("log", call("add", x, 1.0))


def expm1(x):
    return call("subtract", call("exp", x), 1.0)


def item_of(x):
    """The value of a tensor of one element. Raises TraceError for a symbol."""
    value = value_of(x)
    if hasattr(value, "is_same"):
        raise no_value("item")
    return np.asarray(value).item()


# What operators and NumPy's functions call.
FUNCTIONS.update({name: function for name, function in globals().items() if callable(function) and not name.startswith("_")})
