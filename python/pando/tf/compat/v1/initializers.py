# SPDX-License-Identifier: Apache-2.0
"""Initializers by the names of TensorFlow 1."""
from __future__ import annotations

from typing import Any

from pando.core.hints import DTypeLike
from pando.keras import initializers as _keras

zeros_initializer, ones_initializer = _keras.Zeros, _keras.Ones
glorot_uniform_initializer, glorot_normal_initializer = _keras.GlorotUniform, _keras.GlorotNormal


def constant_initializer(value: Any = 0, dtype: DTypeLike = "float32", verify_shape: bool = False) -> Any:
    """All this value."""
    return _keras.Constant(value)


def random_normal_initializer(mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None,
                              dtype: DTypeLike = "float32") -> Any:
    """Normal numbers."""
    return _keras.RandomNormal(mean, stddev, seed)


def random_uniform_initializer(minval: Any = 0.0, maxval: Any = 1.0, seed: int | None = None,
                               dtype: DTypeLike = "float32") -> Any:
    """Uniform numbers."""
    return _keras.RandomUniform(minval, 1.0 if maxval is None else maxval, seed)


def truncated_normal_initializer(mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None,
                                 dtype: DTypeLike = "float32") -> Any:
    """Normal numbers, drawn again beyond two deviations."""
    return _keras.TruncatedNormal(mean, stddev, seed)
