# SPDX-License-Identifier: Apache-2.0
"""torch on Pando: tensors, modules, optimizers and data, with PyTorch's names and arguments.

    import pando.torch as torch
    from pando import poptorch, torchvision

Tensors compute with NumPy at once. What needs a module, a parameter or a gradient is recorded and runs as one compiled
program when a value is looked at or an optimizer steps; poptorch.trainingModel runs many steps in one call.
"""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando.core.versions import VERSIONS as _VERSIONS
from pando.core.hints import ArrayLike
from pando.core.nearest import missing_attribute as _missing_attribute
from pando.torch import methods as _methods  # noqa: F401, gives tensors their methods
from pando.torch import nn, optim, utils  # noqa: F401
from pando.torch import accelerator, autograd, backends, cuda
from pando.torch.autograd import (enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled)
from pando.torch.creation import (arange, as_tensor, asarray, bernoulli, empty, empty_like, eye, from_dlpack, from_numpy,
                                  full, full_like, get_default_dtype, get_rng_state, initial_seed, linspace, manual_seed,
                                  multinomial, normal, ones, ones_like, rand, rand_like, randint, randn, randn_like,
                                  randperm, seed, set_default_dtype, set_default_tensor_type, set_rng_state, tensor, zeros,
                                  zeros_like)
from pando.torch.devices import Generator
from pando.torch.functions import *  # noqa: F401,F403
from pando.torch.functions import FUNCTIONS as _FUNCTIONS
from pando.torch.serialization import load, save
from pando.torch.tensor import TYPES as _TYPES
from pando.torch.tensor import Size, Tensor, device

__version__ = _VERSIONS["torch"]
float = float32 = _TYPES["float32"]  # noqa: A001
double = float64 = _TYPES["float64"]
half = float16 = _TYPES["float16"]
bfloat16 = _TYPES["bfloat16"]
int = int32 = _TYPES["int32"]  # noqa: A001
long = int64 = _TYPES["int64"]
short = int16 = _TYPES["int16"]
int8, uint8, bool = _TYPES["int8"], _TYPES["uint8"], _TYPES["bool"]  # noqa: A001
strided, contiguous_format, channels_last = "torch.strided", "torch.contiguous_format", "torch.channels_last"
from math import e, inf, nan, pi  # noqa: E402


def _typed(name):
    def make(*data):
        return Tensor(*data).type(name) if not data or not isinstance(data[0], (list, tuple)) else tensor(
            data[0], dtype=_TYPES[name])
    make.__doc__ = f"A tensor of {name} from sizes, or from nested lists of numbers."
    return make


FloatTensor, DoubleTensor, LongTensor, IntTensor, ByteTensor, BoolTensor = map(
    _typed, ("float32", "float64", "int64", "int32", "uint8", "bool"))


def get_num_threads() -> Any:
    """The cores that programs use."""
    import os
    return len(os.sched_getaffinity(0))


def set_num_threads(count: int) -> Any:  # noqa: ARG001
    """Without effect: PANDO_TILES says how many tiles a device has."""


def use_deterministic_algorithms(mode: Any, warn_only: bool = False) -> Any:  # noqa: ARG001
    """Without effect: results are always the same from run to run."""


def set_printoptions(**options: Any) -> Any:
    """How tensors are printed: ``precision``, ``threshold`` and ``linewidth``."""
    import numpy
    numpy.set_printoptions(**{k: v for k, v in options.items() if k in ("precision", "threshold", "linewidth")})


def is_floating_point(input: ArrayLike) -> Any:  # noqa: A002
    """Whether the elements are floats."""
    return input.dtype.is_floating_point


def compile(model: Any = None, **_: Any) -> Any:  # noqa: A001
    """The model itself: what is recorded is compiled anyway."""
    return model if model is not None else (lambda function: function)


__all__ = ["BoolTensor", "ByteTensor", "DoubleTensor", "FloatTensor", "Generator", "IntTensor", "LongTensor", "Size",
           "Tensor", "accelerator", "arange", "as_tensor", "asarray", "autograd", "backends", "bernoulli", "bfloat16",
           "bool", "channels_last", "compile", "contiguous_format", "cuda", "device", "double", "e", "empty",
           "empty_like", "enable_grad", "eye", "float", "float16", "float32", "float64", "from_dlpack", "from_numpy",
           "full", "full_like", "get_default_dtype", "get_num_threads", "get_rng_state", "half", "inf",
           "inference_mode", "initial_seed", "int", "int16", "int32", "int64", "int8", "is_floating_point",
           "is_grad_enabled", "linspace", "load", "long", "manual_seed", "multinomial", "nan", "nn", "no_grad",
           "normal", "ones", "ones_like", "optim", "pi", "rand", "rand_like", "randint", "randn", "randn_like",
           "randperm", "save", "seed", "set_default_dtype", "set_default_tensor_type", "set_grad_enabled",
           "set_num_threads", "set_printoptions", "set_rng_state", "short", "strided", "tensor", "uint8",
           "use_deterministic_algorithms", "utils", "zeros", "zeros_like"]
__all__ += _FUNCTIONS


# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        if name in ("poptorch", "_C"):
            raise AttributeError(name)
        raise _missing_attribute("torch", name, __all__)


def __dir__():
    return __all__
