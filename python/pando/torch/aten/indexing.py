# SPDX-License-Identifier: Apache-2.0
"""Elements that other tensors name: embeddings, indexing, gather and scatter."""
import math

import numpy as np

from pando.torch.aten.table import aten
from pando.torch.layout import axis_of, broadcast, counting, reshape, rows, taken, transpose, with_axis
from pando.torch.symbols import (add, as_indices, cast, computed, divide, equal, full, is_float, maximum, multiply,
                                   not_equal, op, operand, rank, size, vjp, where)
from pando.torch.unsupported import refuse


# ---- rows
@aten("embedding")
def embedding(c, table, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return rows(table, indices)


def summed_rows(c, g, indices, count):
    """Rows of zeros to which each row of g is added at its index."""
    table = c.full([count, *g.shape[rank(indices):]], 0, "float32")
    return vjp(lambda table: rows(table, indices), [table], g)[0]


@aten("embedding_dense_backward")
def embedding_dense_backward(c, g, indices, count, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq:
        refuse("gradients scaled by frequency")
    if padding_idx >= 0:
        g = multiply(g, cast(with_axis(not_equal(indices, padding_idx), rank(indices)), "float32"))
    return summed_rows(c, g, indices, count)


@aten("index_select")
def index_select(c, x, dim, index):
    if not rank(x):
        return x
    return taken(x, axis_of(dim, rank(x)), index if rank(index) else reshape(index, [1]))


@aten("index_add")
def index_add(c, x, dim, index, source, alpha=1):
    if not is_float(x):
        refuse("sums of integers by index")
    if not rank(x):
        return add(x, multiply(reshape(source, []), alpha))
    axis = axis_of(dim, rank(x))
    index = index if rank(index) else reshape(index, [1])
    order = [axis, *[i for i in range(rank(x)) if i != axis]]
    back = [order.index(i) for i in range(rank(x))]
    made = summed_rows(c, transpose(source, order), index, x.shape[axis])
    return add(x, multiply(transpose(made, back), alpha))


# ---- elements of the flat tensor
def place_limit(shape):
    if math.prod(shape) >= 2**31:
        refuse(f"a tensor of {list(shape)} has more elements than an index can name")


def wrapped(index, n):
    """Negative indices count from the end."""
    return where(computed("less", index, 0), add(index, n), index)


def flat_places(c, shape, indices):
    """The places in a flat tensor of the shape, for an index tensor of int64 along each axis; all broadcast."""
    place_limit(shape)
    made = None
    for axis, index in enumerate(indices):
        term = multiply(cast(index, "int64"), int(math.prod(shape[axis + 1:])))
        made = term if made is None else add(made, term)
    return as_indices(made)


def out_of_axis(c, index, n):
    """The index, or one that is out of range for the whole tensor where it is out of range for its axis."""
    inside = op("logical_and", computed("greater_equal", index, 0), computed("less", index, n))
    return where(inside, index, c.constant(-(2**31), "int64"))


def along(c, x, axis, index):
    """The places that gather and scatter mean: index along one axis, and the same place along the others."""
    others = [counting(x, index.shape, i) for i in range(rank(x))]
    others[axis] = out_of_axis(c, cast(index, "int64"), x.shape[axis])
    return broadcast(flat_places(c, x.shape, others), index.shape)


@aten("gather")
def gather(c, x, dim, index, sparse_grad=False):
    if not rank(x):
        return broadcast(x, c.shape)
    if not size(index):
        return c.full(c.shape, 0, c.dtype)
    axis = axis_of(dim, rank(x))
    return op("take_along", cut(x, index.shape, axis), as_indices(index), axis=axis)


def cut(x, shape, axis):
    """The first elements of x along all axes but one, as many as the shape has."""
    return op("slice", x, starts=[0] * rank(x), sizes=[x.shape[i] if i == axis else n for i, n in enumerate(shape)])


def has_lines_of(x, index, axis):
    """Whether the index has as many places as x along all axes but one."""
    return all(n == m for i, (n, m) in enumerate(zip(index.shape, x.shape)) if i != axis)


def added(c, x, places, source):
    """The flat x with the source added at the places."""
    if not is_float(x):
        refuse("sums of integers by index")
    made = summed_rows(c, reshape(source, [size(source)]), reshape(places, [size(source)]), size(x))
    return add(x, reshape(made, x.shape))


@aten("scatter_add")
def scatter_add(c, x, dim, index, source):
    if not size(index):
        return x
    if not rank(x):
        return add(x, reshape(source, []))
    source, axis = op("slice", source, starts=[0] * rank(x), sizes=list(index.shape)), axis_of(dim, rank(x))
    if has_lines_of(x, index, axis):
        return op("scatter", x, as_indices(index), source, axis=axis, mode="add")
    return added(c, x, along(c, x, axis, index), source)


@aten("scatter")
def scatter(c, x, dim, index, source, reduce=None):
    """Where several elements name one place, the last of them is there; PyTorch says that it may be any."""
    if reduce is not None:
        refuse("a reduction")
    source = operand(source, x, x.dtype)
    if not size(index) or not rank(x):
        return broadcast(reshape(source, []), []) if size(index) else x
    axis = axis_of(dim, rank(x))
    if not has_lines_of(x, index, axis):
        refuse("lines without an element")
    if rank(source):
        source = op("slice", source, starts=[0] * rank(x), sizes=list(index.shape))
    return op("scatter", x, as_indices(index), broadcast(source, index.shape), axis=axis, mode="set")


# ---- x[i, j, ...]
class Indexed:
    """The places that a list of index tensors, some of them None, names; the order of the axes of the result is NumPy's."""

    def __init__(self, c, x, indices):
        indices = list(indices) + [None] * (rank(x) - len(indices))
        if any(i is not None and i.dtype in ("bool", "uint8") for i in indices):
            refuse("a mask as index makes a tensor of unknown size; use torch.where")
        place_limit(x.shape)
        at = [axis for axis, index in enumerate(indices) if index is not None]
        shape = np.broadcast_shapes(*[tuple(indices[axis].shape) for axis in at])
        first = at[0] if at == list(range(at[0], at[-1] + 1)) else 0
        rest = [axis for axis in range(rank(x)) if axis not in at]
        before = [axis for axis in rest if axis < at[0]] if first else []
        self.shape = [*[x.shape[a] for a in before], *shape, *[x.shape[a] for a in rest if a not in before]]
        made = None
        for axis in range(rank(x)):
            if axis in at:
                index = out_of_axis(c, wrapped(cast(indices[axis], "int64"), x.shape[axis]), x.shape[axis])
                sizes = [1] * (len(shape) - rank(index)) + list(index.shape)
                term = reshape(index, [1] * len(before) + sizes + [1] * (len(rest) - len(before)))
            else:
                place = before.index(axis) if axis in before else len(shape) + rest.index(axis)
                term = counting(x, self.shape, place)
            term = multiply(term, int(math.prod(x.shape[axis + 1:])))
            made = term if made is None else add(made, term)
        self.places = as_indices(broadcast(made, self.shape))


@aten("index")
def index_of(c, x, indices):
    named = [i for i, index in enumerate(indices) if index is not None]
    if named == [0] and indices[0].dtype in ("int32", "int64"):
        return rows(x, wrapped(indices[0], x.shape[0]))
    if not size(x) or 0 in c.shape:
        return c.full(c.shape, 0, c.dtype)
    return rows(reshape(x, [size(x)]), Indexed(c, x, indices).places)


@aten("index_put", "_unsafe_index_put")
def index_put(c, x, indices, values, accumulate=False):
    if not accumulate:
        masks = [index for index in indices if index is not None]
        if len(masks) == 1 and masks[0].dtype == "bool" and indices[0] is not None and not rank(values):
            return where(reshape(masks[0], [*masks[0].shape, *[1] * (rank(x) - rank(masks[0]))]), values, x, x.dtype)
        refuse("values that replace elements by index; add them with accumulate=True, or use torch.where")
    named = Indexed(c, x, indices)
    return added(c, x, named.places, broadcast(values, named.shape))


@aten("take")
def take(c, x, index):
    n = size(x)
    return rows(reshape(x, [n]), out_of_axis(c, wrapped(cast(index, "int64"), n), n))


@aten("index_fill")
def index_fill(c, x, dim, index, value):
    if not rank(x):
        return operand(value, x, x.dtype)
    axis = axis_of(dim, rank(x))
    index = wrapped(index if rank(index) else reshape(index, [1]), x.shape[axis])
    chosen = cast(op("reduce_sum", op("one_hot", as_indices(index), depth=x.shape[axis], dtype="int32"), axes=[0]), "bool")
    return where(reshape(chosen, [-1] + [1] * (rank(x) - 1 - axis)), operand(value, x, x.dtype), x, x.dtype)


@aten("scatter_reduce")
def scatter_reduce(c, x, dim, index, source, reduce, include_self=True):
    if reduce not in ("sum", "mean") or not rank(x) or not size(index) or not is_float(x):
        refuse(f"the reduction '{reduce}' of such tensors")
    source = op("slice", source, starts=[0] * rank(x), sizes=list(index.shape))
    places = along(c, x, axis_of(dim, rank(x)), index)
    counts = added(c, full(x, x.shape, 0, "float32"), places, full(x, index.shape, 1, "float32"))
    begin = x if include_self else where(equal(counts, 0), x, 0.0)
    made = added(c, begin, places, source)
    if reduce == "sum":
        return made
    return divide(made, add(counts, 1.0) if include_self else maximum(counts, 1.0))
