# SPDX-License-Identifier: Apache-2.0
"""Layers that join several tensors."""
from __future__ import annotations

from typing import Any

from pando.core import ops
from pando.core.hints import Sizes
from pando.keras.layers.base import Layer


def _several(layer, inputs):
    """The inputs, which must be a list: a single tensor would be taken apart along its batch."""
    if not isinstance(inputs, (list, tuple)) or len(inputs) < 2:
        raise ValueError(f"{type(layer).__name__}: inputs must be a list of at least two tensors, as in "
                         f"{type(layer).__name__}()([a, b])")
    return inputs


class Add(Layer):
    """The sum, element by element."""

    def __init__(self, **kwargs: Any) -> None:
        self._make("Add", {}, **kwargs)


class Multiply(Layer):
    """The product, element by element."""

    def __init__(self, **kwargs: Any) -> None:
        self._make("Multiply", {}, **kwargs)


class Concatenate(Layer):
    """Joins tensors along an axis."""

    def __init__(self, axis: Sizes | None = -1, **kwargs: Any) -> None:
        self._make("Concatenate", {"axis": axis}, **kwargs)


class Subtract(Layer):
    """The first tensor minus the second."""

    def call(self, inputs: Any) -> Any:
        if len(_several(self, inputs)) != 2:
            raise ValueError(f"Subtract takes two tensors, not {len(inputs)}")
        return inputs[0] - inputs[1]


class Average(Layer):
    """The mean, element by element."""

    def call(self, inputs: Any) -> Any:
        total = _several(self, inputs)[0]
        for value in inputs[1:]:
            total = total + value
        return total / len(inputs)


class Maximum(Layer):
    """The largest, element by element."""

    def call(self, inputs: Any) -> Any:
        result = _several(self, inputs)[0]
        for value in inputs[1:]:
            result = ops.maximum(result, value)
        return result


class Minimum(Layer):
    """The smallest, element by element."""

    def call(self, inputs: Any) -> Any:
        result = _several(self, inputs)[0]
        for value in inputs[1:]:
            result = ops.minimum(result, value)
        return result


class Dot(Layer):
    """The product of two tensors summed along an axis of each; with ``normalize`` their cosine."""

    def __init__(self, axes: Sizes, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axes, self.normalize = axes, normalize

    def call(self, inputs: Any) -> Any:
        a, b = _several(self, inputs)
        rank = len(a.shape)
        axes = (self.axes, self.axes) if isinstance(self.axes, int) else tuple(self.axes)
        if rank != 2 or len(b.shape) != 2 or any(axis not in (1, -1) for axis in axes):
            raise ValueError(f"Dot: axes={self.axes!r} of tensors of {rank} and {len(b.shape)} axes are not in Pando, which "
                             "has it for [batch, n] along axis 1; use tf.matmul for others")
        product = ops.sum(a * b, axis=-1, keepdims=True)
        if not self.normalize:
            return product
        size = ops.sum(a * a, axis=-1, keepdims=True) * ops.sum(b * b, axis=-1, keepdims=True)
        return product / ops.maximum(ops.sqrt(size), 1e-7)


def _function(cls, name):
    def merge(inputs, **kwargs):
        return cls(**kwargs)(inputs)
    merge.__name__ = name
    merge.__doc__ = cls.__doc__
    return merge


add, multiply, subtract = _function(Add, "add"), _function(Multiply, "multiply"), _function(Subtract, "subtract")
average, maximum = _function(Average, "average"), _function(Maximum, "maximum")
minimum, concatenate = _function(Minimum, "minimum"), _function(Concatenate, "concatenate")


def dot(inputs: Any, axes: Sizes, normalize: bool = False, **kwargs: Any) -> Any:
    """The product of two tensors summed along an axis of each."""
    return Dot(axes=axes, normalize=normalize, **kwargs)(inputs)
