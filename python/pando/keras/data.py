# SPDX-License-Identifier: Apache-2.0
"""The data of fit, evaluate and predict: arrays, tensors, lists, dicts, Datasets, generators and Sequences."""
from __future__ import annotations

from typing import Any, Mapping

import numpy as np

from pando import _core
from pando.core.arrays import as_array
from pando.core.hints import ArrayLike
from pando.core.structure import flatten


class Sequence:
    """Batches by number: derive from it and write ``__len__`` and ``__getitem__``."""

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__(self, index)")

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} has no __len__(self)")

    def on_epoch_end(self) -> Any:
        """Called after each pass."""


class Samples:
    """What C++ takes: a Dataset, or lists of arrays; and the weights of samples."""

    def __init__(self, x: Any, y: Any = None, sample_weight: ArrayLike = None, dataset: Any = None) -> None:
        self.x, self.y, self.sample_weight, self.dataset = x, y, sample_weight, dataset

    @property
    def first(self) -> Any:
        """What C++ takes as the inputs: the data set, or the arrays."""
        return self.x if self.dataset is None else self.dataset


def samples_of(model: Any, x: Any, y: Any = None, sample_weight: ArrayLike = None, targets: bool = True) -> Any:
    """The samples that a user gave to fit, evaluate or predict."""
    if x is None:
        raise ValueError("there is no data: give arrays, a Dataset or a generator as x")
    if type(x) is not np.ndarray:
        dataset = _dataset_of(model, x, y, sample_weight, targets)
        if dataset is not None:
            return Samples(None, dataset=dataset)
    # Names are needed for dicts alone, and a functional model must look for them.
    inputs = arrays_of(x, input_names(model) if isinstance(x, dict) else (), "x")
    outputs = None
    if y is not None:
        outputs = arrays_of(y, output_names(model) if isinstance(y, dict) else (), "y")
    return Samples(inputs, outputs, None if sample_weight is None else as_array(np.asarray(sample_weight)))


def class_weights(who: str, given: Any) -> dict[int, float]:
    """The weights of classes that a user gave to fit."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"{who}: class_weight is {given!r}, but must be a dict from the number of each class to its weight, "
                        "such as {0: 1.0, 1: 2.0}")
    return {int(key): float(value) for key, value in (given or {}).items()}


def _dataset_of(model, x, y, sample_weight, targets):
    """The data set of what gives inputs and targets together, batch by batch; None for arrays."""
    if getattr(x, "_dataset", None) is not None:
        _check_alone(x, y, sample_weight)
        return _columns(model, x, targets)
    if isinstance(x, Sequence) or (hasattr(x, "__getitem__") and hasattr(x, "__len__") and not _is_data(x)):
        _check_alone(x, y, sample_weight)
        return _core.Dataset.from_generator(lambda: _sequence_batches(model, x, targets))
    if hasattr(x, "__next__") or (hasattr(x, "__iter__") and not _is_data(x)):
        _check_alone(x, y, sample_weight)
        # A generator goes on where it stopped; anything else starts again.
        iterator = iter(x)
        make = (lambda: _batches(model, iterator, targets)) if iterator is x else (
            lambda: _batches(model, iter(x), targets))
        return _core.Dataset.from_generator(make)
    return None


def arrays_of(data: Any, names: Any, what: str) -> Any:
    """A list of arrays; those of a dict in the order of the names."""
    if isinstance(data, dict):
        if names and all(name in data for name in names):
            return [_array(data[name], what) for name in names]
        if len(data) == 1 and len(names) == 1:
            return [_array(value, what) for value in data.values()]
        missing = [name for name in names if name not in data]
        raise ValueError(f"{what}: the dict has {sorted(data)}, but the model wants {list(names)}"
                         + (f"; {missing[0]!r} is missing" if missing else ""))
    if isinstance(data, (list, tuple)) and data and all(_is_array(part) for part in data):
        return [_array(part, what) for part in data]
    return [_array(data, what)]


def _is_array(value):
    return isinstance(value, np.ndarray) and value.ndim > 0 or hasattr(value, "_value")


def _is_data(value):
    return isinstance(value, (np.ndarray, list, tuple, dict, int, float)) or hasattr(value, "_value") or (
        hasattr(value, "__array__"))


def _array(value, what):
    array = as_array(np.asarray(getattr(value, "_value", value)) if not isinstance(value, np.ndarray) else value)
    if array.dtype == object:
        raise ValueError(f"{what}: the samples have different shapes, or are not numbers")
    return array


def input_names(model: Any) -> Any:
    """The names of the inputs of a model, if they are known."""
    return model._input_names() if hasattr(model, "_input_names") else []


def output_names(model: Any) -> Any:
    """The names of the outputs of a model, if they are known."""
    return model._output_names() if hasattr(model, "_output_names") else []


def _check_alone(x, y, sample_weight):
    if y is not None:
        raise ValueError(f"y must not be given: {type(x).__name__} gives inputs and targets together")
    if sample_weight is not None:
        raise ValueError(f"sample_weight must not be given: {type(x).__name__} gives weights with inputs and targets, as a "
                         "third part")


def batch_columns(model: Any, element: Any, targets: bool) -> Any:
    """The arrays of one batch: inputs, targets, and weights if there are any."""
    if not isinstance(element, (tuple, list)):
        element = (element,)
    inputs = arrays_of(element[0], input_names(model), "x")
    if not targets or len(element) == 1:
        return inputs
    columns = inputs + arrays_of(element[1], output_names(model), "y")
    if len(element) > 2 and element[2] is not None:
        columns.append(_array(element[2], "sample_weight"))
    return columns


def _columns(model, dataset, targets):
    """A Dataset whose columns are in the order that C++ wants; usually they are already."""
    structure = dataset._structure
    flat = dataset._dataset
    if isinstance(structure, (tuple, list)) and not targets and len(structure) > 1:
        count = len(flatten(structure[0]))
        return flat.map(lambda columns: columns[:count])
    has_dicts = isinstance(structure, dict) or (
        isinstance(structure, (tuple, list)) and any(isinstance(part, dict) for part in structure))
    if not has_dicts:
        return flat
    from pando.core.structure import pack
    return flat.map(lambda columns: batch_columns(model, pack(structure, columns), targets))


def _batches(model, iterator, targets):
    for element in iterator:
        yield batch_columns(model, element, targets)


def _sequence_batches(model, sequence, targets):
    for index in range(len(sequence)):
        yield batch_columns(model, sequence[index], targets)
    if hasattr(sequence, "on_epoch_end"):
        sequence.on_epoch_end()
