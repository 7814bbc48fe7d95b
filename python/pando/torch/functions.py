# SPDX-License-Identifier: Apache-2.0
"""torch.*: functions on tensors, with PyTorch's names and arguments. Those of METHODS are methods of tensors, too."""
from __future__ import annotations

import collections
from typing import Any

import numpy as np

from pando.core import dtypes, ops
from pando.core.hints import ArrayLike, DTypeLike
from pando.core.tensor import Tensor as CoreTensor
from pando.torch import elementwise as _elementwise
from pando.torch.elementwise import ELEMENTWISE
from pando.torch.shapes import *  # noqa: F403
from pando.torch.shapes import cat, transpose
from pando.torch.tensor import Tensor

_Reduced = {name: collections.namedtuple(name, ("values", "indices")) for name in ("max", "min", "sort", "topk", "median")}


def _known(x, what):
    return x._array(what) if isinstance(x, CoreTensor) else np.asarray(x)


def _tensor(x):
    return x if isinstance(x, CoreTensor) else Tensor(np.asarray(x))


def sum(input: ArrayLike, dim: Any = None, keepdim: bool = False, dtype: DTypeLike = None) -> Tensor:  # noqa: A001, A002
    """The sum of all elements, or along one or several dimensions."""
    x = _tensor(input)
    made = ops.sum(x, dim, keepdim)
    if dtype is not None:
        return ops.cast(made, dtypes.of(dtype))
    known_integer = isinstance(made._value, np.ndarray) and made.dtype.is_integer
    return ops.cast(made, "int64") if known_integer else made


def mean(input: ArrayLike, dim: Any = None, keepdim: bool = False, dtype: DTypeLike = None) -> Tensor:  # noqa: A002
    """The mean of all elements, or along one or several dimensions."""
    if dtype is None and not input.dtype.is_floating_point:
        raise RuntimeError("mean(): could not infer output dtype. Input dtype must be either a floating point or "
                           "complex dtype. Got: " + str(input.dtype).split(".")[-1])
    return ops.mean(input if dtype is None else ops.cast(input, dtypes.of(dtype)), dim, keepdim)


def var(input: ArrayLike, dim: Any = None, unbiased: bool = True, keepdim: bool = False,
        correction: int | None = None) -> Tensor:  # noqa: A002
    """The variance; ``unbiased`` divides by n - 1."""
    return ops.var(input, dim, keepdim, correction if correction is not None else int(unbiased))


def std(input: ArrayLike, dim: Any = None, unbiased: bool = True, keepdim: bool = False,
        correction: int | None = None) -> Tensor:  # noqa: A002
    """The standard deviation; ``unbiased`` divides by n - 1."""
    return ops.std(input, dim, keepdim, correction if correction is not None else int(unbiased))


def _extreme(name, sign):
    def function(input: ArrayLike, dim: Any = None, keepdim: bool = False) -> Any:  # noqa: A002
        if dim is None:
            return getattr(ops, name)(input)
        if isinstance(dim, CoreTensor):
            return getattr(ops, "maximum" if name == "max" else "minimum")(input, dim)
        return _Reduced[name](getattr(ops, name)(input, dim, keepdim), _arg(input, dim, keepdim, sign))
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {name} of all elements; along a dimension, with its index; of two tensors, elementwise."
    return function


def amax(input: ArrayLike, dim: Any = (), keepdim: bool = False) -> Tensor:  # noqa: A002
    """The largest along one or several dimensions, or of all elements."""
    return ops.max(input, None if dim == () else dim, keepdim)


def amin(input: ArrayLike, dim: Any = (), keepdim: bool = False) -> Tensor:  # noqa: A002
    """The smallest along one or several dimensions, or of all elements."""
    return ops.min(input, None if dim == () else dim, keepdim)


def _arg(input, dim, keepdim, sign):  # noqa: A002
    if dim is None:
        return _arg(ops.reshape(input, [-1]), 0, False, sign)
    found = (ops.argmax if sign > 0 else ops.argmin)(input, dim)
    if isinstance(found._value, np.ndarray):
        found = ops.cast(found, "int64")
    return ops.expand_dims(found, dim % input.dim()) if keepdim else found


def argmax(input: ArrayLike, dim: Any = None, keepdim: bool = False) -> Tensor:  # noqa: A002
    """The index of the largest element, along a dimension or of all elements in order."""
    return _arg(input, dim, keepdim, 1)


def argmin(input: ArrayLike, dim: Any = None, keepdim: bool = False) -> Tensor:  # noqa: A002
    """The index of the smallest element, along a dimension or of all elements in order."""
    return _arg(input, dim, keepdim, -1)


def norm(input: ArrayLike, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:  # noqa: A002
    """The p-norm: the root of the sum of squares for p=2, the sum of absolute values for 1, the largest for inf."""
    if p in (float("inf"), "inf"):
        return ops.max(ops.abs(input), dim, keepdim)
    if p == 1:
        return ops.sum(ops.abs(input), dim, keepdim)
    if p not in (2, "fro"):
        return ops.power(ops.sum(ops.power(ops.abs(input), p), dim, keepdim), 1 / p)
    return ops.sqrt(ops.sum(ops.square(input), dim, keepdim))


def all(input: ArrayLike, dim: Any = None, keepdim: bool = False) -> Tensor:  # noqa: A001, A002
    """Whether all elements are true, or along a dimension."""
    return ops.all(input, dim, keepdim)


def any(input: ArrayLike, dim: Any = None, keepdim: bool = False) -> Tensor:  # noqa: A001, A002
    """Whether any element is true, or along a dimension."""
    return ops.any(input, dim, keepdim)


def where(condition: ArrayLike, input: ArrayLike = None, other: ArrayLike = None) -> Any:  # noqa: A002
    """Elements of ``input`` where the condition is true, else of ``other``; with the condition alone, its indices."""
    if input is None:
        return tuple(Tensor(found) for found in np.nonzero(_known(condition, "where")))
    return ops.where(condition, input, other)


def masked_fill(input: ArrayLike, mask: ArrayLike, value: ArrayLike) -> Tensor:  # noqa: A002
    """The input with ``value`` where the mask is true."""
    return ops.where(mask, value, input)


def clamp(input: ArrayLike, min: Any = None, max: Any = None) -> Tensor:  # noqa: A002
    """The input with its elements moved into the range from ``min`` to ``max``."""
    x = input if min is None else ops.maximum(input, min)
    return x if max is None else ops.minimum(x, max)


def softmax(input: ArrayLike, dim: Any = None, dtype: DTypeLike = None) -> Tensor:  # noqa: A002, ARG001
    """Probabilities along a dimension: exp(x) divided by its sum."""
    return ops.softmax(input, -1 if dim is None else dim)


def log_softmax(input: ArrayLike, dim: Any = None, dtype: DTypeLike = None) -> Tensor:  # noqa: A002, ARG001
    """The logarithm of the softmax along a dimension."""
    return ops.log_softmax(input, -1 if dim is None else dim)


def logsumexp(input: ArrayLike, dim: Any, keepdim: bool = False) -> Tensor:  # noqa: A002
    """The logarithm of the sum of exp(x) along a dimension."""
    return ops.logsumexp(input, dim, keepdim)


def matmul(input: ArrayLike, other: ArrayLike, *, out: Any = None) -> Tensor:  # noqa: A002, ARG001
    """The product of matrices; leading dimensions are a batch of them."""
    return ops.matmul(input, other)


def addmm(input: ArrayLike, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:  # noqa: A002
    """beta * input + alpha * (mat1 @ mat2)."""
    return input * beta + ops.matmul(mat1, mat2) * alpha


def dot(input: ArrayLike, other: ArrayLike) -> Tensor:  # noqa: A002
    """The sum of the products of two vectors."""
    return ops.sum(input * other)


def outer(input: ArrayLike, other: ArrayLike) -> Tensor:  # noqa: A002
    """The products of all pairs of elements of two vectors, as a matrix."""
    return ops.expand_dims(input, 1) * ops.expand_dims(other, 0)


def tril(input: ArrayLike, diagonal: int = 0) -> Tensor:  # noqa: A002
    """The matrix with zeros above the diagonal."""
    return input * np.tril(np.ones(tuple(input.shape[-2:]), np.float32), diagonal)


def triu(input: ArrayLike, diagonal: int = 0) -> Tensor:  # noqa: A002
    """The matrix with zeros below the diagonal."""
    return input * np.triu(np.ones(tuple(input.shape[-2:]), np.float32), diagonal)


def sort(input: ArrayLike, dim: Any = -1, descending: bool = False, stable: bool = False) -> Any:  # noqa: A002
    """The sorted values along a dimension, and where they were: (values, indices)."""
    array = _known(input, "sort")
    order = np.argsort(-array if descending else array, dim, kind="stable")
    return _Reduced["sort"](Tensor(np.take_along_axis(array, order, dim)), Tensor(order))


def argsort(input: ArrayLike, dim: Any = -1, descending: bool = False) -> Tensor:  # noqa: A002
    """The indices that sort the input along a dimension."""
    return sort(input, dim, descending).indices


def topk(input: ArrayLike, k: int, dim: Any = -1, largest: bool = True, sorted: bool = True) -> Any:  # noqa: A002, ARG001
    """The ``k`` largest elements along a dimension, and where they were: (values, indices)."""
    values, indices = sort(input, dim, largest)
    return _Reduced["topk"](ops.part(values, dim, 0, k), ops.part(indices, dim, 0, k))


def cumsum(input: ArrayLike, dim: Any) -> Tensor:  # noqa: A002
    """The running sum along a dimension."""
    if isinstance(input._value, np.ndarray):
        return Tensor(np.cumsum(input._value, dim))
    last = input.dim() - 1
    ones = np.triu(np.ones((input.shape[dim],) * 2, np.float32))
    return ops.swap_axes(ops.matmul(ops.swap_axes(input, dim, last), Tensor(ones)), dim, last)


def count_nonzero(input: ArrayLike, dim: Any = None) -> Tensor:  # noqa: A002
    """The number of elements that are not zero."""
    return sum(ops.not_equal(input, 0), dim)


def nonzero(input: ArrayLike, as_tuple: bool = False) -> Any:  # noqa: A002
    """The indices of the elements that are not zero, one row for each."""
    found = np.nonzero(_known(input, "nonzero"))
    return tuple(map(Tensor, found)) if as_tuple else Tensor(np.stack(found, -1))


def unique(input: ArrayLike, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,  # noqa: A002
           dim: int | None = None) -> Any:
    """The different values, sorted; with where each element is among them, and how often each value occurs, if wanted."""
    found = np.unique(_known(input, "unique"), return_inverse=return_inverse, return_counts=return_counts, axis=dim)
    if not isinstance(found, tuple):
        return Tensor(found)
    if return_inverse and dim is None:
        found = (found[0], found[1].reshape(tuple(input.shape)), *found[2:])
    return tuple(map(Tensor, found))


def flip(input: ArrayLike, dims: Any) -> Tensor:  # noqa: A002
    """The elements in reverse order along these dimensions."""
    dims = [dims] if isinstance(dims, int) else dims
    turned = {dim % input.dim() for dim in dims}
    return input[tuple(slice(None, None, -1) if i in turned else slice(None) for i in range(input.dim()))]


def prod(input: ArrayLike, dim: Any = None, keepdim: bool = False, dtype: DTypeLike = None) -> Tensor:  # noqa: A002
    """The product of all elements, or along a dimension, of a tensor whose values are known."""
    made = np.prod(_known(input, "prod"), axis=dim, keepdims=keepdim)
    return Tensor(np.asarray(made, None if dtype is None else dtypes.of(dtype).numpy))


def median(input: ArrayLike, dim: Any = None, keepdim: bool = False) -> Any:  # noqa: A002
    """The lower of the middle elements; along a dimension, with its index. Of a tensor whose values are known."""
    array = _known(input, "median")
    if dim is None:
        return Tensor(np.asarray(np.sort(array, axis=None)[(array.size - 1) // 2]))
    order = np.take(np.argsort(array, dim, kind="stable"), [(array.shape[dim] - 1) // 2], dim)
    values = np.take_along_axis(array, order, dim)
    return _Reduced["median"](*(Tensor(a if keepdim else np.squeeze(a, dim)) for a in (values, order)))


def isnan(input: ArrayLike) -> Tensor:  # noqa: A002
    """Which elements are not a number."""
    return ops.not_equal(input, input)


def isfinite(input: ArrayLike) -> Tensor:  # noqa: A002
    """Which elements are neither infinite nor NaN."""
    return Tensor(np.isfinite(_known(input, "isfinite")))


def equal(input: ArrayLike, other: ArrayLike) -> bool:  # noqa: A002
    """Whether two tensors have the same shape and the same elements."""
    return tuple(input.shape) == tuple(other.shape) and bool(np.array_equal(_known(input, "equal"),
                                                                            _known(other, "equal")))


def allclose(input: ArrayLike, other: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08,
             equal_nan: bool = False) -> bool:  # noqa: A002
    """Whether all elements agree within ``atol + rtol * |other|``."""
    return bool(np.allclose(_known(input, "allclose"), _known(other, "allclose"), rtol, atol, equal_nan))


def numel(input: ArrayLike) -> int:  # noqa: A002
    """The number of elements."""
    return input.numel()


def is_tensor(obj: Any) -> bool:
    """Whether it is a tensor."""
    return isinstance(obj, Tensor)


max, min = _extreme("max", 1), _extreme("min", -1)  # noqa: A001
for _name in ELEMENTWISE:
    globals()[_name] = getattr(_elementwise, _name)
concat = concatenate = cat
mm = bmm = mv = matmul
clip, ger = clamp, outer
swapaxes = swapdims = transpose

_PLAIN = ("sum mean var std max min amax amin argmax argmin norm all any reshape view view_as permute transpose t "
          "flatten unsqueeze squeeze expand expand_as repeat split chunk unbind narrow select index_select gather "
          "masked_fill clamp clip softmax log_softmax logsumexp matmul mm bmm mv dot outer tril triu sort argsort topk "
          "cumsum flip prod median nonzero count_nonzero unique isnan isfinite equal allclose swapaxes swapdims").split()
METHODS = [*_PLAIN, *ELEMENTWISE]
FUNCTIONS = [*METHODS, "cat", "concat", "concatenate", "stack", "where", "addmm", "numel", "is_tensor"]
FUNCTIONS = [name for name in FUNCTIONS if name not in ("view", "view_as", "expand", "expand_as", "repeat")]
__all__ = FUNCTIONS
