# SPDX-License-Identifier: Apache-2.0
"""Activations: functions of each element, or of the last axis."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando.core import ops
from pando.core.hints import Activation, Function, Samples, Sizes
from pando.core.nearest import suggestion
from pando.core.nearest import attributes_of as _attributes_of
from pando.core.structure import flatten
from pando.tensors.tensor import as_symbol, wrap


def linear(x: Samples) -> Any:
    """x."""
    return x


def relu(x: Samples, negative_slope: float | None = 0.0, max_value: float | None = None, threshold: float = 0.0,
         alpha: float | None = None) -> Any:
    """max(x, 0)."""
    slope = negative_slope if alpha is None else alpha
    if threshold:
        raise NotImplementedError("relu: a threshold is not in Pando")
    result = ops.leaky_relu(x, alpha=slope) if slope else ops.relu(x)
    return result if max_value is None else ops.minimum(result, max_value)


def relu6(x: Samples) -> Any:
    """min(max(x, 0), 6)."""
    return relu(x, max_value=6.0)


def leaky_relu(x: Samples, negative_slope: float | None = 0.2) -> Any:
    """x, or a part of x where x is negative."""
    return ops.leaky_relu(x, alpha=negative_slope)


def elu(x: Samples, alpha: float | None = 1.0) -> Any:
    """x, or alpha * (exp(x) - 1) where x is negative."""
    return ops.elu(x, alpha=alpha)


def selu(x: Samples) -> Any:
    """elu with the two constants that keep mean and variance."""
    return ops.elu(x, alpha=1.67326324235437728) * 1.05070098735548049


def softmax(x: Samples, axis: Sizes | None = -1) -> Any:
    """Probabilities along an axis."""
    return ops.softmax(x, axis)


def log_softmax(x: Samples, axis: Sizes | None = -1) -> Any:
    """The logarithms of softmax."""
    return ops.log_softmax(x, axis)


def sigmoid(x: Samples) -> Any:
    """1 / (1 + exp(-x))."""
    return ops.sigmoid(x)


def hard_sigmoid(x: Samples) -> Any:
    """0.2 * x + 0.5, between 0 and 1."""
    return ops.clip(x * 0.2 + 0.5, min=0.0, max=1.0)


def tanh(x: Samples) -> Any:
    """The hyperbolic tangent."""
    return ops.tanh(x)


def gelu(x: Samples, approximate: bool | str = False) -> Any:
    """x times the normal distribution's share below x."""
    return ops.gelu_tanh(x) if approximate else ops.gelu(x)


def silu(x: Samples) -> Any:
    """x * sigmoid(x)."""
    return ops.silu(x)


def softplus(x: Samples) -> Any:
    """log(1 + exp(x))."""
    return ops.softplus(x)


def softsign(x: Samples) -> Any:
    """x / (|x| + 1)."""
    return x / (ops.abs(x) + 1.0)


def exponential(x: Samples) -> Any:
    """exp(x)."""
    return ops.exp(x)


def mish(x: Samples) -> Any:
    """x * tanh(softplus(x))."""
    return x * ops.tanh(ops.softplus(x))


swish = silu
# C++ has these under the same names.
_NATIVE = ("linear", "relu", "sigmoid", "tanh", "softmax", "log_softmax", "softplus", "softsign", "elu", "selu",
           "leaky_relu", "gelu", "silu", "exponential", "hard_sigmoid")
_KNOWN = _NATIVE + ("relu6", "swish", "mish")
_native_names = {id(globals()[name]): name for name in _NATIVE}


def get(identifier: Any) -> Any:
    """The function of a name; functions stay as they are, None is linear."""
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        if identifier not in _KNOWN:
            raise ValueError(f"unknown activation {identifier!r}{suggestion(identifier, _KNOWN)}")
        return globals()[identifier]
    if callable(identifier):
        return identifier
    raise TypeError(f"{identifier!r} is not an activation: give a name or a function")


def serialize(activation: Activation) -> Any:
    """The name of an activation."""
    return getattr(activation, "__name__", str(activation))


def native(identifier: Any) -> Any:
    """What C++ takes: a name that it knows, or a function of a list of symbols."""
    function = get(identifier)
    name = getattr(function, "_keras_name", None) or _native_names.get(id(function))
    return name if name is not None else symbol_function(function)


def symbol_function(function: Function) -> Any:
    """A function of tensors as C++ calls it while it builds a graph: from symbols to a list of symbols."""
    def call(*symbols):
        tensors = [wrap(symbol) for symbol in symbols]
        return [as_symbol(leaf, like=tensors) for leaf in flatten(function(*tensors))]
    call.__name__ = getattr(function, "__name__", type(function).__name__)
    call.function = function
    return call

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
