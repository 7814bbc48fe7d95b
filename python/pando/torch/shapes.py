# SPDX-License-Identifier: Apache-2.0
"""torch.*: functions that give tensors other shapes, join them and take parts of them."""
from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from pando.core import dtypes, ops
from pando.core.hints import ArrayLike, Sizes
from pando.torch.tensor import Tensor

__all__ = ["reshape", "view", "view_as", "permute", "transpose", "t", "flatten", "unsqueeze", "squeeze", "expand",
           "expand_as", "repeat", "cat", "stack", "split", "chunk", "unbind", "narrow", "select", "index_select",
           "gather"]


def _shape(sizes):
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        return [int(size) for size in sizes[0]]
    return [int(size) for size in sizes]


def reshape(input: ArrayLike, *shape: Any) -> Tensor:  # noqa: A002
    """The elements in another shape; one size may be -1."""
    return ops.reshape(input, _shape(shape))


def view(input: ArrayLike, *shape: Any) -> Tensor:  # noqa: A002
    """The elements in another shape, or their bytes as another type."""
    if len(shape) == 1 and isinstance(shape[0], dtypes.DType):
        return Tensor(input._array("view").view(shape[0].numpy))
    return ops.reshape(input, _shape(shape))


def view_as(input: ArrayLike, other: ArrayLike) -> Tensor:  # noqa: A002
    """The elements in the shape of the other tensor."""
    return ops.reshape(input, list(other.shape))


def permute(input: ArrayLike, *dims: Any) -> Tensor:  # noqa: A002
    """The dimensions in this order."""
    return ops.transpose(input, _shape(dims))


def transpose(input: ArrayLike, dim0: int, dim1: int) -> Tensor:  # noqa: A002
    """The tensor with two dimensions exchanged."""
    return ops.swap_axes(input, dim0, dim1)


def t(input: ArrayLike) -> Tensor:  # noqa: A002
    """The transposed matrix."""
    return ops.transpose(input)


def flatten(input: ArrayLike, start_dim: int = 0, end_dim: int = -1) -> Tensor:  # noqa: A002
    """The dimensions from ``start_dim`` to ``end_dim`` as one."""
    return ops.flatten(input, start_dim, end_dim)


def unsqueeze(input: ArrayLike, dim: Any) -> Tensor:  # noqa: A002
    """The tensor with a new dimension of size 1."""
    return ops.expand_dims(input, dim)


def squeeze(input: ArrayLike, dim: Any = None) -> Tensor:  # noqa: A002
    """The tensor without its dimensions of size 1, or without this one."""
    return ops.squeeze(input, dim)


def expand(input: ArrayLike, *sizes: Any) -> Tensor:  # noqa: A002
    """Dimensions of size 1 repeated to these sizes; -1 keeps a size."""
    return ops.broadcast_to(input, _shape(sizes))


def expand_as(input: ArrayLike, other: ArrayLike) -> Tensor:  # noqa: A002
    """The tensor expanded to the shape of the other."""
    return ops.broadcast_to(input, list(other.shape))


def repeat(input: ArrayLike, *sizes: Any) -> Tensor:  # noqa: A002
    """The tensor repeated this often along each dimension."""
    sizes = _shape(sizes)
    x = ops.reshape(input, [1] * (len(sizes) - input.dim()) + list(input.shape))
    for axis, count in enumerate(sizes):
        x = x if count == 1 else ops.concat([x] * count, axis)
    return x


def cat(tensors: Sequence[Any], dim: Any = 0, *, axis: int | None = None, out: Any = None) -> Tensor:  # noqa: ARG001
    """Joins tensors along a dimension."""
    return ops.concat(tensors, dim if axis is None else axis)


def stack(tensors: Sequence[Any], dim: Any = 0, *, out: Any = None) -> Tensor:  # noqa: ARG001
    """Joins tensors of one shape along a new dimension."""
    return ops.stack(tensors, dim)


def split(tensor: ArrayLike, split_size_or_sections: Sizes, dim: Any = 0) -> tuple[Tensor, ...]:  # noqa: A002
    """Parts of this size, or of these sizes, along a dimension."""
    sizes = split_size_or_sections
    if isinstance(sizes, int):
        count = tensor.shape[dim]
        sizes = [min(sizes, count - start) for start in range(0, count, sizes)]
    return tuple(ops.split(tensor, sizes, dim))


def chunk(input: ArrayLike, chunks: int, dim: Any = 0) -> tuple[Tensor, ...]:  # noqa: A002
    """This many parts of about equal size along a dimension."""
    return split(input, -(-input.shape[dim] // chunks), dim)


def unbind(input: ArrayLike, dim: Any = 0) -> tuple[Tensor, ...]:  # noqa: A002
    """The slices along a dimension, as a tuple."""
    return tuple(ops.squeeze(part, dim) for part in ops.split(input, [1] * input.shape[dim], dim))


def narrow(input: ArrayLike, dim: Any, start: Any, length: int) -> Tensor:  # noqa: A002
    """``length`` elements from ``start`` on, along a dimension."""
    return ops.part(input, dim, int(start), int(length))


def select(input: ArrayLike, dim: Any, index: Any) -> Tensor:  # noqa: A002
    """The slice of this index along a dimension."""
    return ops.squeeze(ops.part(input, dim, index % input.shape[dim], 1), dim)


def index_select(input: ArrayLike, dim: Any, index: Any) -> Tensor:  # noqa: A002
    """The slices of these indices along a dimension."""
    rows = ops.gather(ops.swap_axes(input, 0, dim), index)
    return ops.swap_axes(rows, 0, dim)


def gather(input: ArrayLike, dim: Any, index: Any) -> Tensor:  # noqa: A002
    """The elements whose indices along the dimension are given, one for each element of ``index``."""
    if isinstance(input._value, np.ndarray) and isinstance(index._value, np.ndarray):
        return Tensor(np.take_along_axis(input._value, index._value, dim))
    last = input.dim() - 1
    x, i = ops.swap_axes(input, dim, last), ops.swap_axes(index, dim, last)
    chosen = ops.one_hot(i, x.shape[last], x.dtype)
    return ops.swap_axes(ops.sum(chosen * ops.expand_dims(x, last), -1), dim, last)
