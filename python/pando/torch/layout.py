# SPDX-License-Identifier: Apache-2.0
"""Functions on symbols that move elements, choose them and reduce axes."""
import numpy as np

from pando.torch.symbols import as_indices, cast, constant, full, is_float, is_symbol, negate, op, rank, size
from pando.torch.unsupported import refuse


def axis_of(axis, count):
    """The axis counted from the front."""
    if not -count <= axis < max(count, 1):
        refuse(f"{count} axes do not include axis {axis}")
    return axis % count if count else 0


def axes_of(axes, count):
    """The axes in ascending order; None and an empty list mean all of them."""
    if axes is None or (isinstance(axes, (tuple, list)) and not axes):
        return list(range(count))
    return sorted({axis_of(axis, count) for axis in (axes if isinstance(axes, (tuple, list)) else [axes])} if count else [])


def reshape(x, shape):
    return op("reshape", x, shape=[int(n) for n in shape])


def broadcast(x, shape):
    """x repeated to the shape; -1 keeps a size."""
    return op("broadcast", x, shape=[int(n) for n in shape])


def transpose(x, permutation):
    return op("transpose", x, permutation=list(permutation))


def swap_axes(x, a, b):
    order = list(range(rank(x)))
    order[a], order[b] = order[b], order[a]
    return transpose(x, order)


def channels_last(x):
    """[N, C, ...] as [N, ..., C]."""
    return transpose(x, [0, *range(2, rank(x)), 1])


def channels_first(x):
    """[N, ..., C] as [N, C, ...]."""
    return transpose(x, [0, rank(x) - 1, *range(1, rank(x) - 1)])


def with_axis(x, axis):
    """x with a new axis of size 1."""
    sizes = list(x.shape)
    sizes.insert(axis if axis >= 0 else axis + len(sizes) + 1, 1)
    return reshape(x, sizes)


def without_axis(x, axis):
    """x without this axis of size 1."""
    sizes = list(x.shape)
    del sizes[axis]
    return reshape(x, sizes)


def concat(symbols, axis):
    symbols = list(symbols)
    return symbols[0] if len(symbols) == 1 else op("concat", *symbols, axis=axis)


def part(x, axis, start, count):
    """`count` elements along the axis from `start` on."""
    starts, sizes = [0] * rank(x), list(x.shape)
    starts[axis], sizes[axis] = start, count
    return x if count == x.shape[axis] else op("slice", x, starts=starts, sizes=sizes)


def pad(x, widths, value=0):
    """A pair (before, after) for each axis; negative ones cut off."""
    for axis, (before, after) in enumerate(widths):
        cut = max(-before, 0), max(-after, 0)
        x = part(x, axis, cut[0], x.shape[axis] - sum(cut))
    if not any(max(pair) > 0 for pair in widths):
        return x
    return op("pad", x, before=[max(int(b), 0) for b, _ in widths], after=[max(int(a), 0) for _, a in widths],
              value=float(value))


def widths_of(x, axis, before, after):
    """Widths for pad() along one axis."""
    widths = [(0, 0)] * rank(x)
    widths[axis] = (before, after)
    return widths


# ---- reductions
def total(x, axes=None, keep=False):
    """The sum; what is not a float becomes int64 before."""
    x = x if is_float(x) else cast(x, "int64")
    axes = axes_of(axes, rank(x))
    return op("reduce_sum", x, axes=axes, keep_dims=keep) if axes else x


def mean(x, axes=None, keep=False):
    axes = axes_of(axes, rank(x))
    return op("reduce_mean", x, axes=axes, keep_dims=keep) if axes else x


def largest(x, axes=None, keep=False):
    axes = axes_of(axes, rank(x))
    if x.dtype in ("bool", "uint8"):
        return cast(largest(cast(x, "int32"), axes, keep), x.dtype)
    return op("reduce_max", x, axes=axes, keep_dims=keep) if axes else x


def in_reverse_order(x):
    """What has the opposite order; the least integer has no negative, so integers invert their bits."""
    if is_float(x):
        return negate(x)
    x = cast(x, "int32") if x.dtype in ("bool", "uint8") else x
    return op("bitwise_xor", x, full(x, [], -1, x.dtype))


def smallest(x, axes=None, keep=False):
    return cast(in_reverse_order(largest(in_reverse_order(x), axes, keep)), x.dtype)


# ---- indices
def rows(table, indices):
    """Rows of the table along its first axis."""
    return op("gather", table, as_indices(indices))


def taken(x, axis, indices):
    """The places of x along the axis that the indices, a list of numbers or a symbol with one axis, name."""
    indices = indices if is_symbol(indices) else constant(x, indices, "int32")
    if axis == 0:
        return rows(x, indices)
    order = [axis, *[i for i in range(rank(x)) if i != axis]]
    back = [order.index(i) for i in range(rank(x))]
    return transpose(rows(transpose(x, order), indices), back)


def rearranged(x, places):
    """An array of places in the flat x, as a tensor: elements may be left out and repeated."""
    return rows(reshape(x, [-1] if size(x) else [0]), constant(x, places, "int32"))


def counting(like, shape, axis, dtype="int64"):
    """0, 1, 2, ... along the axis, of size 1 along the others."""
    sizes = [1] * len(shape)
    sizes[axis] = shape[axis]
    return constant(like, np.arange(shape[axis]).reshape(sizes), dtype)
