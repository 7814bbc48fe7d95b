# SPDX-License-Identifier: Apache-2.0
"""Views and joints. Views are values in a functional graph."""
import numpy as np

from pando.torch.aten.table import aten
from pando.torch.layout import (axis_of, broadcast, concat, pad, part, reshape, swap_axes, transpose, widths_of, with_axis,
                                  without_axis)
from pando.torch.symbols import cast, dtype_name, rank, size, where


@aten("view", "_unsafe_view", "reshape", "_reshape_alias", "view_as")
def view(c, x, shape, strides=None):
    return reshape(x, c.shape)


@aten("squeeze", "unsqueeze", "expand")
def with_shape(c, x, *arguments, implicit=False):
    return broadcast(x, c.shape) if size(x) != np.prod(c.shape, dtype=int) else reshape(x, c.shape)


@aten("permute")
def permute(c, x, dims):
    return transpose(x, [axis_of(axis, rank(x)) for axis in dims])


@aten("t", "numpy_T")
def t(c, x):
    return transpose(x, range(rank(x))[::-1])


@aten("transpose")
def transpose_of(c, x, a, b):
    return swap_axes(x, axis_of(a, rank(x)), axis_of(b, rank(x))) if rank(x) else x


@aten("clone", "contiguous", "alias", "lift_fresh", "lift", "detach", "positive", takes_absent=True)
def same(c, x, memory_format=None):
    return x


@aten("_to_copy", "to")
def to_copy(c, x, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    return cast(x, dtype_name(c.result.dtype))


@aten("copy")
def copy(c, x, source, non_blocking=False):
    return broadcast(cast(source, x.dtype), x.shape)


@aten("cat")
def cat(c, tensors, dim=0):
    kept = [cast(x, c.dtype) for x in tensors if list(x.shape) != [0]]    # PyTorch leaves out empty lists
    return concat(kept, axis_of(dim, len(c.shape))) if kept else cast(tensors[0], c.dtype)


@aten("stack")
def stack(c, tensors, dim=0):
    axis = axis_of(dim, len(c.shape))
    return concat([with_axis(cast(x, c.dtype), axis) for x in tensors], axis)


# ---- parts
def bounds(n, start, end):
    """Where a slice of an axis begins and ends, as Python's slices clamp them."""
    begin, end, _ = slice(start, end).indices(n)
    return begin, max(end, begin)


def strided(x, axis, start, count, step):
    """`count` elements from start on, every step-th."""
    if step == 1 or count <= 1:
        return part(x, axis, start, count)
    x = part(x, axis, start, x.shape[axis] - start)
    x = pad(x, widths_of(x, axis, 0, count * step - x.shape[axis]))
    sizes = list(x.shape)
    x = reshape(x, [*sizes[:axis], count, step, *sizes[axis + 1:]])
    return without_axis(part(x, axis + 1, 0, 1), axis + 1)


@aten("slice")
def slice_of(c, x, dim=0, start=None, end=None, step=1):
    axis = axis_of(dim, rank(x))
    begin, end = bounds(x.shape[axis], start, end)
    return strided(x, axis, begin, -(-(end - begin) // step), step)


@aten("select")
def select(c, x, dim, index):
    axis = axis_of(dim, rank(x))
    return without_axis(part(x, axis, index % x.shape[axis], 1), axis)


@aten("split", "unsafe_split", "split_with_sizes", "unsafe_split_with_sizes")
def split(c, x, sizes, dim=0):
    axis = axis_of(dim, rank(x))
    n = x.shape[axis]
    if not isinstance(sizes, (list, tuple)):
        sizes = [min(sizes, n - i) for i in range(0, n, sizes)] if n else [0]
    starts = np.cumsum([0, *sizes])
    return [part(x, axis, int(start), int(count)) for start, count in zip(starts, sizes)]


@aten("unbind")
def unbind(c, x, dim=0):
    axis = axis_of(dim, rank(x))
    return [without_axis(part(x, axis, i, 1), axis) for i in range(x.shape[axis])]


@aten("slice_backward")
def slice_backward(c, g, sizes, dim, start, end, step):
    axis = axis_of(dim, len(sizes))
    n, count = sizes[axis], g.shape[axis]
    begin, _ = bounds(n, start, end)
    return pad(spread(g, axis, step), widths_of(g, axis, begin, n - begin - (count - 1) * step - 1 if count else n - begin))


def spread(x, axis, step):
    """x with step - 1 zeros between elements along the axis."""
    if step == 1 or x.shape[axis] < 2:
        return x
    sizes = list(x.shape)
    wide = pad(with_axis(x, axis + 1), widths_of(with_axis(x, axis + 1), axis + 1, 0, step - 1))
    sizes[axis] *= step
    return part(reshape(wide, sizes), axis, 0, sizes[axis] - step + 1)


@aten("select_backward")
def select_backward(c, g, sizes, dim, index):
    axis = axis_of(dim, len(sizes))
    g, before = with_axis(g, axis), index % sizes[axis]
    return pad(g, widths_of(g, axis, before, sizes[axis] - before - 1))


@aten("slice_scatter")
def slice_scatter(c, x, source, dim=0, start=None, end=None, step=1):
    axis = axis_of(dim, rank(x))
    begin, end = bounds(x.shape[axis], start, end)
    inside = np.zeros(x.shape[axis], bool)
    inside[begin:end:step] = True
    placed = slice_backward(c, cast(source, x.dtype), x.shape, axis, start, end, step)
    inside = inside.reshape([-1] + [1] * (rank(x) - 1 - axis))
    return where(c.constant(inside), placed, x, x.dtype)


@aten("select_scatter")
def select_scatter(c, x, source, dim, index):
    axis = axis_of(dim, rank(x))
    index %= x.shape[axis]
    return slice_scatter(c, x, with_axis(source, axis), axis, index, index + 1)
