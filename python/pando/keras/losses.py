# SPDX-License-Identifier: Apache-2.0
"""Losses: one number for each sample, whose mean training minimises."""
from __future__ import annotations

import typing as _typing
from typing import Any

import numpy as np

from pando import _core
from pando.core import ops
from pando.core.hints import ArrayLike, DTypeLike, Function, Sizes
from pando.core.nearest import attributes_of as _attributes_of
from pando.keras.activations import symbol_function
from pando.keras.arguments import tell_of_dtype
from pando.tensors.tensor import Tensor, as_symbol, convert, is_symbolic, wrap


class Reduction:
    """What becomes of the losses of samples. Training minimises their mean over a batch, or their sum for a loss of your own."""
    AUTO, NONE, SUM, SUM_OVER_BATCH_SIZE = "auto", "none", "sum", "sum_over_batch_size"


class Loss:
    """Derive from it and write ``call(self, y_true, y_pred)``."""

    def __init__(self, reduction: str | None = "auto", name: str | None = None, dtype: DTypeLike = None) -> None:
        self.reduction = getattr(reduction, "value", reduction)
        self.name = name or _snake(type(self).__name__)
        tell_of_dtype(type(self).__name__, dtype)
        if self.reduction not in (None, "auto", "none", "sum", "sum_over_batch_size", "mean", "mean_with_sample_weight"):
            raise ValueError(f"{type(self).__name__}: unknown reduction {reduction!r}")

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Tensor:
        """The loss of each sample; or one number for the batch, for which a shorter last batch runs by itself."""
        raise NotImplementedError(f"{type(self).__name__} has no call(self, y_true, y_pred)")

    def __call__(self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike = None) -> Any:
        """The loss of tensors or arrays, reduced as ``reduction`` says."""
        losses = self.call(convert(y_true), convert(y_pred))
        if sample_weight is not None:
            losses = losses * convert(sample_weight, "float32")
        if self.reduction in (None, "none"):
            return losses
        return ops.sum(losses) if self.reduction == "sum" else ops.mean(losses)

    def _native(self):
        def function(prediction, target):
            return self.call(target, prediction)
        return _core.Loss(self.name, symbol_function(function))

    def _trained(self):
        """The loss as a model minimises it."""
        if self.reduction in (None, "none", "mean_with_sample_weight"):
            raise NotImplementedError(f"{type(self).__name__}: reduction={self.reduction!r} is not in Pando; training takes the "
                                      "mean over the batch, so leave reduction out")
        return self._native().summed() if self.reduction == "sum" else self._native()

    def get_config(self) -> dict[str, Any]:
        """The arguments that the loss was made with."""
        return {"reduction": self.reduction, "name": self.name}


class _Builtin(Loss):
    _kind = ""
    _arguments = {}

    def _native(self):
        return _core.make_loss(self._kind, dict(self._arguments))

    def _trained(self):
        if self.reduction == "sum":
            raise NotImplementedError(f"{type(self).__name__}: reduction='sum' is not in Pando; training takes the "
                                      "mean over the batch, so multiply the learning rate by the batch size instead")
        return super()._trained()

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Any:
        return call_native(self._native(), y_true, y_pred)


def call_native(native: Any, y_true: ArrayLike, y_pred: ArrayLike) -> Any:
    """A loss or metric of C++ on tensors: [batch]."""
    if is_symbolic(y_pred) or is_symbolic(y_true):
        y_true, y_pred = convert(y_true), convert(y_pred)
        anchor = y_pred if is_symbolic(y_pred) else y_true
        return wrap(native.call(as_symbol(y_pred, [anchor]), as_symbol(y_true, [anchor])))
    from pando.keras.eager import run_function
    arrays = [np.asarray(convert(y_pred)._value), np.asarray(convert(y_true)._value)]
    return Tensor(run_function(lambda p, t: [native.call(p, t)], arrays)[0])


class CategoricalCrossentropy(_Builtin):
    """Cross-entropy of probabilities and one-hot targets."""

    def __init__(self, from_logits: bool = False, label_smoothing: float = 0.0, axis: Sizes | None = -1,
                 reduction: str | None = "auto", name: str | None = "categorical_crossentropy") -> None:
        super().__init__(reduction, name)
        _last_axis(self, axis)
        self._kind = "CategoricalCrossentropy"
        self._arguments = {"from_logits": bool(from_logits), "label_smoothing": float(label_smoothing)}


class BinaryCrossentropy(_Builtin):
    """Cross-entropy of yes-or-no targets, 0 or 1."""

    def __init__(self, from_logits: bool = False, label_smoothing: float = 0.0, axis: Sizes | None = -1,
                 reduction: str | None = "auto", name: str | None = "binary_crossentropy") -> None:
        super().__init__(reduction, name)
        _last_axis(self, axis)
        self._kind = "BinaryCrossentropy"
        self._arguments = {"from_logits": bool(from_logits), "label_smoothing": float(label_smoothing)}


class SparseCategoricalCrossentropy(_Builtin):
    """Cross-entropy of probabilities and class numbers."""

    def __init__(self, from_logits: bool = False, reduction: str | None = "auto",
                 name: str | None = "sparse_categorical_crossentropy", *, ignore_class: int | None = None,
                 axis: Sizes | None = -1) -> None:
        super().__init__(reduction, name)
        _last_axis(self, axis)
        if ignore_class is not None:
            raise NotImplementedError("SparseCategoricalCrossentropy: ignore_class is not in Pando; "
                                      "leave such samples out")
        self._kind = "SparseCategoricalCrossentropy"
        self._arguments = {"from_logits": bool(from_logits)}


class Huber(_Builtin):
    """Half the square of an error up to ``delta``, linear beyond it."""

    def __init__(self, delta: float = 1.0, reduction: str | None = "auto", name: str | None = "huber_loss") -> None:
        super().__init__(reduction, name)
        self._kind, self._arguments = "Huber", {"delta": float(delta)}


def _named(class_name, kind, doc):
    def __init__(self, reduction="auto", name=kind):
        _Builtin.__init__(self, reduction, name)
    return type(class_name, (_Builtin,), {"__init__": __init__, "__doc__": doc, "_kind": kind,
                                          "__module__": __name__})


MeanSquaredError = _named("MeanSquaredError", "mean_squared_error", "The mean of (prediction - target)^2.")
MeanAbsoluteError = _named("MeanAbsoluteError", "mean_absolute_error", "The mean of |prediction - target|.")
LogCosh = _named("LogCosh", "log_cosh", "The mean of log(cosh(prediction - target)).")
Hinge = _named("Hinge", "hinge", "The mean of max(1 - target * prediction, 0).")
Poisson = _named("Poisson", "poisson", "The mean of prediction - target * log(prediction).")
KLDivergence = _named("KLDivergence", "kl_divergence", "The sum of target * log(target / prediction).")


class CosineSimilarity(Loss):
    """Minus the cosine between prediction and target."""

    def __init__(self, axis: Sizes | None = -1, reduction: str | None = "auto",
                 name: str | None = "cosine_similarity") -> None:
        super().__init__(reduction, name)
        _last_axis(self, axis)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Any:
        y_true = ops.cast(y_true, "float32")
        lengths = ops.sum(y_true * y_true, axis=-1) * ops.sum(y_pred * y_pred, axis=-1)
        return -ops.sum(y_true * y_pred, axis=-1) / ops.sqrt(ops.maximum(lengths, 1e-12))


class _Function(Loss):
    def __init__(self, function: Function) -> None:
        super().__init__(name=getattr(function, "__name__", "loss"))
        self._function = function

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Any:
        return self._function(y_true, y_pred)


class _ByName(_Builtin):
    def __init__(self, name: str | None) -> None:
        super().__init__(name=name)
        self._loss = _core.Loss(name)

    def _native(self):
        return self._loss


def _last_axis(loss, axis):
    if axis != -1:
        raise ValueError(f"{type(loss).__name__}: axis is {axis}, but the classes are along the last axis in Pando")


def _snake(name):
    return "".join(("_" if i and c.isupper() and not name[i - 1].isupper() else "") + c.lower()
                   for i, c in enumerate(name))


def _function_of(cls, name):
    def function(y_true, y_pred, *args, **kwargs):
        return cls(*args, **kwargs).call(convert(y_true), convert(y_pred))
    function.__name__, function.__doc__, function._loss_class = name, cls.__doc__, cls
    return function


categorical_crossentropy = _function_of(CategoricalCrossentropy, "categorical_crossentropy")
sparse_categorical_crossentropy = _function_of(SparseCategoricalCrossentropy, "sparse_categorical_crossentropy")
binary_crossentropy = _function_of(BinaryCrossentropy, "binary_crossentropy")
mean_squared_error = mse = MSE = _function_of(MeanSquaredError, "mean_squared_error")
mean_absolute_error = mae = MAE = _function_of(MeanAbsoluteError, "mean_absolute_error")
huber = _function_of(Huber, "huber")
log_cosh = logcosh = _function_of(LogCosh, "log_cosh")
hinge = _function_of(Hinge, "hinge")
poisson = _function_of(Poisson, "poisson")
kl_divergence = kullback_leibler_divergence = KLD = _function_of(KLDivergence, "kl_divergence")
cosine_similarity = _function_of(CosineSimilarity, "cosine_similarity")


def get(identifier: Any) -> Any:
    """A loss from its name, its class, an object or a function of (y_true, y_pred)."""
    if isinstance(identifier, Loss):
        return identifier
    if isinstance(identifier, type) and issubclass(identifier, Loss):
        return identifier()
    if isinstance(identifier, str):
        found = globals().get(identifier)
        if isinstance(found, type) and issubclass(found, Loss):
            return found()
        return found._loss_class() if hasattr(found, "_loss_class") else _ByName(identifier)
    if hasattr(identifier, "_loss_class"):
        return identifier._loss_class()
    if callable(identifier):
        return _Function(identifier)
    raise TypeError(f"{identifier!r} is not a loss: give its name, an object or a function of (y_true, y_pred)")

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
