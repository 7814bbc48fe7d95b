# SPDX-License-Identifier: Apache-2.0
"""keras.utils."""
from __future__ import annotations

import random
import typing as _typing
from typing import Any

import numpy as np

from pando import _core
from pando.core.hints import ArrayLike, DTypeLike, Path, Samples, Sizes
from pando.core.messages import tell_once
from pando.keras.data import Sequence
from pando.keras.models import model_from_json

PyDataset = Sequence
__all__ = ["PyDataset", "Sequence", "get_custom_objects", "get_file", "model_from_json", "normalize", "plot_model",
           "register_keras_serializable", "set_random_seed", "to_categorical"]


def to_categorical(y: ArrayLike, num_classes: int | None = None, dtype: DTypeLike = "float32") -> np.ndarray:
    """One-hot rows of class numbers."""
    labels = np.asarray(y, dtype=np.int64)
    if labels.ndim > 1 and labels.shape[-1] == 1:
        labels = labels.reshape(labels.shape[:-1])
    count = int(num_classes) if num_classes else (int(labels.max()) + 1 if labels.size else 0)
    if labels.size and (labels.min() < 0 or labels.max() >= count):
        raise ValueError(f"to_categorical: the labels are {labels.min()} to {labels.max()}, "
                         f"but there are {count} classes")
    rows = np.zeros((labels.size, count), dtype=dtype)
    rows[np.arange(labels.size), labels.reshape(-1)] = 1
    return rows.reshape(labels.shape + (count,))


def normalize(x: Samples, axis: Sizes | None = -1, order: int = 2) -> Any:
    """The array divided by its norm along an axis."""
    norm = np.atleast_1d(np.linalg.norm(x, order, axis))
    norm[norm == 0] = 1
    return x / np.expand_dims(norm, axis)


def set_random_seed(seed: int | None) -> Any:
    """Seeds Python's, NumPy's and Pando's random numbers."""
    random.seed(seed)
    np.random.seed(seed)
    _core.set_random_seed(int(seed))


def plot_model(model: Any, to_file: Path = "model.png", **kwargs: Any) -> Any:
    """Says that Pando draws no graphs of models, and goes on, as Keras does where it finds nothing to draw with."""
    tell_once("plot_model has no effect in Pando; model.summary() and model.explain() describe a model")


def get_file(fname: str | None = None, origin: str | None = None, **kwargs: Any) -> Any:
    """Pando downloads nothing but its own data sets."""
    raise NotImplementedError(f"get_file is not in Pando; download {origin} yourself and give the path of the file")


def register_keras_serializable(package: str = "Custom", name: str | None = None) -> Any:
    """Accepted: files of Pando hold no code."""
    return lambda cls: cls


def get_custom_objects() -> Any:
    """Classes of the user by name; Pando does not use them."""
    return {}


# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        from pando.core.nearest import missing_attribute
        raise missing_attribute(__name__, name, __all__)
