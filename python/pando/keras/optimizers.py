# SPDX-License-Identifier: Apache-2.0
"""Optimizers. Their counters and learning rates are shared with the models that were compiled with them."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando import _core
from pando.core.messages import tell_once
from pando.core.nearest import attributes_of as _attributes_of
from pando.core.nearest import unknown_argument
from pando.keras import schedules as schedules
from pando.keras.arguments import number

_CLIPS = ("clipnorm", "clipvalue", "global_clipnorm")
_WITHOUT_EFFECT = ("jit_compile", "ema_momentum", "ema_overwrite_frequency", "gradient_aggregator",
                   "gradient_transformers", "experimental_run_tf_function")


class Optimizer:
    """How gradients change weights."""

    _defaults = {}

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        self._name = name or type(self).__name__
        self._config = dict(arguments)
        self._native = _core.make_optimizer(type(self).__name__, _native_arguments(type(self).__name__, arguments))

    @property
    def learning_rate(self) -> Any:
        """The learning rate: a number that can be set, or the schedule."""
        rate = self._config.get("learning_rate")
        if isinstance(rate, schedules.LearningRateSchedule):
            return rate
        return Rate(self._native)

    @learning_rate.setter
    def learning_rate(self, value):
        if callable(value):
            raise TypeError(f"{self._name}: learning_rate can be set to a number only; give a schedule or a function to the "
                            "optimizer when you make it")
        self._native.learning_rate = float(value)

    @property
    def lr(self) -> Any:
        """The older name of ``learning_rate``."""
        return self.learning_rate

    @lr.setter
    def lr(self, value):
        self.learning_rate = value

    @property
    def iterations(self) -> Any:
        """The number of updates done."""
        return self._native.iterations

    def get_config(self) -> Any:
        """The name and the arguments, with the learning rate as it is now."""
        config = {"name": self._name, **self._config}
        rate = config.get("lr", config.get("learning_rate"))
        if not isinstance(rate, schedules.LearningRateSchedule) and not config.get("decay"):
            config["learning_rate"] = self._native.learning_rate
            config.pop("lr", None)
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A new optimizer from what ``get_config`` returned."""
        return cls(**config)

    def minimize(self, loss: Any, var_list: Any, tape: Any = None) -> Any:
        """Refused: Keras's optimizers train in ``fit``."""
        raise NotImplementedError("keras optimizers train in fit(); tf.compat.v1.train has minimize() for computations")

    apply_gradients = minimize


class Rate(float):
    """A learning rate, which behaves as a number and can be set."""

    def __new__(cls, native):
        rate = super().__new__(cls, native.learning_rate)
        rate._native = native
        return rate

    def numpy(self) -> Any:
        """The learning rate as a number."""
        return float(self)

    def read_value(self) -> Any:
        """The learning rate as a number."""
        return float(self)

    def assign(self, value: Any) -> Any:
        """Sets the learning rate, also between epochs of a running ``fit``."""
        self._native.learning_rate = float(value)


def _native_arguments(who, arguments):
    arguments = dict(arguments)
    rate = arguments.get("learning_rate")
    if "lr" in arguments:
        rate = arguments.pop("lr")
    decay = arguments.pop("decay", None)
    if arguments.pop("amsgrad", False):
        raise NotImplementedError(f"{who}: amsgrad is not in Pando")
    if arguments.pop("use_ema", False):
        raise NotImplementedError(f"{who}: use_ema is not in Pando")
    if who != "AdamW" and arguments.pop("weight_decay", None):
        raise NotImplementedError(f"{who}: weight_decay is not in Pando; use AdamW or kernel_regularizer=l2()")
    for name in _WITHOUT_EFFECT:
        if arguments.pop(name, None):
            tell_once(f"{who}: {name} has no effect in Pando")
    if decay:
        rate = schedules.InverseTimeDecay(float(rate), 1, float(decay))
    arguments["learning_rate"] = schedules.native(rate)
    return {name: value for name, value in arguments.items() if value is not None}


_ALLOWED = {*_CLIPS, *_WITHOUT_EFFECT, "lr", "decay", "weight_decay", "use_ema", "amsgrad"}


def _checked(who, kwargs):
    for name in kwargs:
        if name not in _ALLOWED:
            raise unknown_argument(who, name, _ALLOWED)
    return kwargs


def _epsilon(optimizer, value):
    """Keras's own where it is None."""
    return 1e-7 if value is None else number(optimizer, "epsilon", value)


class SGD(Optimizer):
    """Gradient descent, with momentum if it is given."""

    def __init__(self, learning_rate: Any = 0.01, momentum: float = 0.0, nesterov: bool = False,
                 name: str | None = "SGD", **kwargs: Any) -> None:
        super().__init__(name, learning_rate=learning_rate, momentum=number(self, "momentum", momentum),
                         nesterov=bool(nesterov),
                         **_checked("SGD", kwargs))


class Adam(Optimizer):
    """Steps scaled by running means of the gradient and of its square."""

    def __init__(self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.999,
                 epsilon: float | None = 1e-7, amsgrad: bool = False, name: str | None = "Adam", **kwargs: Any) -> None:
        super().__init__(name, learning_rate=learning_rate, beta_1=number(self, "beta_1", beta_1),
                         beta_2=number(self, "beta_2", beta_2),
                         epsilon=_epsilon(self, epsilon), amsgrad=amsgrad,
                         **_checked("Adam", kwargs))


class Nadam(Optimizer):
    """Adam with Nesterov momentum."""

    def __init__(self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.999,
                 epsilon: float | None = 1e-7, name: str | None = "Nadam", **kwargs: Any) -> None:
        super().__init__(name, learning_rate=learning_rate, beta_1=number(self, "beta_1", beta_1),
                         beta_2=number(self, "beta_2", beta_2),
                         epsilon=_epsilon(self, epsilon), **_checked("Nadam", kwargs))


class AdamW(Optimizer):
    """Adam with weight decay that does not go through the gradient."""

    def __init__(self, learning_rate: Any = 0.001, weight_decay: float | None = 0.004, beta_1: float = 0.9,
                 beta_2: float = 0.999, epsilon: float | None = 1e-7, amsgrad: bool = False, name: str | None = "AdamW",
                 **kwargs: Any) -> None:
        super().__init__(name, learning_rate=learning_rate,
                         weight_decay=number(self, "weight_decay", weight_decay),
                         beta_1=number(self, "beta_1", beta_1),
                         beta_2=number(self, "beta_2", beta_2), epsilon=_epsilon(self, epsilon),
                         amsgrad=amsgrad, **_checked("AdamW", kwargs))


class RMSprop(Optimizer):
    """Divides the gradient by a running root mean square."""

    def __init__(self, learning_rate: Any = 0.001, rho: float = 0.9, momentum: float = 0.0,
                 epsilon: float | None = 1e-7, centered: bool = False, name: str | None = "RMSprop",
                 **kwargs: Any) -> None:
        super().__init__(name, learning_rate=learning_rate, rho=number(self, "rho", rho),
                         momentum=number(self, "momentum", momentum),
                         epsilon=_epsilon(self, epsilon), centered=bool(centered),
                         **_checked("RMSprop", kwargs))


class Adagrad(Optimizer):
    """Divides the gradient by the root of the sum of its squares so far."""

    def __init__(self, learning_rate: Any = 0.001, initial_accumulator_value: float = 0.1, epsilon: float | None = 1e-7,
                 name: str | None = "Adagrad", **kwargs: Any) -> None:
        super().__init__(name, learning_rate=learning_rate, epsilon=_epsilon(self, epsilon),
                         initial_accumulator_value=number(self, "initial_accumulator_value",
                                                          initial_accumulator_value),
                         **_checked("Adagrad", kwargs))


adam, sgd, rmsprop, nadam, adagrad = Adam, SGD, RMSprop, Nadam, Adagrad
_CLASSES = {"sgd": SGD, "adam": Adam, "nadam": Nadam, "adamw": AdamW, "rmsprop": RMSprop, "adagrad": Adagrad}


def get(identifier: Any) -> Any:
    """An optimizer from its name, its class, an object or a configuration."""
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, type) and issubclass(identifier, Optimizer):
        return identifier()
    if isinstance(identifier, dict):
        return _CLASSES[identifier["class_name"].lower()](**identifier.get("config", {}))
    if isinstance(identifier, str) and identifier.lower() in _CLASSES:
        return _CLASSES[identifier.lower()]()
    if isinstance(identifier, str):
        _core.Optimizer(identifier)
    raise TypeError(f"{identifier!r} is not an optimizer of pando.keras.optimizers")

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
