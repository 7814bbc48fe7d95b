# SPDX-License-Identifier: Apache-2.0
"""torch.utils.data: data sets, samplers and DataLoader. Data that C++ has, tensors and torchvision's images, are loaded in
C++ without Python, and ahead if there are workers; any other data set is asked for its samples in Python."""
from __future__ import annotations

import bisect
import itertools
import typing as _typing
from typing import Any, Sequence

import numpy as np

from pando import _core
from pando.core.hints import ArrayLike, Function
from pando.core.nearest import attributes_of as _attributes_of
from pando.core.tensor import Tensor as CoreTensor
from pando.torch.creation import generator_of
from pando.torch.devices import tell_once
from pando.torch.tensor import Tensor


class Dataset:
    """Samples by index: write __getitem__() and __len__()."""

    def __getitem__(self, index):
        raise NotImplementedError

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Samples one after the other: write __iter__()."""

    def __iter__(self):
        raise NotImplementedError


class TensorDataset(Dataset):
    """Row i of every tensor is sample i."""

    def __init__(self, *tensors: Any) -> None:
        if any(len(tensor) != len(tensors[0]) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return len(self.tensors[0])

    def _core_loader(self, subset, *options):
        arrays = [np.asarray(tensor._array("TensorDataset")) for tensor in self.tensors]
        return _core.data.array_loader(arrays, subset, *options)


class Subset(Dataset):
    """Some samples of a data set."""

    def __init__(self, dataset: Any, indices: ArrayLike) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)

    def _core_loader(self, subset, *options):
        make = getattr(self.dataset, "_core_loader", None)
        chosen = [int(i) for i in self.indices]
        return make and make(chosen if subset is None else [chosen[i] for i in subset], *options)


class ConcatDataset(Dataset):
    """Data sets one after the other."""

    def __init__(self, datasets: Any) -> None:
        self.datasets = list(datasets)
        self.cumulative_sizes = list(itertools.accumulate(len(dataset) for dataset in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        index = index + len(self) if index < 0 else index
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


def random_split(dataset: Any, lengths: Sequence[Any], generator: Any = None) -> Any:
    """Parts of these lengths, or of these shares of all samples, in a random order."""
    if abs(sum(lengths) - 1) < 1e-6 and all(0 <= length <= 1 for length in lengths):
        sizes = [int(len(dataset) * share) for share in lengths]
        for i in range(len(dataset) - sum(sizes)):
            sizes[i % len(sizes)] += 1
        lengths = sizes
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = generator_of(generator).permutation(len(dataset)).tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - length:end]) for end, length in zip(ends, lengths)]


class Sampler:
    """Indices of samples, in the order in which they are loaded."""

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __len__(self):
        return len(self.data_source)


class SequentialSampler(Sampler):
    """The samples in their order."""
    def __iter__(self):
        return iter(range(len(self.data_source)))


class RandomSampler(Sampler):
    """The samples in random order; with ``replacement``, some of them several times."""
    def __init__(self, data_source: Any, replacement: bool = False, num_samples: int | None = None,
                 generator: Any = None) -> None:
        super().__init__(data_source)
        self.replacement, self.generator = replacement, generator
        self.num_samples = num_samples if num_samples is not None else len(data_source)

    def __len__(self):
        return self.num_samples

    def __iter__(self):
        draw = generator_of(self.generator)
        if self.replacement:
            return iter(draw.integers(0, len(self.data_source), self.num_samples).tolist())
        return iter(draw.permutation(len(self.data_source))[:self.num_samples].tolist())


class SubsetRandomSampler(Sampler):
    """Some samples, in random order."""
    def __init__(self, indices: ArrayLike, generator: Any = None) -> None:
        super().__init__(indices)
        self.generator = generator

    def __iter__(self):
        return (self.data_source[i] for i in generator_of(self.generator).permutation(len(self.data_source)).tolist())


class WeightedRandomSampler(Sampler):
    """Samples drawn by weight."""
    def __init__(self, weights: Any, num_samples: int | None, replacement: bool = True, generator: Any = None) -> None:
        self.weights, self.num_samples = np.asarray(weights, np.float64), num_samples
        self.replacement, self.generator = replacement, generator

    def __len__(self):
        return self.num_samples

    def __iter__(self):
        chances = self.weights / self.weights.sum()
        return iter(generator_of(self.generator).choice(len(chances), self.num_samples, self.replacement,
                                                        chances).tolist())


class BatchSampler(Sampler):
    """Lists of indices of another sampler."""

    def __init__(self, sampler: Any, batch_size: int | None, drop_last: Any) -> None:
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __len__(self):
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch


def default_collate(batch: Any) -> Any:
    """One batch of samples: tensors are stacked, and tuples and dicts of them collated by part."""
    first = batch[0]
    if isinstance(first, CoreTensor):
        return Tensor(np.stack([sample._array("collate") for sample in batch]))
    if isinstance(first, (np.ndarray, np.generic)):
        return Tensor(np.stack([np.asarray(sample) for sample in batch]))
    if isinstance(first, bool):
        return Tensor(np.array(batch, np.bool_))
    if isinstance(first, (int, float)):
        return Tensor(np.array(batch, np.float32 if isinstance(first, float) else np.int64))
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, dict):
        return type(first)((key, default_collate([sample[key] for sample in batch])) for key in first)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(part) for part in zip(*batch)))
    if isinstance(first, (tuple, list)):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return [default_collate(part) for part in zip(*batch)]
    raise TypeError(f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
                    f"{type(first)}")


default_convert = default_collate


class DataLoader:
    """Batches of the samples of a data set; each loop over it is an epoch."""

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Any = None,
                 batch_sampler: Any = None, num_workers: int = 0, collate_fn: Function | None = None,
                 pin_memory: bool = False, drop_last: bool = False, timeout: int = 0,
                 worker_init_fn: Function | None = None, multiprocessing_context: Any = None, generator: Any = None, *,
                 prefetch_factor: int | None = None, persistent_workers: bool | None = False,
                 pin_memory_device: str = "") -> None:  # noqa: ARG002
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        self.dataset, self.batch_size, self.num_workers, self.drop_last = dataset, batch_size, num_workers, drop_last
        self.collate_fn = collate_fn or (default_collate if batch_size is not None else lambda sample: sample)
        self.generator = generator
        self._loader = None
        self._is_iterable = isinstance(dataset, IterableDataset)
        plain = sampler is None and batch_sampler is None and collate_fn is None and batch_size is not None
        if plain and not self._is_iterable and hasattr(dataset, "_core_loader"):
            seed = int(generator_of(generator).integers(2**63))
            self._loader = dataset._core_loader(None, batch_size, bool(shuffle), drop_last, seed, num_workers,
                                                prefetch_factor or 2) if len(dataset) else None
        if self._loader is None and num_workers > 0:
            tell_once("workers", "DataLoader: Python makes the samples of this data set, in the thread that asks for "
                                 "them; num_workers has no effect")
        if not self._is_iterable:
            self.sampler = sampler or (RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(
                dataset))
            self.batch_sampler = batch_sampler or (BatchSampler(self.sampler, batch_size, drop_last)
                                                   if batch_size is not None else None)

    def __len__(self):
        if self._loader is not None:
            return len(self._loader)
        if self._is_iterable:
            count = len(self.dataset)
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return len(self.batch_sampler if self.batch_sampler is not None else self.sampler)

    def __iter__(self):
        if self._loader is not None:
            return self._core_batches()
        return self._iterable_batches() if self._is_iterable else self._batches()

    def _core_batches(self):
        epoch = self._loader.epoch()
        while (batch := epoch.next()) is not None:
            yield [Tensor(array) for array in batch]

    def _batches(self):
        if self.batch_sampler is None:
            yield from (self.collate_fn(self.dataset[i]) for i in self.sampler)
            return
        for indices in self.batch_sampler:
            yield self.collate_fn([self.dataset[i] for i in indices])

    def _iterable_batches(self):
        samples = iter(self.dataset)
        if self.batch_size is None:
            yield from (self.collate_fn(sample) for sample in samples)
            return
        while batch := list(itertools.islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)


def get_worker_info() -> Any:
    """None: samples are made in the process itself."""
    return None

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
