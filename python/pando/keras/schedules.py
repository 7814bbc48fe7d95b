# SPDX-License-Identifier: Apache-2.0
"""Learning rates over time: functions of the number of updates done, computed inside of the program."""
from __future__ import annotations

import typing as _typing
from typing import Any, Sequence

from pando import _core
from pando.core import ops
from pando.core.nearest import attributes_of as _attributes_of
from pando.keras.activations import symbol_function


class LearningRateSchedule:
    """Derive from it and write ``__call__(self, step)`` with tensors: it is traced once."""

    def __call__(self, step: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __call__(self, step)")

    def _native(self):
        return symbol_function(self)

    def get_config(self) -> Any:
        """The arguments that the schedule was made with."""
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A new schedule from what ``get_config`` returned."""
        return cls(**config)


class _Builtin(LearningRateSchedule):
    def _native(self):
        return _core.make_schedule(type(self).__name__, self.get_config())

    def __call__(self, step: Any) -> Any:
        import numpy as np
        from pando.keras.eager import run_function
        return run_function(symbol_function(lambda s: self._formula(s)), [np.float32(step).reshape(())])[0]


class ExponentialDecay(_Builtin):
    """initial * decay_rate ^ (updates / decay_steps)."""

    def __init__(self, initial_learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False,
                 name: str | None = None) -> None:
        self.initial_learning_rate, self.decay_steps = float(initial_learning_rate), float(decay_steps)
        self.decay_rate, self.staircase = float(decay_rate), bool(staircase)

    def _formula(self, step):
        turns = step / self.decay_steps
        return self.initial_learning_rate * ops.power(self.decay_rate, ops.floor(turns) if self.staircase else turns)


class CosineDecay(_Builtin):
    """Follows half a cosine from the first rate to alpha times the first rate."""

    def __init__(self, initial_learning_rate: float, decay_steps: int, alpha: float | None = 0.0,
                 name: str | None = None) -> None:
        self.initial_learning_rate, self.decay_steps = float(initial_learning_rate), float(decay_steps)
        self.alpha = float(alpha)

    def _formula(self, step):
        part = ops.cos(ops.minimum(step / self.decay_steps, 1.0) * 3.141592653589793) * 0.5 + 0.5
        return self.initial_learning_rate * (part * (1 - self.alpha) + self.alpha)


class PolynomialDecay(_Builtin):
    """Goes from the first rate to end_learning_rate by a polynomial."""

    def __init__(self, initial_learning_rate: float, decay_steps: int, end_learning_rate: float = 0.0001,
                 power: float = 1.0, cycle: bool = False, name: str | None = None) -> None:
        if cycle:
            raise NotImplementedError("PolynomialDecay: cycle=True is not in Pando")
        self.initial_learning_rate, self.decay_steps = float(initial_learning_rate), float(decay_steps)
        self.end_learning_rate, self.power = float(end_learning_rate), float(power)

    def _formula(self, step):
        left = 1.0 - ops.minimum(step / self.decay_steps, 1.0)
        return (self.initial_learning_rate - self.end_learning_rate) * left**self.power + self.end_learning_rate


class PiecewiseConstantDecay(_Builtin):
    """values[i] up to and including update number boundaries[i]; the last value after all boundaries."""

    def __init__(self, boundaries: Sequence[float], values: Any, name: str | None = None) -> None:
        self.boundaries, self.values = [float(b) for b in boundaries], [float(v) for v in values]
        if len(self.values) != len(self.boundaries) + 1:
            raise ValueError(f"PiecewiseConstantDecay: {len(self.boundaries)} boundaries need "
                             f"{len(self.boundaries) + 1} values, not {len(self.values)}")

    def _formula(self, step):
        rate = step * 0.0 + self.values[0]
        for boundary, value in zip(self.boundaries, self.values[1:]):
            rate = ops.where(step > boundary, step * 0.0 + value, rate)
        return rate


class InverseTimeDecay(LearningRateSchedule):
    """initial / (1 + decay_rate * updates / decay_steps)."""

    def __init__(self, initial_learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False,
                 name: str | None = None) -> None:
        self.initial_learning_rate, self.decay_steps = float(initial_learning_rate), float(decay_steps)
        self.decay_rate, self.staircase = float(decay_rate), bool(staircase)

    def __call__(self, step: Any) -> Any:
        turns = step / self.decay_steps
        return self.initial_learning_rate / (1.0 + self.decay_rate * (ops.floor(turns) if self.staircase else turns))


def native(rate: float) -> Any:
    """What C++ takes for a learning rate: a number, a schedule, or a function that is called before each execution."""
    if isinstance(rate, LearningRateSchedule):
        return rate._native()
    if isinstance(rate, type):
        raise TypeError(f"learning_rate is the class {rate.__name__}, but must be an object, such as {rate.__name__}(...)")
    if callable(rate):
        return _core.called_rate(lambda: float(rate()))
    if rate is None:
        raise TypeError("learning_rate is None, but must be a number, a schedule or a function")
    return float(rate)

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
