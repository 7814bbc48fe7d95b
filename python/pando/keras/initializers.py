# SPDX-License-Identifier: Apache-2.0
"""Initializers: the first values of weights."""
from __future__ import annotations

import typing as _typing
from typing import Any

import numpy as np

from pando import _core
from pando.core.hints import DTypeLike, Function, ShapeLike
from pando.core.nearest import attributes_of as _attributes_of
from pando.core.nearest import suggestion
from pando.tensors.tensor import Tensor as _Tensor


class Initializer:
    """Derive from it and write ``__call__(self, shape, dtype=None)``."""

    def __call__(self, shape: ShapeLike | None, dtype: DTypeLike = None, **kwargs: Any) -> Any:
        values = self._native_initializer().draw(tuple(shape), getattr(self, "seed", None))
        return _Tensor(np.asarray(values, dtype=str(getattr(dtype, "name", dtype) or "float32")))

    def _native_initializer(self):
        raise NotImplementedError(f"{type(self).__name__} has no __call__(self, shape, dtype=None)")

    def _native(self):
        """What C++ takes: its own initializer, or a function from a shape to an array."""
        if type(self).__call__ is Initializer.__call__:
            native = self._native_initializer()
            seed = getattr(self, "seed", None)
            return native if seed is None else _core.seeded_initializer(native, int(seed))
        return _function(self)

    def get_config(self) -> Any:
        """The arguments that the initializer was made with."""
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A new initializer from what ``get_config`` returned."""
        return cls(**config)


def _function(call):
    def draw(shape):
        return np.asarray(call(tuple(shape), "float32"), dtype=np.float32)
    draw.__name__ = getattr(call, "__name__", type(call).__name__)
    draw.function = call
    return draw


class _Function(Initializer):
    def __init__(self, function: Function) -> None:
        self._called = function

    def __call__(self, shape: ShapeLike | None, dtype: DTypeLike = None, **kwargs: Any) -> Any:
        return self._called(shape, dtype)


class _Named(Initializer):
    _name = ""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed

    def _native_initializer(self):
        return _core.make_initializer(self._name, {})


class Zeros(_Named):
    """All 0."""
    _name = "zeros"

    def __init__(self) -> None:
        super().__init__()


class Ones(_Named):
    """All 1."""
    _name = "ones"

    def __init__(self) -> None:
        super().__init__()


class GlorotUniform(_Named):
    """Uniform, variance 2 / (inputs + outputs); the default of kernels."""
    _name = "glorot_uniform"


class GlorotNormal(_Named):
    """Truncated normal, variance 2 / (inputs + outputs)."""
    _name = "glorot_normal"


class HeUniform(_Named):
    """Uniform, variance 2 / inputs."""
    _name = "he_uniform"


class HeNormal(_Named):
    """Truncated normal, variance 2 / inputs."""
    _name = "he_normal"


class LecunUniform(_Named):
    """Uniform, variance 1 / inputs."""
    _name = "lecun_uniform"


class LecunNormal(_Named):
    """Truncated normal, variance 1 / inputs."""
    _name = "lecun_normal"


class Constant(Initializer):
    """All this value."""

    def __init__(self, value: Any = 0.0) -> None:
        self.value = value

    def _native_initializer(self):
        return _core.make_initializer("Constant", {"value": float(self.value)})


class Identity(Initializer):
    """The identity matrix times ``gain``."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def _native_initializer(self):
        return _core.make_initializer("Identity", {"gain": float(self.gain)})


class Orthogonal(Initializer):
    """A random matrix with orthogonal rows or columns, times ``gain``."""

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        self.gain, self.seed = gain, seed

    def _native_initializer(self):
        return _core.make_initializer("Orthogonal", {"gain": float(self.gain)})


class RandomNormal(Initializer):
    """Normal with this mean and deviation."""

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def _native_initializer(self):
        return _core.make_initializer(type(self).__name__, {"mean": float(self.mean), "stddev": float(self.stddev)})


class TruncatedNormal(RandomNormal):
    """Normal, with values beyond two deviations drawn again."""


class RandomUniform(Initializer):
    """Uniform in [minval, maxval)."""

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def _native_initializer(self):
        return _core.make_initializer("RandomUniform", {"minval": float(self.minval), "maxval": float(self.maxval)})


class VarianceScaling(Initializer):
    """Random numbers of variance scale / n, n being what ``mode`` names."""

    def __init__(self, scale: Any = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal",
                 seed: int | None = None) -> None:
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def _native_initializer(self):
        return _core.make_initializer("VarianceScaling", {"scale": float(self.scale), "mode": self.mode,
                                                          "distribution": self.distribution})


zeros, ones, constant, identity, orthogonal = Zeros, Ones, Constant, Identity, Orthogonal
random_normal, random_uniform, truncated_normal = RandomNormal, RandomUniform, TruncatedNormal
variance_scaling, glorot_uniform, glorot_normal = VarianceScaling, GlorotUniform, GlorotNormal
he_uniform, he_normal, lecun_uniform, lecun_normal = HeUniform, HeNormal, LecunUniform, LecunNormal


class _ByName(Initializer):
    def __init__(self, name: str | None) -> None:
        self._initializer = _core.Initializer(name)

    def _native_initializer(self):
        return self._initializer


def _from_config(entry):
    name = entry["class_name"]
    found = globals().get(name)
    if not (isinstance(found, type) and issubclass(found, Initializer)) or name.startswith("_"):
        raise ValueError(f"unknown initializer {name!r}{suggestion(name, globals())}")
    return found(**(entry.get("config") or {}))


def get(identifier: Any) -> Any:
    """An initializer from its name, its class, its configuration, an object or a function of a shape and a type."""
    if identifier is None:
        return GlorotUniform()
    if isinstance(identifier, str):
        found = globals().get(identifier)
        if isinstance(found, type) and issubclass(found, Initializer) and not identifier.startswith("_"):
            return found()
        return _ByName(identifier)
    if isinstance(identifier, type):
        return identifier()
    if isinstance(identifier, dict):
        return _from_config(identifier)
    if isinstance(identifier, Initializer):
        return identifier
    if callable(identifier):
        return _Function(identifier)
    raise TypeError(f"{identifier!r} is not an initializer: give its name, an object or a function")

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
