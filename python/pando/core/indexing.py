# SPDX-License-Identifier: Apache-2.0
"""Indexing: what NumPy allows, for tensors whose values are known; for others ints, slices, None, Ellipsis and one tensor
of integers."""
import numpy as np

from pando.core import ops
from pando.core.errors import TraceError
from pando.core.tensor import Tensor


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
    tensors = [i for i, part in enumerate(parts) if isinstance(part, (Tensor, np.ndarray, list))]
    if tensors:
        return _rows(x, parts, tensors)
    return _sliced(x, parts)


def _rows(x, parts, tensors):
    """x[indices], where the tensor of integers is first and the rest are slices."""
    chosen = parts[tensors[0]]
    chosen = chosen if isinstance(chosen, Tensor) else x._result_class(np.asarray(chosen))
    if tensors == [0] and not chosen.dtype.is_bool:
        rows = ops.gather(x, chosen)
        rest = parts[1:]
        return rows if not rest else _sliced(rows, (slice(None),) * chosen.ndim + tuple(rest))
    raise TraceError("an index of this kind needs values that are known only when the program runs; use where() for a "
                     "mask, and one tensor of integers as the first index")


def _sliced(x, parts):
    given = sum(part is not None and part is not Ellipsis for part in parts)
    rank = len(x.shape)
    if given > rank:
        raise IndexError(f"too many indices: {given} for a tensor of {rank} axes")
    if Ellipsis in parts:
        at = parts.index(Ellipsis)
        parts = (*parts[:at], *[slice(None)] * (rank - given), *parts[at + 1:])
    starts, sizes, shape, steps, axis = [0] * rank, [-1] * rank, [], [], 0
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        size = x.shape[axis]
        if isinstance(part, slice):
            start, count, step = _range(part, size)
            starts[axis], sizes[axis] = start, count
            shape.append(size if count == -1 and start == 0 else count)
            steps.append((axis, step))
        else:
            starts[axis], sizes[axis] = _position(int(part), size), 1
        axis += 1
    shape += x.shape[axis:]
    whole = all(start == 0 and count == -1 for start, count in zip(starts, sizes))
    result = x if whole else ops.call("slice", x, starts=starts, sizes=sizes)
    for axis, step in steps:
        if step != 1:
            raise TraceError(f"a slice with step {step} needs values that are known; use step 1")
    return result if list(shape) == list(result.shape) else ops.reshape(result, [-1 if n is None else n for n in shape])


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
    return start, max(0, stop - start), step
