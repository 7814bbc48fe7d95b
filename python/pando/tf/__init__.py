# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's names on Pando: functions on tensors, tf.data, keras, and the session style in tf.compat.v1."""
from __future__ import annotations

import importlib as _importlib
import typing as _typing
from typing import Any

import numpy as _np

from pando import _core
from pando.core import dtypes as _dtypes
from pando.core.versions import VERSIONS as _VERSIONS
from pando.core.devices import device_scope as _device_scope
from pando.core.hints import DTypeLike
from pando.core.keywords import accepts as _accepts
from pando.core.nearest import missing_attribute as _missing
from pando.tf import compat, data, errors, math, nn, random
from pando.tf.data import TensorSpec
from pando.tensors.functions import *  # noqa: F401,F403, the functions on tensors
from pando.tensors.functions import __all__ as _functions
from pando.tensors.tensor import Tensor, TensorShape, convert as _convert

__version__ = _VERSIONS["tensorflow"]
DType = _dtypes.DType
_family = _dtypes.family("tf")
float16 = half = _family["float16"]
float32, float64 = _family["float32"], _family["float64"]
double, bfloat16 = float64, _family["bfloat16"]
int8, int16, int32, int64 = _family["int8"], _family["int16"], _family["int32"], _family["int64"]
uint8, uint16, uint32, uint64 = _family["uint8"], _family["uint16"], _family["uint32"], _family["uint64"]
bool = _family["bool"]  # noqa: A001
newaxis = None
__all__ = ["DType", "GradientTape", "Tensor", "TensorShape", "TensorSpec", "Variable", "bfloat16", "bool", "compat",
           "config", "constant", "convert_to_tensor", "data", "device", "distribute", "double", "errors",
           "executing_eagerly", "float16", "float32", "float64", "function", "half", "initializers", "int16", "int32",
           "int64", "int8", "is_tensor", "keras", "losses", "math", "metrics", "name_scope", "newaxis", "nn",
           "numpy_function", "optimizers", "py_function", "random", "uint16", "uint32", "uint64", "uint8"]
__all__ += _functions
_LAZY = {"keras": "pando.keras", "initializers": "pando.keras.initializers", "losses": "pando.keras.losses",
         "metrics": "pando.keras.metrics", "optimizers": "pando.keras.optimizers", "distribute": "pando.tf.distribute",
         "config": "pando.tf.config", "experimental": "pando.tf.experimental"}


class Variable:
    """A value that layers and losses may read; it is set outside of programs."""

    @_accepts("aggregation", "caching_device", "import_scope", "shape", "synchronization", "validate_shape",
              "variable_def", constraint=None)
    def __new__(cls, initial_value=None, trainable=True, name=None, dtype=None):
        from pando.keras.variables import Variable as _Variable
        value = _convert(initial_value() if callable(initial_value) else initial_value, dtype)._value
        return _Variable(_core.Parameter(name or "Variable", _np.asarray(value), not not trainable))


def constant(value: Any, dtype: DTypeLike = None, shape: Any = None, name: str | None = "Const") -> Any:
    """A tensor of these values."""
    tensor = _convert(value, dtype)
    if shape is not None:
        tensor = Tensor(_np.broadcast_to(tensor._value, tuple(shape)).copy() if tensor._value.size == 1
                        else tensor._value.reshape(tuple(shape)))
    return tensor


def convert_to_tensor(value: Any, dtype: DTypeLike = None, name: str | None = None, preferred_dtype: DTypeLike = None,
                      dtype_hint: DTypeLike = None) -> Any:
    """A tensor of anything that NumPy makes an array of; a hint gives the type of Python's numbers."""
    hint = dtype_hint if dtype_hint is not None else preferred_dtype
    has_type = hasattr(value, "dtype") or hasattr(value, "_value")
    return _convert(value, hint if dtype is None and not has_type else dtype)


@_accepts("experimental_attributes", "experimental_autograph_options", "experimental_compile",
          "experimental_follow_type_hints", "experimental_implements", "experimental_relax_shapes", "reduce_retracing")
def function(func: Any = None, input_signature: Any = None, autograph: bool = True, jit_compile: Any = None) -> Any:
    """Returns the function itself: Pando compiles whole steps."""
    return func if func is not None else lambda inner: inner


def executing_eagerly() -> Any:
    """Whether functions compute at once."""
    return True


def is_tensor(value: Any) -> Any:
    """Whether it is a tensor."""
    return isinstance(value, Tensor)


def py_function(func: Any, inp: Any, Tout: Any, name: str | None = None) -> Any:
    """What a Python function makes of the values; only in tf.data, where Python then runs for every element."""
    from pando.tensors.functions import values_of
    arrays = [Tensor(value) for value in values_of("py_function", inp)]
    made = func(*arrays)
    if isinstance(made, (tuple, list)):
        return [_convert(value, dtype) for value, dtype in zip(made, Tout)]
    return _convert(made, Tout)


def numpy_function(func: Any, inp: Any, Tout: Any, name: str | None = None, stateful: bool = True) -> Any:
    """The same for a function of NumPy arrays."""
    return py_function(lambda *tensors: func(*[tensor.numpy() for tensor in tensors]), inp, Tout)


class device:
    """Accepted: where a model runs is decided by the scope of an IPUStrategy or by ipu.scopes.ipu_scope."""

    def __init__(self, name: str | None) -> None:
        self._name = str(name)

    def __enter__(self):
        self._scope = None
        if "IPU" in self._name:
            self._scope = _device_scope(self._name)
            self._scope.__enter__()
        return self

    def __exit__(self, *arguments):
        if self._scope is not None:
            self._scope.__exit__(*arguments)


class name_scope:
    """Accepted: layers name themselves."""

    def __init__(self, name: str | None, default_name: str | None = None, values: Any = None) -> None:
        self.name = name or default_name

    def __enter__(self):
        return self.name

    def __exit__(self, *arguments):
        return None


class GradientTape:
    """Not in Pando: gradients are part of the compiled step."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("GradientTape is not in Pando, which compiles whole steps: use model.compile() and fit(), "
                                  "with a loss function of your own and add_loss() for other terms, "
                                  "tf.compat.v1.gradients in a function that ipu.ipu_compiler.compile is given, or "
                                  "pando.torch.compile_step with a module of PyTorch")


if _typing.TYPE_CHECKING:
    from pando import keras
    from pando.keras import initializers, losses, metrics, optimizers
    from pando.tf import config, distribute
else:
    def __getattr__(name):
        if name in _LAZY:
            return _importlib.import_module(_LAZY[name])
        raise _missing(__name__, name, __dir__())


def __dir__():
    return sorted(__all__)
