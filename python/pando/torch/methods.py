# SPDX-License-Identifier: Apache-2.0
"""The methods of torch.Tensor that are functions of torch, and those that change a tensor in place."""
from __future__ import annotations

from typing import Any

import numpy as np

from pando.torch import functions
from pando.torch.creation import generator_of
from pando.torch.tensor import Tensor

_INPLACE = ("add", "sub", "mul", "div", "pow", "neg", "abs", "sqrt", "exp", "log", "tanh", "sigmoid", "relu", "floor",
            "ceil", "round", "square", "clamp", "masked_fill", "unsqueeze", "squeeze")
_TYPES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32", "byte": "uint8",
          "bool": "bool", "bfloat16": "bfloat16"}


def _named(method, name, doc):
    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", doc
    return method


def _in_place(name):
    function = getattr(functions, name)

    def method(self, *arguments: Any, **keywords: Any) -> Tensor:
        return self._set(function(self, *arguments, **keywords))
    return _named(method, name + "_", f"As {name}(), in place: the tensor takes the result, and is returned.")


def _as_type(name, dtype):
    def method(self, memory_format: Any = None) -> Tensor:  # noqa: ARG001
        return self.type(dtype)
    return _named(method, name, f"The tensor as torch.{dtype}.")


def _drawn(self, draw, generator):
    return self._set(Tensor(np.asarray(draw(generator_of(generator), tuple(self.shape)))))


def uniform_(self, from_: float = 0.0, to: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fills the tensor with numbers between two bounds, and returns it."""
    return _drawn(self, lambda source, shape: source.uniform(from_, to, shape), generator)


def normal_(self, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fills the tensor with normally distributed numbers, and returns it."""
    return _drawn(self, lambda source, shape: source.normal(mean, std, shape), generator)


def bernoulli_(self, p: float = 0.5, *, generator: Any = None) -> Tensor:
    """Fills the tensor with ones of probability p, else zeros, and returns it."""
    return _drawn(self, lambda source, shape: source.random(shape) < p, generator)


def random_(self, from_: int = 0, to: int | None = None, *, generator: Any = None) -> Tensor:
    """Fills the tensor with whole numbers from ``from_`` to before ``to``; random_(to) begins at 0."""
    low, high = (from_, to) if to is not None else (0, from_ or 2**31)
    return _drawn(self, lambda source, shape: source.integers(low, high, shape), generator)


def zero_(self) -> Tensor:
    """Fills the tensor with zeros, and returns it."""
    return self._set(0)


def fill_(self, value: float) -> Tensor:
    """Fills the tensor with one value, and returns it."""
    return self._set(value)


def copy_(self, src: Any, non_blocking: bool = False) -> Tensor:  # noqa: ARG001
    """Takes the values of another tensor, and returns this one."""
    return self._set(src)


def _new(name):
    def method(self, *arguments: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:  # noqa: ARG001
        from pando.torch import creation
        return getattr(creation, name)(*arguments, dtype=dtype or self.dtype, requires_grad=requires_grad)
    return _named(method, f"new_{name}", f"As torch.{name}(), with the type of this tensor.")


def type_as(self, other: Tensor) -> Tensor:
    """The tensor as the type of the other."""
    return self.type(other.dtype)


def install():
    """Gives tensors their methods."""
    for name in functions.METHODS:
        if name not in Tensor.__dict__:
            setattr(Tensor, name, getattr(functions, name))
    for name in _INPLACE:
        setattr(Tensor, name + "_", _in_place(name))
    for name, dtype in _TYPES.items():
        setattr(Tensor, name, _as_type(name, dtype))
    for name in ("zeros", "ones", "empty", "full", "tensor"):
        setattr(Tensor, f"new_{name}", _new(name))
    for method in (uniform_, normal_, bernoulli_, random_, zero_, fill_, copy_, type_as):
        setattr(Tensor, method.__name__, method)


install()
