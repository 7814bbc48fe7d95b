# SPDX-License-Identifier: Apache-2.0
"""poptorch.DataLoader: PyTorch's, with batches as large as a call of a model takes."""
from __future__ import annotations

import enum
from typing import Any

import torch

from pando.poptorch.options import Options


class DataLoaderMode(enum.Enum):
    """How batches are loaded; the names are PopTorch's. Workers load ahead in every mode."""
    Sync = "sync"
    Async = "async"
    AsyncRebatched = "async_rebatched"


class DataLoader(torch.utils.data.DataLoader):
    """batch_size is that of a micro-batch; a batch has the samples of a whole call."""

    def __init__(self, options: Options, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
                 num_workers: int = 0, drop_last: bool = True, persistent_workers: bool | None = None,
                 auto_distributed_partitioning: bool = True, mode: Any = DataLoaderMode.Sync,
                 async_options: Any = None, rebatched_worker_size: int | None = None, batch_sampler: Any = None,
                 **arguments: Any) -> None:  # noqa: ARG002
        processes = options.Distributed.numProcesses
        if not auto_distributed_partitioning and processes > 1:
            raise NotImplementedError("DataLoader: auto_distributed_partitioning=False is not in Pando, where every process is "
                                      "given all samples and computes its share")
        if processes > 1 and shuffle and arguments.get("generator") is None:
            arguments["generator"] = _common_generator(options)
        if num_workers:
            arguments["persistent_workers"] = bool(persistent_workers)
        if batch_sampler is not None:
            super().__init__(dataset, batch_sampler=batch_sampler, num_workers=num_workers, **arguments)
        else:
            size = batch_size * options.samples_factor() if batch_size is not None else None
            super().__init__(dataset, size, shuffle, num_workers=num_workers, drop_last=drop_last and size is not None,
                             **arguments)

    @property
    def combinedBatchSize(self) -> Any:  # noqa: N802
        """The number of samples of a batch: those of a whole call of the model."""
        return self.batch_size

    def terminate(self) -> None:
        """Without effect: workers end with the loader."""


def _common_generator(options):
    """All processes must shuffle alike."""
    seed = options._values["random_seed"]
    if seed is None:
        raise ValueError("DataLoader: shuffle=True with several processes needs Options.randomSeed(), so that all of them "
                         "shuffle alike")
    return torch.Generator().manual_seed(seed)


class AsynchronousDataAccessor:
    """The batches of a loader."""

    def __init__(self, dataset: Any, buffer_size: int = 3, miss_sleep_time_in_ms: float = 0.1, load_indefinitely: bool = True,
                 early_preload: bool = False, sharing_strategy: Any = None, rebatched_size: int | None = None) -> None:
        if rebatched_size is not None:
            raise NotImplementedError("AsynchronousDataAccessor: rebatched_size is not in Pando; give the loader another "
                                      "batch_size")
        self._dataset = dataset

    def __iter__(self):
        return iter(self._dataset)

    def __len__(self):
        return len(self._dataset)

    def terminate(self) -> None:
        """Without effect: workers end with the loader."""
