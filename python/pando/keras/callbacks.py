# SPDX-License-Identifier: Apache-2.0
"""Callbacks: what happens alongside training."""
from __future__ import annotations

import contextlib
import inspect
import typing as _typing
from typing import Any, Sequence

from pando import _core
from pando.core.hints import Function, Logs, Path
from pando.core.messages import tell_once
from pando.core.nearest import attributes_of as _attributes_of
from pando.core.nearest import unknown_argument

_TRAIN = ("on_train_begin", "on_train_end", "on_epoch_begin", "on_epoch_end", "on_train_batch_begin",
          "on_train_batch_end", "on_test_begin", "on_test_end")


class Callback:
    """Derive from it and override what is needed; only those methods are called.

    Batch methods are called for every batch, after the execution that the batch was part of.
    """

    def __init__(self) -> None:
        self.model = None
        self.params = {}

    def set_model(self, model: Any) -> None:
        """Called before training with the model; ``self.model`` is then known."""
        self.model = model

    def set_params(self, params: dict[str, Any]) -> None:
        """Called before training with a dict of "verbose", "epochs" and "steps"."""
        self.params = params

    def on_train_begin(self, logs: Logs = None) -> None:
        """Called once, before the first epoch."""

    def on_train_end(self, logs: Logs = None) -> None:
        """Called once, after the last epoch; ``logs`` are those of that epoch."""

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Called before each epoch; the first epoch is 0."""

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Called after each epoch, and after its validation, with the losses and metrics."""

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Called for each batch of training, after the execution that the batch was part of."""

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Called for each batch of training with its losses and metrics."""

    def on_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """The older name of ``on_train_batch_begin``."""

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """The older name of ``on_train_batch_end``."""

    def on_test_begin(self, logs: Logs = None) -> None:
        """Called before ``evaluate``, and before the validation of ``fit``."""

    def on_test_end(self, logs: Logs = None) -> None:
        """Called after ``evaluate``, and after the validation of ``fit``, with the losses and metrics."""

    def on_predict_begin(self, logs: Logs = None) -> None:
        """Called before ``predict``."""

    def on_predict_end(self, logs: Logs = None) -> None:
        """Called after ``predict``."""

    def _native(self):
        """What C++ calls during fit."""
        return _core.python_callback(self, _overridden(self))

    def _batch(self, batch, logs):
        """Called by C++ after a batch."""
        self.on_train_batch_begin(batch, {})
        self.on_batch_begin(batch, {})
        self.on_train_batch_end(batch, logs)
        self.on_batch_end(batch, logs)


def _overridden(callback):
    """The names of the training methods that the class overrides."""
    def differs(name):
        return getattr(type(callback), name, None) is not getattr(Callback, name) or name in vars(callback)
    names = {name for name in _TRAIN if differs(name)}
    if differs("on_batch_begin") or differs("on_batch_end"):
        names.add("on_train_batch_end")
    return names


def callback_list(who: str, given: Any) -> list[Any]:
    """The callbacks that a user gave to fit: one, a list of them, or None."""
    callbacks = list(given) if isinstance(given, (list, tuple)) else [given] if given is not None else []
    for callback in callbacks:
        if isinstance(callback, type):
            raise TypeError(f"{who}: callbacks has the class {callback.__name__}, but must have objects, such as "
                            f"{callback.__name__}()")
    return callbacks


def native_callbacks(callbacks: Sequence[Any] | None, model: Any, params: dict[str, Any], validates: bool = False) -> Any:
    """The callbacks as C++ takes them, each knowing its model."""
    list_ = []
    for callback in callbacks or []:
        if validates and isinstance(callback, Callback):
            _refuse_batches_of(callback, "test")
        if not hasattr(callback, "_native"):
            callback = _Foreign(callback)
        callback.set_model(model)
        callback.set_params(params)
        list_.append(callback._native())
    return list_


@contextlib.contextmanager
def called_around(what: str, callbacks: Any, model: Any) -> Any:
    """Calls ``on_test_begin`` and ``on_test_end``, or those of "predict", around a block, which fills the logs."""
    given = callback_list("evaluate" if what == "test" else what, callbacks)
    for callback in given:
        _refuse_batches_of(callback, what)
        callback.set_model(model)
    for callback in given:
        getattr(callback, f"on_{what}_begin", _nothing)({})
    logs: dict[str, Any] = {}
    yield logs
    for callback in given:
        getattr(callback, f"on_{what}_end", _nothing)(dict(logs))


def _refuse_batches_of(callback, what):
    for name in (f"on_{what}_batch_begin", f"on_{what}_batch_end"):
        if hasattr(callback, name):
            raise NotImplementedError(f"{type(callback).__name__}.{name} would not be called: Pando calls callbacks "
                                      "before and after evaluate(), predict() and validation, and not for each batch of them")


def _nothing(logs):
    """Stands for a method that a callback lacks."""


class _Foreign(Callback):
    """An object with the methods of a callback that does not derive from Callback."""

    def __init__(self, callback: Any) -> None:
        super().__init__()
        self._callback = callback
        for name in _TRAIN + ("on_batch_begin", "on_batch_end"):
            if hasattr(callback, name):
                setattr(self, name, getattr(callback, name))

    def set_model(self, model: Any) -> Any:
        self._callback.set_model(model)

    def set_params(self, params: dict[str, Any]) -> Any:
        self._callback.set_params(params)


class _Builtin(Callback):
    def __init__(self, **arguments: Any) -> None:
        super().__init__()
        self._arguments = arguments

    def _native(self):
        if type(self).__module__ != __name__:
            raise NotImplementedError(f"{type(self).__name__}: Pando's {type(self).__mro__[1].__name__} cannot be "
                                      "derived from; derive from Callback")
        return _core.make_callback(type(self).__name__, dict(self._arguments))


class ModelCheckpoint(_Builtin):
    """Writes the weights at the end of each epoch."""

    def __init__(self, filepath: Path, monitor: str = "val_loss", verbose: int | str = 0, save_best_only: bool = False,
                 save_weights_only: bool = False, mode: str = "auto", save_freq: str = "epoch", options: Any = None,
                 initial_value_threshold: float | None = None, **kwargs: Any) -> None:
        if save_freq != "epoch" or kwargs.get("period", 1) != 1:
            raise NotImplementedError(f"ModelCheckpoint: save_freq={save_freq!r} is not in Pando, which saves once an "
                                      "epoch; fit(checkpoint_directory=...) "
                                      "writes checkpoints as often as wanted, to resume from")
        for name in kwargs:
            if name not in ("period", "load_weights_on_restart"):
                raise unknown_argument("ModelCheckpoint", name, inspect.signature(ModelCheckpoint).parameters)
        if not save_weights_only:
            tell_once("ModelCheckpoint writes weights; model.save() writes the layers, too")
        path = str(filepath)
        for ending in (".h5", ".hdf5", ".keras", ".weights.h5", ".ckpt", ".tf"):
            if path.endswith(ending):
                path = path[:-len(ending)] + ".safetensors"
                tell_once(f"ModelCheckpoint writes {path}: Pando has .safetensors and .npz files")
                break
        self.filepath = path
        super().__init__(filepath=path, monitor=monitor, verbose=int(verbose), save_best_only=bool(save_best_only),
                         mode=mode, initial_value_threshold=None if initial_value_threshold is None
                         else float(initial_value_threshold))


class EarlyStopping(_Builtin):
    """Ends training when the monitored value has not become better for ``patience`` epochs.

    monitor: a name in the logs, such as "val_loss". min_delta: what counts as better. mode: "min", "max", or "auto", which the
    name decides. restore_best_weights: gives the model the weights of its best epoch at the end.
    """

    def __init__(self, monitor: str = "val_loss", min_delta: float = 0, patience: int = 0, verbose: int | str = 0,
                 mode: str = "auto", baseline: float | None = None, restore_best_weights: bool = False,
                 start_from_epoch: int = 0) -> None:
        if start_from_epoch:
            raise NotImplementedError("EarlyStopping: start_from_epoch is not in Pando")
        super().__init__(monitor=monitor, min_delta=float(min_delta), patience=int(patience), verbose=int(verbose),
                         mode=mode, baseline=None if baseline is None else float(baseline),
                         restore_best_weights=bool(restore_best_weights))


class ReduceLROnPlateau(_Builtin):
    """Multiplies the learning rate by ``factor`` when the monitored value has not become better."""

    def __init__(self, monitor: str = "val_loss", factor: Any = 0.1, patience: int = 10, verbose: int | str = 0,
                 mode: str = "auto", min_delta: float = 1e-4, cooldown: int = 0, min_lr: float = 0.0,
                 **kwargs: Any) -> None:
        for name in kwargs:
            if name != "epsilon":
                raise unknown_argument("ReduceLROnPlateau", name, inspect.signature(ReduceLROnPlateau).parameters)
        super().__init__(monitor=monitor, factor=float(factor), patience=int(patience), verbose=int(verbose),
                         mode=mode, min_delta=float(kwargs.get("epsilon", min_delta)), cooldown=int(cooldown),
                         min_lr=float(min_lr))


class LearningRateScheduler(_Builtin):
    """Sets the learning rate of each epoch by a function of the epoch, and of the rate so far if it takes two."""

    def __init__(self, schedule: Function, verbose: int | str = 0) -> None:
        try:
            two = len(inspect.signature(schedule).parameters) > 1
        except (TypeError, ValueError):
            two = True
        super().__init__(schedule=schedule if two else lambda epoch, rate: schedule(epoch), verbose=int(verbose))
        inner = self._arguments["schedule"]
        self._arguments["schedule"] = lambda epoch, rate: float(inner(epoch, rate))


class CSVLogger(_Builtin):
    """Writes one line per epoch."""

    def __init__(self, filename: Path, separator: str = ",", append: bool = False) -> None:
        super().__init__(filename=str(filename), separator=separator, append=bool(append))


class TerminateOnNaN(_Builtin):
    """Ends training at the first batch whose loss is not a number."""


class LambdaCallback(Callback):
    """Calls functions of the program."""

    def __init__(self, on_epoch_begin: Function | None = None, on_epoch_end: Function | None = None,
                 on_train_begin: Function | None = None, on_train_end: Function | None = None,
                 on_train_batch_begin: Function | None = None, on_train_batch_end: Function | None = None,
                 on_batch_begin: Function | None = None, on_batch_end: Function | None = None) -> None:
        super().__init__()
        given = {name: function for name, function in locals().items() if name.startswith("on_") and function}
        for name, function in given.items():
            setattr(self, name, function)


class ProgbarLogger(Callback):
    """The progress bar is always there; ``verbose`` of fit chooses its form."""


class TensorBoard(Callback):
    """Accepted so that scripts run; Pando writes pages about a run instead."""

    def __init__(self, log_dir: Path = "logs", **kwargs: Any) -> None:
        super().__init__()
        tell_once("TensorBoard has no effect in Pando; fit(profile='run.html') writes a page about a run")


class History(Callback):
    """What fit returns: ``history``, one list of values per epoch for each loss and metric, and ``epoch``."""

    def __init__(self, native: Any = None) -> None:
        super().__init__()
        self.history = native.curves() if native is not None else {}
        self.epoch = list(native.epochs) if native is not None else []

    def _repr_html_(self):
        from pando.keras.html import history_html
        return history_html(self)

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
