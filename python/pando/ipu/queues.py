# SPDX-License-Identifier: Apache-2.0
"""ipu.ipu_infeed_queue and ipu.ipu_outfeed_queue: data to the steps of loops, and results from them."""
from __future__ import annotations

import enum
from typing import Any

from pando import _core
from pando.core.keywords import accepts
from pando.core.structure import flatten, is_nested, pack
from pando.ipu.ipu_compiler import change
from pando.tensors.tracing import symbol_of


class IPUInfeedQueue:
    """Feeds the elements of a data set to the steps of loops, ahead of them."""

    @accepts("buffer_depth", "data_to_prefetch", "optimise_latency", "replication_factor")
    def __init__(self, dataset: Any, feed_name: str | None = None, device_ordinal: Any = None,
                 prefetch_depth: Any = None) -> None:
        self._queue = _core.IPUInfeedQueue(dataset._dataset)
        structure = dataset._structure
        self._columns = len(flatten(structure)) if is_nested(structure) else 1
        self._names = sorted(structure) if isinstance(structure, dict) else None

    @property
    def initializer(self) -> Any:
        """Starts at the first element."""
        return self._queue.initializer()

    deleter = None


class IPUOutfeedMode(enum.Enum):
    """Whether a queue keeps what every step put in, or only what the last one did."""
    ALL = "all"
    LAST = "last"


class IPUOutfeedQueue:
    """Keeps what the steps of loops put into it."""

    @accepts("io_batch_size", "optimise_latency", "replication_factor")
    def __init__(self, feed_name: str | None = None, outfeed_mode: Any = None, device_ordinal: Any = None,
                 buffer_depth: int = 1) -> None:
        self._queue = _core.IPUOutfeedQueue(outfeed_mode is IPUOutfeedMode.LAST)
        self._structure = None

    def enqueue(self, tensors: Any) -> Any:
        """Keeps the tensors; to be called in the body of a loop."""
        leaves = flatten(tensors) if is_nested(tensors) else [tensors]
        change(self, "_structure", pack(tensors, [None] * len(leaves)) if is_nested(tensors) else None)
        return self._queue.enqueue([symbol_of(leaf) for leaf in leaves])

    def dequeue(self, wait_for_completion: bool = False) -> Any:
        """What a session fetches to get all that was kept."""
        return Dequeue(self)

    deleter = None


class Dequeue:
    """A fetch of a queue, in the structure of what was put in."""

    def __init__(self, queue: Any) -> None:
        self._native, self._queue = queue._queue.dequeue(), queue

    def _results(self, arrays):
        structure = self._queue._structure
        if not is_nested(structure):
            return arrays[0] if len(arrays) == 1 else list(arrays)
        return pack(structure, arrays)
