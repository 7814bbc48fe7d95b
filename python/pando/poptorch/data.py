# SPDX-License-Identifier: Apache-2.0
"""poptorch.DataLoader: batches as large as a call of a model takes."""
import enum

from pando.torch.utils import data as _data


class DataLoaderMode(enum.Enum):
    """How batches are loaded; the names are PopTorch's."""
    Sync = "sync"
    Async = "async"
    AsyncRebatched = "async_rebatched"


class DataLoader(_data.DataLoader):
    """batch_size is that of a micro-batch; a batch has the samples of a whole call."""

    def __init__(self, options, dataset, batch_size=1, shuffle=None, num_workers=0, drop_last=True,
                 mode=DataLoaderMode.Sync, persistent_workers=None, auto_distributed_partitioning=True,  # noqa: ARG002
                 async_options=None, rebatched_worker_size=None, batch_sampler=None, **arguments):  # noqa: ARG002
        self._micro_batch_size = batch_size
        if mode is not DataLoaderMode.Sync and num_workers == 0:
            num_workers = 1 if hasattr(dataset, "_core_loader") else 0
        size = batch_size * options.samples_factor() if batch_size is not None else None
        super().__init__(dataset, size, shuffle, num_workers=num_workers, drop_last=drop_last,
                         batch_sampler=batch_sampler, **arguments)

    @property
    def combinedBatchSize(self):  # noqa: N802
        return self.batch_size

    def terminate(self):
        """Without effect: threads end with their epoch."""


class AsynchronousDataAccessor:
    """The batches of a loader."""

    def __init__(self, dataset, *_, **__):
        self._dataset = dataset

    def __iter__(self):
        return iter(self._dataset)

    def __len__(self):
        return len(self._dataset)

    def terminate(self):
        """Without effect: threads end with their epoch."""
