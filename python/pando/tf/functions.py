# SPDX-License-Identifier: Apache-2.0
"""Functions on tensors by TensorFlow's names, for arrays and for tensors of models alike."""
import numpy as np

from pando.core import dtypes, ops
from pando.core.errors import no_value
from pando.tf.tensor import Tensor, TensorShape, convert, is_symbolic


def _wrapped(function, name=None):
    """The op on tensors, lists or numbers, with the argument `name` that all functions of TensorFlow have."""
    def call(x, *args, name=None, **kwargs):
        return function(convert(x), *args, **kwargs)
    call.__name__ = name or function.__name__
    call.__doc__ = function.__doc__
    return call


def _binary(function, name):
    def call(x, y, name=None):
        if not is_symbolic(x) and not is_symbolic(y):
            x, y = convert(x), y
        return function(x, y)
    call.__name__, call.__doc__ = name, function.__doc__
    return call


def _reduction(function, name):
    def call(input_tensor, axis=None, keepdims=False, name=None, reduction_indices=None, keep_dims=None):
        axis = reduction_indices if axis is None else axis
        axis = list(axis) if isinstance(axis, (tuple, list, np.ndarray)) else axis
        return function(convert(input_tensor), axis, bool(keep_dims if keep_dims is not None else keepdims))
    call.__name__, call.__doc__ = name, f"{name} over the axes, or over all of them."
    return call


abs, exp, log, sqrt, square = (_wrapped(getattr(ops, n), n) for n in ("abs", "exp", "log", "sqrt", "square"))
sin, cos, tanh, sigmoid, sign = (_wrapped(getattr(ops, n), n) for n in ("sin", "cos", "tanh", "sigmoid", "sign"))
floor, ceil, round, negative = (_wrapped(getattr(ops, n), t) for n, t in (
    ("floor", "floor"), ("ceil", "ceil"), ("round", "round"), ("negate", "negative")))
logical_not, stop_gradient, zeros_like_ = (_wrapped(getattr(ops, n), n) for n in (
    "logical_not", "stop_gradient", "stop_gradient"))
add, subtract, multiply, divide, maximum, minimum = (_binary(getattr(ops, n), n) for n in (
    "add", "subtract", "multiply", "divide", "maximum", "minimum"))
equal, not_equal, less, less_equal, greater, greater_equal = (_binary(getattr(ops, n), n) for n in (
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))
pow, logical_and, logical_or, floordiv = (_binary(getattr(ops, n), t) for n, t in (
    ("power", "pow"), ("logical_and", "logical_and"), ("logical_or", "logical_or"), ("floor_divide", "floordiv")))
reduce_sum, reduce_mean, reduce_max, reduce_min, reduce_any, reduce_all = (
    _reduction(getattr(ops, n), f"reduce_{n}") for n in ("sum", "mean", "max", "min", "any", "all"))
truediv = divide
del zeros_like_


def cast(x, dtype, name=None):
    """The tensor with elements of another type."""
    return ops.cast(convert(x), dtypes.of(dtype).name)


def reshape(tensor, shape, name=None):
    """The same elements in another shape; one size may be -1."""
    return ops.reshape(convert(tensor), [-1 if size is None else int(size) for size in shape])


def transpose(a, perm=None, conjugate=False, name=None):
    """The axes in another order."""
    return ops.transpose(convert(a), None if perm is None else [int(axis) for axis in perm])


def expand_dims(input, axis, name=None):
    """A new axis of size 1."""
    return ops.expand_dims(convert(input), axis)


def squeeze(input, axis=None, name=None):
    """Without axes of size 1."""
    axis = axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis
    return ops.squeeze(convert(input), axis)


def concat(values, axis, name=None):
    """Joins tensors along an axis."""
    values = [convert(value) for value in values]
    return ops.concat(values, axis if axis >= 0 else axis + len(values[0].shape))


def stack(values, axis=0, name=None):
    """Joins tensors along a new axis."""
    return ops.stack([convert(value) for value in values], axis)


def split(value, num_or_size_splits, axis=0, name=None):
    """Parts of a tensor along an axis."""
    value = convert(value)
    sizes = num_or_size_splits
    if isinstance(sizes, int):
        sizes = [value.shape[axis] // sizes] * sizes
    return list(ops.split(value, list(sizes), axis))


def pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None):
    """The tensor with a border."""
    if mode.upper() != "CONSTANT":
        raise NotImplementedError(f"pad: mode={mode!r} is not in Pando, only 'CONSTANT'")
    return ops.pad(convert(tensor), [tuple(map(int, pair)) for pair in np.asarray(paddings)], float(constant_values))


def where(condition, x=None, y=None, name=None):
    """x where the condition is true, y elsewhere."""
    if x is None or y is None:
        return Tensor(np.argwhere(convert(condition).numpy()))
    return ops.where(convert(condition), x, y)


def matmul(a, b, transpose_a=False, transpose_b=False, name=None, **kwargs):
    """The product of matrices; axes before the last two are the batch."""
    return ops.matmul(convert(a), b if is_symbolic(b) else convert(b), transpose_a, transpose_b)


def gather(params, indices, axis=0, name=None, **kwargs):
    """Rows of a table by their numbers."""
    if axis not in (0, None):
        raise NotImplementedError(f"gather: axis={axis} is not in Pando; transpose the table")
    return ops.gather(convert(params), convert(indices))


def one_hot(indices, depth, on_value=1, off_value=0, axis=-1, dtype="float32", name=None):
    """1 at the place of each index, 0 elsewhere."""
    if axis != -1 or on_value not in (1, None) or off_value not in (0, None):
        raise NotImplementedError("one_hot: Pando has axis=-1, on_value=1 and off_value=0 only")
    return ops.one_hot(convert(indices), int(depth), dtypes.of(dtype or "float32").name)


def argmax(input, axis=None, output_type="int64", name=None, dimension=None):
    """The index of the largest element along an axis."""
    axis = 0 if axis is None and dimension is None else (dimension if axis is None else axis)
    return ops.argmax(convert(input), axis)


def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    """Elements between two limits."""
    return ops.clip(convert(t), min=float(clip_value_min), max=float(clip_value_max))


def add_n(inputs, name=None):
    """The sum of tensors."""
    total = convert(inputs[0])
    for value in inputs[1:]:
        total = total + value
    return total


def identity(input, name=None):
    """The tensor itself."""
    return convert(input)


def shape(input, out_type="int32", name=None):
    """The sizes; of a symbol as Python numbers, None for the batch."""
    value = convert(input)
    return TensorShape(value.shape) if is_symbolic(value) else Tensor(np.asarray(value.shape, dtype=np.int32))


def size(input, name=None):
    """The number of elements."""
    return Tensor(np.int32(np.prod(convert(input).shape)).reshape(()))


def rank(input, name=None):
    """The number of axes."""
    return Tensor(np.int32(len(convert(input).shape)).reshape(()))


def zeros(shape, dtype="float32", name=None):
    """A tensor of zeros."""
    return Tensor(np.zeros(tuple(map(int, np.atleast_1d(shape))) if np.ndim(shape) or shape else (),
                           dtypes.of(dtype).numpy))


def ones(shape, dtype="float32", name=None):
    """A tensor of ones."""
    return Tensor(np.ones(tuple(map(int, np.atleast_1d(shape))) if np.ndim(shape) or shape else (),
                          dtypes.of(dtype).numpy))


def zeros_like(input, dtype=None, name=None):
    """Zeros in the shape of a tensor."""
    value = convert(input)
    return value * 0 if is_symbolic(value) else Tensor(np.zeros_like(value._value))


def ones_like(input, dtype=None, name=None):
    """Ones in the shape of a tensor."""
    value = convert(input)
    return value * 0 + 1 if is_symbolic(value) else Tensor(np.ones_like(value._value))


def fill(dims, value, name=None):
    """A tensor of one value."""
    return convert(np.full(tuple(dims), value, dtype=np.float32 if isinstance(value, float) else None))


def range(*args, dtype=None, name=None, **kwargs):
    """Numbers in equal steps."""
    array = np.arange(*args, **kwargs)
    return convert(array.tolist(), dtype) if array.ndim else convert(array, dtype)


def broadcast_to(input, shape, name=None):
    """The tensor repeated to this shape."""
    return ops.broadcast_to(convert(input), tuple(shape))


def tile(input, multiples, name=None):
    """The tensor repeated along its axes."""
    value = convert(input)
    for axis, count in enumerate(multiples):
        if count != 1:
            value = ops.concat([value] * int(count), axis)
    return value


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None):
    """The root of the sum of squares."""
    value = convert(tensor)
    return ops.sqrt(ops.sum(value * value, axis, bool(keepdims)))


def values_of(who, tensors):
    """The arrays of tensors whose values are known. Raises TraceError for others."""
    values = []
    for tensor in tensors:
        if is_symbolic(tensor):
            raise no_value(who)
        values.append(np.asarray(convert(tensor)._value))
    return values


__all__ = [name for name, value in list(globals().items())
           if not name.startswith("_") and callable(value) and name not in (
               "Tensor", "TensorShape", "convert", "is_symbolic", "no_value", "values_of")]
