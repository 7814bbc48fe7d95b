# SPDX-License-Identifier: Apache-2.0
"""Elements in other places, all of which are known when the program is made."""
import numpy as np

from pando.torch.aten.table import aten
from pando.torch.layout import axes_of, axis_of, broadcast, concat, pad, part, rearranged, reshape, taken, total, transpose
from pando.torch.symbols import add, cast, is_float, rank, size, vjp, where
from pando.torch.unsupported import refuse


@aten("repeat")
def repeat(c, x, counts):
    sizes = [1] * (len(counts) - rank(x)) + list(x.shape)
    pairs = [n for count, inner in zip(counts, sizes) for n in (count, inner)]
    x = reshape(x, [n for inner in sizes for n in (1, inner)])
    return reshape(broadcast(x, pairs), c.shape)


@aten("flip")
def flip(c, x, dims):
    for axis in axes_of(dims, rank(x)) if dims else []:
        x = taken(x, axis, np.arange(x.shape[axis])[::-1]) if x.shape[axis] > 1 else x
    return x


@aten("roll")
def roll(c, x, shifts, dims=()):
    shifts, dims = ([v] if isinstance(v, int) else list(v) for v in (shifts, dims))
    if not dims:
        return reshape(roll(c, reshape(x, [size(x)]), shifts, [0]), x.shape)
    for shift, dim in zip(shifts, dims):
        axis = axis_of(dim, rank(x))
        n = x.shape[axis]
        cut = -shift % n if n else 0
        x = concat([part(x, axis, cut, n - cut), part(x, axis, 0, cut)], axis) if cut else x
    return x


@aten("constant_pad_nd")
def constant_pad_nd(c, x, widths, value=0):
    if not is_float(x) and (value != int(value) or abs(value) > 2**53):
        refuse(f"integers are not padded with {value}")
    pairs = [(widths[i], widths[i + 1]) for i in range(len(widths) - 2, -1, -2)]
    wide = cast(x, "int32") if x.dtype in ("bool", "uint8") else x
    return cast(pad(wide, [(0, 0)] * (rank(x) - len(pairs)) + pairs, value), x.dtype)


def triangle(name, of):
    @aten(name)
    def function(c, x, diagonal=0):
        return where(c.constant(of(np.ones(x.shape[-2:], bool), diagonal)), x, 0, x.dtype)
    return function


triangle("triu", np.triu)
triangle("tril", np.tril)


def places(shape):
    """The place of each element in the flat tensor."""
    return np.arange(int(np.prod(shape, dtype=int))).reshape(shape)


@aten("diagonal")
def diagonal(c, x, offset=0, dim1=0, dim2=1):
    return rearranged(x, np.diagonal(places(x.shape), offset, dim1, dim2))


@aten("unfold")
def unfold(c, x, dimension, width, step):
    if not rank(x):
        return reshape(x, c.shape)
    axis = axis_of(dimension, rank(x))
    windows = np.lib.stride_tricks.sliding_window_view(places(x.shape), width, axis)
    return rearranged(x, np.take(windows, range(0, windows.shape[axis], step), axis))


def strided_places(c, x, shape, strides, offset):
    """The places that strides name in the memory of a tensor, which must be known."""
    if not c.is_whole(0):
        refuse("it reads the memory of a view by strides; use slices, views or unfold")
    steps = [np.arange(n).reshape([-1] + [1] * (len(shape) - 1 - i)) * stride
             for i, (n, stride) in enumerate(zip(shape, strides))]
    made = np.broadcast_to(sum(steps) + (offset or 0), shape)
    return made if made.size == 0 or made.max() < size(x) else refuse("it reads memory beyond the tensor")


@aten("as_strided")
def as_strided(c, x, shape, strides, storage_offset=None):
    return rearranged(x, strided_places(c, x, shape, strides, storage_offset))


@aten("as_strided_scatter")
def as_strided_scatter(c, x, source, shape, strides, storage_offset=None):
    inside = strided_places(c, x, shape, strides, storage_offset)
    if len(np.unique(inside)) != inside.size:
        refuse("elements that lie at one place")
    return placed(c, x, source, inside)


@aten("diagonal_scatter")
def diagonal_scatter(c, x, source, offset=0, dim1=0, dim2=1):
    inside = np.diagonal(places(x.shape), offset, dim1, dim2)
    return placed(c, x, source, inside)


def placed(c, x, source, inside):
    """x with the elements of the source at the places `inside`, each of which is there once."""
    number = size(x)
    chosen = np.arange(number)
    chosen[inside.reshape(-1)] = number + np.arange(inside.size)
    flat = concat([reshape(x, [number]), reshape(cast(source, x.dtype), [inside.size])], 0)
    return rearranged(flat, chosen.reshape(x.shape))


@aten("diagonal_backward")
def diagonal_backward(c, g, sizes, offset, dim1, dim2):
    return placed(c, c.full(sizes, 0, g.dtype), g, np.diagonal(places(sizes), offset, dim1, dim2))


@aten("unfold_backward")
def unfold_backward(c, g, sizes, dimension, width, step):
    return vjp(lambda x: unfold(c, x, dimension, width, step), [c.full(sizes, 0, g.dtype)], g)[0]


@aten("diag")
def diag(c, x, diagonal=0):
    return rearranged(x, np.diagonal(places(x.shape), diagonal)) if rank(x) == 2 else on_diagonal(c, x, diagonal, 0, 1)


@aten("diag_embed")
def diag_embed(c, x, offset=0, dim1=-2, dim2=-1):
    return on_diagonal(c, x, offset, axis_of(dim1, rank(x) + 1), axis_of(dim2, rank(x) + 1))


def on_diagonal(c, x, offset, dim1, dim2):
    inside = np.diagonal(places(c.shape), offset, dim1, dim2)
    return placed(c, c.full(c.shape, 0, x.dtype), x, inside)


@aten("trace")
def trace(c, x):
    return cast(total(rearranged(x, np.diagonal(places(x.shape)))), c.dtype)


@aten("rot90")
def rot90(c, x, k=1, dims=(0, 1)):
    return rearranged(x, np.rot90(places(x.shape), k, dims))


@aten("narrow")
def narrow(c, x, dim, start, length):
    axis = axis_of(dim, rank(x))
    return part(x, axis, start % max(x.shape[axis], 1) if start < 0 else start, length)


@aten("pixel_shuffle")
def pixel_shuffle(c, x, factor):
    *batch, channels, height, width = x.shape
    n = len(batch)
    parts = reshape(x, [*batch, channels // factor**2, factor, factor, height, width])
    return reshape(transpose(parts, [*range(n), n, n + 3, n + 1, n + 4, n + 2]), c.shape)


@aten("pixel_unshuffle")
def pixel_unshuffle(c, x, factor):
    *batch, channels, height, width = x.shape
    n = len(batch)
    parts = reshape(x, [*batch, channels, height // factor, factor, width // factor, factor])
    return reshape(transpose(parts, [*range(n), n, n + 2, n + 4, n + 1, n + 3]), c.shape)


@aten("block_diag")
def block_diag(c, tensors):
    made, row, column = None, 0, 0
    height, width = c.shape
    for x in tensors:
        x = cast(reshape(x, [1] * (2 - rank(x)) + list(x.shape)), "int32" if c.dtype in ("bool", "uint8") else c.dtype)
        wide = pad(x, [(row, height - row - x.shape[0]), (column, width - column - x.shape[1])])
        made = wide if made is None else add(made, wide)
        row, column = row + x.shape[0], column + x.shape[1]
    return cast(made, c.dtype)
