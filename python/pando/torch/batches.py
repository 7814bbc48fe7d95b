# SPDX-License-Identifier: Apache-2.0
"""The batches of a loader, in groups that one execution takes."""
from __future__ import annotations

from typing import Any, Iterable, Iterator

import torch

from pando.torch.calls import Call


def call_of(batch: Any) -> Call:
    """The call that a batch of a loader is: the arguments are its parts."""
    if isinstance(batch, dict):
        return Call((), batch)
    return Call(tuple(batch) if isinstance(batch, (tuple, list)) else (batch,), {})


def grouped(loader: Iterable[Any], most: int) -> Iterator[list[Call]]:
    """Groups of calls of the same types, of at most that many. A loader may fill the memory of earlier batches again, while
    they wait. So the first groups are small: when the memory of the first batch comes again, that batch has been trained and
    none that waits has been overwritten; and from then on, batches are copied."""
    waiting: list[Call] = []
    first: dict[int, torch.Tensor] = {}
    count, copies = 0, False
    for batch in loader:
        call = call_of(batch)
        copies = copies or any(_address_of(tensor) in first for tensor in call.tensors)
        # While the tensors of the first batch are kept, no other can be where they are.
        first = first or {_address_of(tensor): tensor for tensor in call.tensors if tensor.numel()}
        if waiting and call.key != waiting[0].key:
            yield waiting
            waiting = []
        waiting.append(_copied(call) if copies and most > 1 else call)
        count += 1
        if len(waiting) >= min(most, max(count // 2, 1)):
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _address_of(tensor: torch.Tensor) -> int:
    return tensor.data_ptr() if tensor.layout == torch.strided else 0


def _copied(call: Call) -> Call:
    args, kwargs = call.filled([tensor.clone() for tensor in call.tensors])
    return Call(args, kwargs)
