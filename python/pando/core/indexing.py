# SPDX-License-Identifier: Apache-2.0
"""Indexing: what NumPy allows, for tensors whose values are known; for others ints, slices, None, Ellipsis, tensors of
integers side by side, and masks whose values are known."""
import numpy as np

from pando.core import ops
from pando.core.errors import TraceError
from pando.core.tensor import FUNCTIONS, Tensor


def plain_index(index):
    """The index with arrays in the place of tensors."""
    if isinstance(index, tuple):
        return tuple(plain_index(part) for part in index)
    if isinstance(index, Tensor):
        return index._array("index")
    if isinstance(index, list):
        return [plain_index(part) for part in index]
    return index


def get(x, index):
    if isinstance(x._value, np.ndarray) and not _waits(index):
        return x._result_class(np.asarray(x._value[plain_index(index)]))
    return _taken(x, index if isinstance(index, tuple) else (index,))


def _waits(index):
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, Tensor) and not isinstance(part._value, np.ndarray) for part in parts)


def _taken(x, parts):
    parts = tuple(place for part in parts for place in _known_mask(part))
    if Ellipsis in [part for part in parts if not _is_list(part)]:
        at = next(i for i, part in enumerate(parts) if part is Ellipsis)
        given = sum(part is not None and part is not Ellipsis for part in parts)
        parts = (*parts[:at], *[slice(None)] * (len(x.shape) - given), *parts[at + 1:])
    lists = [i for i, part in enumerate(parts) if _is_list(part)]
    return _listed(x, parts, lists) if lists else _sliced(x, parts)


def _is_list(part):
    return isinstance(part, (Tensor, np.ndarray, list))


def _known_mask(part):
    """A mask whose values are known, as the places where it is true, for each of its axes; anything else as it is."""
    value = part._value if isinstance(part, Tensor) else part
    if isinstance(value, list):
        value = np.asarray(value) if not any(isinstance(one, Tensor) for one in value) else value
    return np.nonzero(value) if isinstance(value, np.ndarray) and value.dtype == bool else (part,)


def _listed(x, parts, lists):
    """x[..., a, b, ...], where a and b are integers of one shape, side by side, and the rest are slices."""
    if any(isinstance(part, Tensor) and part.dtype.is_bool for part in parts):
        raise TraceError("how many elements a mask chooses is known only when the program runs, and the shapes of a "
                         "program are fixed; use where(mask, x, 0), and divide by the sum of the mask for a mean")
    first, count = lists[0], len(lists)
    if lists != list(range(first, first + count)) or None in parts[:first]:
        raise TraceError("indices of this kind are not in Pando while a model is recorded; tensors of integers must be "
                         "side by side")
    chosen = [part if isinstance(part, Tensor) else x._result_class(np.asarray(part)) for part in parts[first:first + count]]
    # The indexed axes come first and become one, whose rows are gathered.
    rank = len(x.shape)
    order = [*range(first, first + count), *range(first), *range(first + count, rank)]
    moved = x if first == 0 else ops.transpose(x, order)
    sizes = list(moved.shape)
    if any(size is None for size in sizes[:count]):
        raise TraceError("samples of a batch of unknown size cannot be chosen while a model is recorded")
    flat = moved if count == 1 else ops.reshape(moved, [int(np.prod(sizes[:count])), *(
        -1 if size is None else size for size in sizes[count:])])
    rows = ops.gather(flat, _places(chosen, sizes[:count]))
    wide = len(rows.shape) - (rank - count)
    if first:
        rows = ops.transpose(rows, [*range(wide, wide + first), *range(wide), *range(wide + first, len(rows.shape))])
    rest = (*parts[:first], *[slice(None)] * wide, *parts[first + count:])
    return _sliced(rows, rest)


def _places(chosen, sizes):
    """The numbers of the rows: chosen[0] * sizes[1] + chosen[1] and so on; known negative ones count from the end."""
    place = None
    for index, size in zip(chosen, sizes):
        if isinstance(index._value, np.ndarray):
            array = index._value
            if array.size and not ((array >= -size) & (array < size)).all():
                raise IndexError(f"an index is out of range for an axis of size {size}")
            index = type(index)._result_class(array % size)
        place = index if place is None else place * size + index
    return place


def changed(x, index, value):
    """x with other elements in the place of x[index], for tensors whose values are not known."""
    mask = index if isinstance(index, Tensor) and index.dtype.is_bool else None
    cls = x._result_class
    value = value if isinstance(value, Tensor) else cls(np.asarray(value))
    if mask is not None:
        for _ in range(len(x.shape) - len(mask.shape)):
            mask = ops.expand_dims(mask, len(mask.shape))
        if value.ndim and value.shape != x.shape:
            raise TraceError("what takes the place of x[mask] must be one number, or a tensor like x")
        return ops.where(mask, value, x)
    if any(size is None for size in x.shape):
        raise TraceError("a part of a batch of unknown size cannot be set while a model is recorded; use where()")
    shape = tuple(x.shape)
    places = np.arange(int(np.prod(shape)))
    part = places.reshape(shape)[plain_index(index)]
    target = np.array(places).reshape(shape)
    target[plain_index(index)] = places.size + np.arange(part.size).reshape(part.shape)
    filled = ops.broadcast_to(ops.cast(value, x.dtype.name), part.shape)
    both = ops.concat([ops.reshape(x, [-1]), ops.reshape(filled, [-1])], 0)
    return ops.gather(both, cls(target))


def _sliced(x, parts):
    given = sum(part is not None and part is not Ellipsis for part in parts)
    rank = len(x.shape)
    if given > rank:
        raise IndexError(f"too many indices: {given} for a tensor of {rank} axes")
    starts, sizes, shape, steps, axis = [0] * rank, [-1] * rank, [], [], 0  # steps: pairs of an axis and its step
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        size = x.shape[axis]
        if isinstance(part, slice):
            start, count, step = _range(part, size)
            starts[axis], sizes[axis] = start, count
            shape.append(size if count == -1 and start == 0 else -(-count // abs(step)))
            if step != 1:
                steps.append((axis, step))
        else:
            starts[axis], sizes[axis] = _position(int(part), size), 1
        axis += 1
    shape += x.shape[axis:]
    whole = all(start == 0 and count == -1 for start, count in zip(starts, sizes))
    result = x if whole else ops.call("slice", x, starts=starts, sizes=sizes)
    for axis, step in steps:
        result = _strided(result, axis, step)
    return result if list(shape) == list(result.shape) else ops.reshape(result, [-1 if n is None else n for n in shape])


def _strided(x, axis, step):
    """Every step-th element along the axis, from its first on; from its last on if the step is negative."""
    rank, size = len(x.shape), x.shape[axis]
    if step < 0:
        turned = ops.gather(ops.swap_axes(x, 0, axis), x._result_class(np.arange(size)[::step]))
        return ops.swap_axes(turned, 0, axis)
    count = -(-size // step)
    widths = [(0, 0)] * rank
    widths[axis] = (0, count * step - size)
    sizes = [-1 if n is None else n for n in x.shape]
    full = x if count * step == size else ops.pad(x, widths)
    blocks = ops.reshape(full, [*sizes[:axis], count, step, *sizes[axis + 1:]])
    return ops.reshape(ops.part(blocks, axis + 1, 0, 1), [*sizes[:axis], count, *sizes[axis + 1:]])


def _position(index, size):
    if size is None:
        raise TraceError("one sample of a batch of unknown size cannot be chosen while a model is recorded")
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range for an axis of size {size}")
    return index % size


def _range(part, size):
    if size is None:
        if part == slice(None):
            return 0, -1, 1
        raise TraceError("a part of a batch of unknown size cannot be chosen while a model is recorded")
    start, stop, step = part.indices(size)
    if step == 1 and start == 0 and stop == size:
        return 0, -1, 1
    if step < 0:
        # The same elements from the lowest on; _strided() turns them round.
        chosen = range(start, stop, step)
        return (chosen[-1], chosen[0] - chosen[-1] + 1, step) if chosen else (0, 0, step)
    return start, max(0, stop - start), step


FUNCTIONS["get"] = get
