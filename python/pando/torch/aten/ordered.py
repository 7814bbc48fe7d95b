# SPDX-License-Identifier: Apache-2.0
"""Elements in order along an axis, and running totals."""
from pando.torch.aten.table import Absent, aten, name_of
from pando.torch.layout import axis_of, part, reshape, without_axis
from pando.torch.symbols import cast, is_float, is_nan, op, rank, size, where
from pando.torch.unsupported import refuse


def ordered(x, dim, descending):
    """The elements in order along the axis, and the places that they come from. Equal ones keep their order."""
    if not rank(x):
        values, places = ordered(reshape(x, [1]), 0, descending)
        return reshape(values, []), reshape(places, [])
    axis = axis_of(dim, rank(x))
    places = op("argsort", x, axis=axis, descending=descending)
    return op("sort", x, axis=axis, descending=descending), cast(places, "int64")


def unless_many_equal(x, places):
    """The places, if few elements are equal. PyTorch names any of equal ones, and of numbers that are not floats many are."""
    return places if is_float(x) else Absent(f"places of elements of {x.dtype}, where PyTorch chooses among equal ones")


@aten("sort")
def sort(c, x, dim=-1, descending=False, stable=None):
    values, places = ordered(x, dim, descending)
    return values, unless_many_equal(x, places) if x.dtype == "bool" and not stable else places


@aten("argsort")
def argsort(c, x, dim=-1, descending=False, stable=None):
    return sort(c, x, dim, descending, stable)[1]


@aten("topk")
def topk(c, x, k, dim=-1, largest=True, is_sorted=True):
    values, places = ordered(x, dim, largest)
    if not rank(x):
        return values, places
    axis = axis_of(dim, rank(x))
    return part(values, axis, 0, k), unless_many_equal(x, part(places, axis, 0, k))


@aten("kthvalue")
def kthvalue(c, x, k, dim=-1, keepdim=False):
    value, place = chosen(x, dim, keepdim, k - 1)
    return value, unless_many_equal(x, place)


def chosen(x, dim, keepdim, place):
    """The element that is at this place once the axis is in order, and where it was."""
    found = ordered(x, dim, False)
    if not rank(x):
        return found
    axis = axis_of(dim, rank(x))
    found = [part(y, axis, place, 1) for y in found]
    return found if keepdim else [without_axis(y, axis) for y in found]


@aten("median")
def median(c, x, dim=None, keepdim=False):
    """The lower of two in the middle. PyTorch does not say which of equal ones it names."""
    if dim is not None:
        refuse("the median along an axis, of which PyTorch also gives a place; use sort")
    values = ordered(reshape(x, [size(x)]), 0, False)[0]
    middle = reshape(part(values, 0, (size(x) - 1) // 2, 1), [])
    return where(is_nan(reshape(part(values, 0, size(x) - 1, 1), [])), float("nan"), middle) if is_float(x) else middle


# ---- running totals
def running(x, dim, mode):
    return op("cumulative", x, axis=axis_of(dim, rank(x)), mode=mode) if rank(x) else x


@aten("cumsum")
def cumsum(c, x, dim, dtype=None):
    return running(cast(x, c.dtype), dim, "add")


@aten("cumprod")
def cumprod(c, x, dim, dtype=None):
    if any(name_of(node.target) == "prod" for node in c.module.graph.nodes if hasattr(node.target, "_schema")):
        refuse("the gradient of a product, which PyTorch divides by each factor, with NaN where one is infinite")
    return running(cast(x, c.dtype), dim, "multiply")
