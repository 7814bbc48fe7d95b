# SPDX-License-Identifier: Apache-2.0
"""Keras on virtual IPUs: layers, models, losses, optimizers, data sets.

>>> from pando import keras
>>> model = keras.Sequential([keras.layers.Dense(10, activation="softmax", input_shape=(4,))])
>>> model.count_params()
50
"""
import importlib as _importlib
import sys as _sys
import typing as _typing

from pando.core.versions import VERSIONS as _VERSIONS
from pando.core.nearest import missing_attribute as _missing
from pando.keras import (
    activations, backend, callbacks, datasets, initializers, layers, losses, metrics, models, optimizers,
    regularizers, schedules, utils)
from pando.keras.layers.core import Input
from pando.keras.models import Model, Sequential
from pando.keras.optimizers import Optimizer
from pando.keras.layers.base import Layer

# Upstream has them as modules within others.
optimizers.schedules = schedules
optimizers.legacy = optimizers
optimizers.__path__ = []
_sys.modules["pando.keras.optimizers.schedules"] = schedules
_sys.modules["pando.keras.optimizers.legacy"] = optimizers

__version__ = _VERSIONS["keras"]
__all__ = ["Input", "Layer", "Model", "Optimizer", "Sequential", "activations", "backend", "callbacks", "datasets",
           "initializers", "layers", "losses", "metrics", "models", "optimizers", "regularizers", "utils"]


# Loaded when they are used.
_LAZY = ("config", "ipu", "ops", "random")


if _typing.TYPE_CHECKING:
    from pando.keras import config, ipu, ops, random
else:
    def __getattr__(name):
        if name in _LAZY:
            return _importlib.import_module(f"pando.keras.{name}")
        raise _missing(__name__, name, __all__)
