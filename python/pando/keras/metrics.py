# SPDX-License-Identifier: Apache-2.0
"""Metrics: means over all samples of an epoch."""
from __future__ import annotations

import typing as _typing
from typing import Any

import numpy as np

from pando import _core
from pando.core import ops
from pando.core.hints import ArrayLike, DTypeLike, Function, Sizes
from pando.core.nearest import attributes_of as _attributes_of
from pando.keras import losses
from pando.keras.activations import symbol_function
from pando.keras.arguments import tell_of_dtype
from pando.keras.losses import _snake, call_native
from pando.tensors.tensor import Tensor, convert


class Metric:
    """A mean of one number for each sample, or for each batch. ``update_state`` and ``result`` compute it from arrays, outside of models."""

    def __init__(self, name: str | None = None, dtype: DTypeLike = None) -> None:
        self.name = name or _snake(type(self).__name__)
        if getattr(dtype, "name", dtype) not in (None, "float32", "float64"):
            raise ValueError(f"{type(self).__name__}: dtype is {dtype!r}, but metrics of Pando are computed in float32")
        tell_of_dtype(type(self).__name__, dtype)
        self.reset_state()

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Any:
        """One number for each sample."""
        raise NotImplementedError(f"{type(self).__name__} has no call(self, y_true, y_pred)")

    def update_state(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike = None) -> Any:
        """Adds the samples of a batch."""
        self._add(self.call(convert(y_true), convert(y_pred)).numpy(), sample_weight)

    def add_weight(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: a metric of Pando is a mean over samples, which programs compute."""
        raise NotImplementedError(f"{type(self).__name__}.add_weight: metrics of Pando have no state of their own; write "
                                  "call(self, y_true, y_pred), which returns one number for each sample, and no update_state")

    def _add(self, values, sample_weight):
        values = np.asarray(values, dtype=np.float64)
        weights = np.ones(()) if sample_weight is None else np.asarray(getattr(sample_weight, "_value", sample_weight))
        # A weight of a sample counts for all that the sample has.
        weights = np.broadcast_to(weights.reshape(weights.shape + (1,) * (values.ndim - weights.ndim)), values.shape)
        self._total += float((values * weights).sum())
        self._count += float(weights.sum())

    def result(self) -> Any:
        """The mean of all samples since the last reset."""
        return Tensor(np.asarray(self._total / self._count if self._count else 0.0, np.float32))

    def reset_state(self) -> Any:
        """Forgets all samples."""
        self._total = self._count = 0.0

    def reset_states(self) -> Any:
        """The older name of ``reset_state``."""
        self.reset_state()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.update_state(*args, **kwargs)
        return self.result()

    def _native(self):
        def function(prediction, target):
            return self.call(target, prediction)
        return _core.Metric(self.name, symbol_function(function))


class Mean(Metric):
    """The mean of numbers."""

    def __init__(self, name: str | None = "mean", dtype: DTypeLike = None) -> None:
        super().__init__(name, dtype)

    def update_state(self, values: Any, sample_weight: ArrayLike = None) -> Any:
        """Adds values to the mean, each with its weight."""
        self._add(np.asarray(getattr(values, "_value", values)), sample_weight)


class _Builtin(Metric):
    _kind = ""

    def __init__(self, name: str | None = None, dtype: DTypeLike = None, **arguments: Any) -> None:
        super().__init__(name or self._kind, dtype)
        self._arguments = arguments

    def _native(self):
        native = _core.make_metric(self._made_by, dict(self._arguments))
        return native if native.name == self.name else native.renamed(self.name)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Any:
        return call_native(self._native(), y_true, y_pred)

    @property
    def _made_by(self):
        return type(self).__name__ if self._arguments else self._kind


def _named(class_name, kind, doc):
    def __init__(self, name=kind, dtype=None):
        _Builtin.__init__(self, name, dtype)
    return type(class_name, (_Builtin,), {"__init__": __init__, "__doc__": doc, "_kind": kind,
                                          "__module__": __name__})


class Accuracy(Metric):
    """How often the prediction equals the target; the name "accuracy" in ``compile`` chooses by the shapes instead."""

    def __init__(self, name: str | None = "accuracy", dtype: DTypeLike = None) -> None:
        super().__init__(name, dtype)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Any:
        return ops.cast(ops.equal(ops.cast(y_true, y_pred.dtype.name), y_pred), "float32")


CategoricalAccuracy = _named("CategoricalAccuracy", "categorical_accuracy",
                             "How often the largest score is that of the one-hot target.")
SparseCategoricalAccuracy = _named("SparseCategoricalAccuracy", "sparse_categorical_accuracy",
                                   "How often the largest score is that of the class number.")
MeanSquaredError = _named("MeanSquaredError", "mean_squared_error", "The mean of (prediction - target)^2.")
MeanAbsoluteError = _named("MeanAbsoluteError", "mean_absolute_error", "The mean of |prediction - target|.")
KLDivergence = _named("KLDivergence", "kl_divergence", "The sum of target * log(target / prediction).")
Poisson = _named("Poisson", "poisson", "The mean of prediction - target * log(prediction).")
Hinge = _named("Hinge", "hinge", "The mean of max(1 - target * prediction, 0).")


class BinaryAccuracy(_Builtin):
    """How often a score above the threshold has the target 1, and another the target 0."""

    def __init__(self, name: str | None = "binary_accuracy", dtype: DTypeLike = None, threshold: float = 0.5) -> None:
        super().__init__(name, dtype, threshold=float(threshold))


class TopKCategoricalAccuracy(_Builtin):
    """How often the one-hot target is among the k largest scores."""

    def __init__(self, k: int = 5, name: str | None = "top_k_categorical_accuracy", dtype: DTypeLike = None) -> None:
        super().__init__(name, dtype, k=int(k))


class SparseTopKCategoricalAccuracy(_Builtin):
    """How often the class number is among the k largest scores."""

    def __init__(self, k: int = 5, name: str | None = "sparse_top_k_categorical_accuracy",
                 dtype: DTypeLike = None) -> None:
        super().__init__(name, dtype, k=int(k))


class _OfLoss(_Builtin):
    def __init__(self, name: str | None, dtype: DTypeLike, **arguments: Any) -> None:
        super().__init__(name, dtype)
        self._loss = getattr(losses, type(self).__name__)(**arguments)

    def _native(self):
        native = _core.Metric(self._loss._native())
        return native if native.name == self.name else native.renamed(self.name)


class BinaryCrossentropy(_OfLoss):
    """Cross-entropy of yes-or-no targets."""

    def __init__(self, name: str | None = "binary_crossentropy", dtype: DTypeLike = None, from_logits: bool = False,
                 label_smoothing: float = 0) -> None:
        super().__init__(name, dtype, from_logits=from_logits, label_smoothing=label_smoothing)


class CategoricalCrossentropy(_OfLoss):
    """Cross-entropy of probabilities and one-hot targets."""

    def __init__(self, name: str | None = "categorical_crossentropy", dtype: DTypeLike = None,
                 from_logits: bool = False, label_smoothing: float = 0, axis: Sizes | None = -1) -> None:
        super().__init__(name, dtype, from_logits=from_logits, label_smoothing=label_smoothing, axis=axis)


class SparseCategoricalCrossentropy(_OfLoss):
    """Cross-entropy of probabilities and class numbers."""

    def __init__(self, name: str | None = "sparse_categorical_crossentropy", dtype: DTypeLike = None,
                 from_logits: bool = False, axis: Sizes | None = -1) -> None:
        super().__init__(name, dtype, from_logits=from_logits, axis=axis)


class _Function(Metric):
    def __init__(self, function: Function) -> None:
        super().__init__(getattr(function, "__name__", "metric"))
        self._function = function

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Any:
        return self._function(y_true, y_pred)


class _ByName(_Builtin):
    def __init__(self, name: str | None) -> None:
        super().__init__(name)
        self._metric = _core.Metric(name)

    def _native(self):
        return self._metric


def _function_of(cls):
    def function(y_true, y_pred, *args, **kwargs):
        return cls(*args, **kwargs).call(convert(y_true), convert(y_pred))
    function.__name__, function.__doc__, function._metric_class = _snake(cls.__name__), cls.__doc__, cls
    return function


categorical_accuracy = _function_of(CategoricalAccuracy)
sparse_categorical_accuracy = _function_of(SparseCategoricalAccuracy)
binary_accuracy = _function_of(BinaryAccuracy)
top_k_categorical_accuracy = _function_of(TopKCategoricalAccuracy)
sparse_top_k_categorical_accuracy = _function_of(SparseTopKCategoricalAccuracy)
mean_squared_error = mse = MSE = _function_of(MeanSquaredError)
mean_absolute_error = mae = MAE = _function_of(MeanAbsoluteError)


def get(identifier: Any) -> Any:
    """A metric from its name, its class, an object, a loss or a function of (y_true, y_pred)."""
    if isinstance(identifier, Metric):
        return identifier
    if isinstance(identifier, type) and issubclass(identifier, Metric):
        return identifier()
    if hasattr(identifier, "_metric_class"):
        return identifier._metric_class()
    if isinstance(identifier, str):
        return _ByName(identifier)
    if isinstance(identifier, losses.Loss):
        return _Function(identifier.call)
    if callable(identifier):
        return _Function(identifier)
    raise TypeError(f"{identifier!r} is not a metric: give its name, an object or a function of (y_true, y_pred)")

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
