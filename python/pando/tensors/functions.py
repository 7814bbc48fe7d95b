# SPDX-License-Identifier: Apache-2.0
"""Functions on tensors by TensorFlow's names, for arrays and for tensors of models alike."""
from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from pando.core import dtypes, ops
from pando.core.errors import no_value
from pando.core.hints import ArrayLike, DTypeLike
from pando.core.keywords import accepts
from pando.tensors.tensor import Tensor, TensorShape, convert, is_symbolic


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


_REDUCTIONS = {
    "reduce_sum": "The sum over the axes, or of all elements.", "reduce_mean": "The mean over the axes, or of all elements.",
    "reduce_max": "The largest over the axes, or of all elements.",
    "reduce_min": "The smallest over the axes, or of all elements.",
    "reduce_any": "Whether any element is true, over the axes or of all.",
    "reduce_all": "Whether all elements are true, over the axes or of all."}


def _reduction(function, name):
    def call(input_tensor, axis=None, keepdims=False, name=None, reduction_indices=None, keep_dims=None):
        axis = reduction_indices if axis is None else axis
        axis = list(axis) if isinstance(axis, (tuple, list, np.ndarray)) else axis
        return function(convert(input_tensor), axis, bool(keep_dims if keep_dims is not None else keepdims))

    call.__name__, call.__doc__ = name, _REDUCTIONS[name]
    return call


def _mean(x, axis, keepdims):
    return (ops.integer_mean if x.dtype.is_integer else ops.mean)(x, axis, keepdims)


abs, exp, log, sqrt, square = (_wrapped(getattr(ops, n), n) for n in ("abs", "exp", "log", "sqrt", "square"))
sin, cos, tanh, sigmoid, sign = (_wrapped(getattr(ops, n), n) for n in ("sin", "cos", "tanh", "sigmoid", "sign"))
floor, ceil, round, negative = (_wrapped(getattr(ops, n), t) for n, t in (
    ("floor", "floor"), ("ceil", "ceil"), ("round", "round"), ("negate", "negative")))
logical_not, stop_gradient = (_wrapped(getattr(ops, n), n) for n in ("logical_not", "stop_gradient"))
add, subtract, multiply, divide, maximum, minimum = (_binary(getattr(ops, n), n) for n in (
    "add", "subtract", "multiply", "divide", "maximum", "minimum"))
equal, not_equal, less, less_equal, greater, greater_equal = (_binary(getattr(ops, n), n) for n in (
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))
pow, logical_and, logical_or, floordiv = (_binary(getattr(ops, n), t) for n, t in (
    ("power", "pow"), ("logical_and", "logical_and"), ("logical_or", "logical_or"), ("floor_divide", "floordiv")))
reduce_sum, reduce_mean, reduce_max, reduce_min, reduce_any, reduce_all = (
    _reduction(function, f"reduce_{n}") for n, function in (
        ("sum", ops.sum), ("mean", _mean), ("max", ops.max), ("min", ops.min), ("any", ops.any), ("all", ops.all)))
truediv = divide


def cast(x: Any, dtype: DTypeLike, name: str | None = None) -> Any:
    """The tensor with elements of another type."""
    return ops.cast(convert(x), dtypes.of(dtype).name)


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Any:
    """The same elements in another shape; one size may be -1."""
    return ops.reshape(convert(tensor), [-1 if size is None else int(size) for size in shape])


def transpose(a: Any, perm: Sequence[int] | None = None, conjugate: bool = False, name: str | None = None) -> Any:
    """The axes in another order."""
    return ops.transpose(convert(a), None if perm is None else [int(axis) for axis in perm])


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """A new axis of size 1."""
    return ops.expand_dims(convert(input), axis)


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """Without axes of size 1."""
    axis = axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis
    return ops.squeeze(convert(input), axis)


def concat(values: Any, axis: Any, name: str | None = None) -> Any:
    """Joins tensors along an axis."""
    values = [convert(value) for value in values]
    return ops.concat(values, axis if axis >= 0 else axis + len(values[0].shape))


def stack(values: Any, axis: Any = 0, name: str | None = None) -> Any:
    """Joins tensors along a new axis."""
    return ops.stack([convert(value) for value in values], axis)


def split(value: Any, num_or_size_splits: Any, axis: Any = 0, name: str | None = None) -> Any:
    """Parts of a tensor along an axis."""
    value = convert(value)
    sizes = num_or_size_splits
    if isinstance(sizes, int):
        sizes = [value.shape[axis] // sizes] * sizes
    return list(ops.split(value, list(sizes), axis))


def pad(tensor: Any, paddings: Any, mode: Any = "CONSTANT", constant_values: float = 0, name: str | None = None) -> Any:
    """The tensor with a border."""
    if mode.upper() != "CONSTANT":
        raise NotImplementedError(f"pad: mode={mode!r} is not in Pando, only 'CONSTANT'")
    return ops.pad(convert(tensor), [tuple(map(int, pair)) for pair in np.asarray(paddings)], float(constant_values))


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """x where the condition is true, y elsewhere."""
    if x is None or y is None:
        return Tensor(np.argwhere(convert(condition).numpy()))
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        x, y = convert(x), convert(y)
    return ops.where(convert(condition), x, y)


@accepts("a_is_sparse", "b_is_sparse", "grad_a", "grad_b", output_type=None)
def matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False,
           adjoint_b: bool = False, *, name: str | None = None) -> Any:
    """The product of matrices; axes before the last two are the batch."""
    # Of real numbers, the adjoint is the transpose.
    return ops.matmul(convert(a), b if is_symbolic(b) else convert(b), transpose_a or adjoint_a,
                      transpose_b or adjoint_b)


@accepts("validate_indices", batch_dims=0)
def gather(params: Any, indices: ArrayLike, *, axis: Any = 0, name: str | None = None) -> Any:
    """Rows of a table by their numbers."""
    if axis not in (0, None):
        raise NotImplementedError(f"gather: axis={axis} is not in Pando; transpose the table")
    return ops.gather(convert(params), convert(indices))


def one_hot(indices: ArrayLike, depth: int, on_value: float = 1, off_value: float = 0, axis: Any = -1,
            dtype: DTypeLike = "float32", name: str | None = None) -> Any:
    """1 at the place of each index, 0 elsewhere."""
    if axis not in (-1, None) or on_value not in (1, None) or off_value not in (0, None):
        raise NotImplementedError(f"one_hot: axis={axis!r}, on_value={on_value!r}, off_value={off_value!r} is not in Pando, "
                                  "which has axis=-1, on_value=1 and off_value=0 only")
    return ops.one_hot(convert(indices), int(depth), dtypes.of(dtype or "float32").name)


def argmax(input: Any, axis: Any = None, output_type: str = "int64", name: str | None = None,
           dimension: Any = None) -> Any:
    """The index of the largest element along an axis."""
    axis = 0 if axis is None and dimension is None else (dimension if axis is None else axis)
    return ops.cast(ops.argmax(convert(input), axis), dtypes.of(output_type).name)


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Elements between two limits."""
    return ops.clip(convert(t), min=float(clip_value_min), max=float(clip_value_max))


def add_n(inputs: Any, name: str | None = None) -> Any:
    """The sum of tensors."""
    total = convert(inputs[0])
    for value in inputs[1:]:
        total = total + value
    return total


def identity(input: Any, name: str | None = None) -> Any:
    """The tensor itself."""
    return convert(input)


def shape(input: Any, out_type: str = "int32", name: str | None = None) -> Any:
    """The sizes; of a symbol as Python numbers, None for the batch."""
    value = convert(input)
    return TensorShape(value.shape) if is_symbolic(value) else Tensor(np.asarray(value.shape, dtypes.of(out_type).numpy))


def size(input: Any, name: str | None = None) -> Any:
    """The number of elements."""
    return Tensor(np.asarray(np.prod(convert(input).shape), np.int32))


def rank(input: Any, name: str | None = None) -> Any:
    """The number of axes."""
    return Tensor(np.asarray(len(convert(input).shape), np.int32))


def zeros(shape: Any, dtype: DTypeLike = "float32", name: str | None = None) -> Any:
    """A tensor of zeros."""
    return Tensor(np.zeros(tuple(map(int, np.atleast_1d(shape))) if np.ndim(shape) or shape else (),
                           dtypes.of(dtype).numpy))


def ones(shape: Any, dtype: DTypeLike = "float32", name: str | None = None) -> Any:
    """A tensor of ones."""
    return Tensor(np.ones(tuple(map(int, np.atleast_1d(shape))) if np.ndim(shape) or shape else (),
                          dtypes.of(dtype).numpy))


def zeros_like(input: Any, dtype: DTypeLike = None, name: str | None = None) -> Any:
    """Zeros in the shape of a tensor."""
    value = convert(input) if dtype is None else ops.cast(convert(input), dtypes.of(dtype).name)
    return value * 0 if is_symbolic(value) else Tensor(np.zeros_like(value._value))


def ones_like(input: Any, dtype: DTypeLike = None, name: str | None = None) -> Any:
    """Ones in the shape of a tensor."""
    value = convert(input) if dtype is None else ops.cast(convert(input), dtypes.of(dtype).name)
    return value * 0 + 1 if is_symbolic(value) else Tensor(np.ones_like(value._value))


def fill(dims: Any, value: Any, name: str | None = None) -> Any:
    """A tensor of one value."""
    return Tensor(np.full(tuple(dims), convert(value)._value))


def range(start: Any, limit: Any = None, delta: Any = 1, dtype: DTypeLike = None, name: str | None = None) -> Any:
    """Numbers in equal steps: from 0 to the first, or from the first to the second, which is not one of them."""
    array = np.arange(start, step=delta) if limit is None else np.arange(start, limit, delta)
    return convert(array.tolist(), dtype) if array.ndim else convert(array, dtype)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Any:
    """The tensor repeated to this shape."""
    return ops.broadcast_to(convert(input), tuple(shape))


def tile(input: Any, multiples: Sequence[int], name: str | None = None) -> Any:
    """The tensor repeated along its axes."""
    value = convert(input)
    for axis, count in enumerate(multiples):
        if count != 1:
            value = ops.concat([value] * int(count), axis)
    return value


def norm(tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool | None = None,
         name: str | None = None) -> Any:
    """The root of the sum of squares."""
    if ord not in ("euclidean", 2):
        raise NotImplementedError(f"norm: ord={ord!r} is not in Pando, which has 'euclidean' only")
    value = convert(tensor)
    return ops.sqrt(ops.sum(value * value, axis, bool(keepdims)))


def values_of(who: Any, tensors: Any) -> Any:
    """The arrays of tensors whose values are known. Raises TraceError for others."""
    values = []
    for tensor in tensors:
        if is_symbolic(tensor):
            raise no_value(who)
        values.append(np.asarray(convert(tensor)._value))
    return values


__all__ = ["abs", "add", "add_n", "argmax", "broadcast_to", "cast", "ceil", "clip_by_value", "concat", "cos", "divide",
           "equal", "exp", "expand_dims", "fill", "floor", "floordiv", "gather", "greater", "greater_equal", "identity",
           "less", "less_equal", "log", "logical_and", "logical_not", "logical_or", "matmul", "maximum", "minimum",
           "multiply", "negative", "norm", "not_equal", "one_hot", "ones", "ones_like", "pad", "pow", "range", "rank",
           "reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min", "reduce_sum", "reshape", "round",
           "shape", "sigmoid", "sign", "sin", "size", "split", "sqrt", "square", "squeeze", "stack", "stop_gradient",
           "subtract", "tanh", "tile", "transpose", "truediv", "where", "zeros", "zeros_like"]
