# SPDX-License-Identifier: Apache-2.0
"""torch.*: functions that give tensors other shapes, join them and take parts of them."""
import numpy as np

from pando.core import dtypes, ops
from pando.torch.tensor import Tensor

__all__ = ["reshape", "view", "view_as", "permute", "transpose", "t", "flatten", "unsqueeze", "squeeze", "expand",
           "expand_as", "repeat", "cat", "stack", "split", "chunk", "unbind", "narrow", "select", "index_select",
           "gather"]


def _shape(sizes):
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        return [int(size) for size in sizes[0]]
    return [int(size) for size in sizes]


def reshape(input, *shape):  # noqa: A002
    return ops.reshape(input, _shape(shape))


def view(input, *shape):  # noqa: A002
    if len(shape) == 1 and isinstance(shape[0], dtypes.DType):
        return Tensor(input._array("view").view(shape[0].numpy))
    return ops.reshape(input, _shape(shape))


def view_as(input, other):  # noqa: A002
    return ops.reshape(input, list(other.shape))


def permute(input, *dims):  # noqa: A002
    return ops.transpose(input, _shape(dims))


def transpose(input, dim0, dim1):  # noqa: A002
    return ops.swap_axes(input, dim0, dim1)


def t(input):  # noqa: A002
    return ops.transpose(input)


def flatten(input, start_dim=0, end_dim=-1):  # noqa: A002
    return ops.flatten(input, start_dim, end_dim)


def unsqueeze(input, dim):  # noqa: A002
    return ops.expand_dims(input, dim)


def squeeze(input, dim=None):  # noqa: A002
    return ops.squeeze(input, dim)


def expand(input, *sizes):  # noqa: A002
    return ops.broadcast_to(input, _shape(sizes))


def expand_as(input, other):  # noqa: A002
    return ops.broadcast_to(input, list(other.shape))


def repeat(input, *sizes):  # noqa: A002
    sizes = _shape(sizes)
    x = ops.reshape(input, [1] * (len(sizes) - input.dim()) + list(input.shape))
    for axis, count in enumerate(sizes):
        x = x if count == 1 else ops.concat([x] * count, axis)
    return x


def cat(tensors, dim=0, *, axis=None, out=None):  # noqa: ARG001
    return ops.concat(tensors, dim if axis is None else axis)


def stack(tensors, dim=0, *, out=None):  # noqa: ARG001
    return ops.stack(tensors, dim)


def split(input, split_size_or_sections, dim=0):  # noqa: A002
    sizes = split_size_or_sections
    if isinstance(sizes, int):
        count = input.shape[dim]
        sizes = [min(sizes, count - start) for start in range(0, count, sizes)]
    return tuple(ops.split(input, sizes, dim))


def chunk(input, chunks, dim=0):  # noqa: A002
    return split(input, -(-input.shape[dim] // chunks), dim)


def unbind(input, dim=0):  # noqa: A002
    return tuple(ops.squeeze(part, dim) for part in ops.split(input, [1] * input.shape[dim], dim))


def narrow(input, dim, start, length):  # noqa: A002
    return ops.part(input, dim, int(start), int(length))


def select(input, dim, index):  # noqa: A002
    return ops.squeeze(ops.part(input, dim, index % input.shape[dim], 1), dim)


def index_select(input, dim, index):  # noqa: A002
    rows = ops.gather(ops.swap_axes(input, 0, dim), index)
    return ops.swap_axes(rows, 0, dim)


def gather(input, dim, index):  # noqa: A002
    if isinstance(input._value, np.ndarray) and isinstance(index._value, np.ndarray):
        return Tensor(np.take_along_axis(input._value, index._value, dim))
    last = input.dim() - 1
    x, i = ops.swap_axes(input, dim, last), ops.swap_axes(index, dim, last)
    chosen = ops.one_hot(i, x.shape[last], x.dtype)
    return ops.swap_axes(ops.sum(chosen * ops.expand_dims(x, last), -1), dim, last)
