# SPDX-License-Identifier: Apache-2.0
"""Layers of general use: Dense, Embedding, Activation, Dropout, shapes, inputs."""
from __future__ import annotations

from typing import Any, Sequence

from pando import _core
from pando.core.hints import Activation, DTypeLike, Identifier, ShapeLike
from pando.keras import activations, initializers, regularizers
from pando.keras.arguments import refuse, tell_of_seed
from pando.keras.layers.base import Layer
from pando.tensors.tensor import Tensor, wrap


def Input(shape: ShapeLike | None = None, batch_size: int | None = None, name: str | None = None,
          dtype: DTypeLike = None, sparse: bool | None = None, tensor: Any = None, ragged: bool | None = None,
          type_spec: Any = None, *, batch_shape: ShapeLike | None = None, **kwargs: Any) -> Tensor:
    """A symbolic input of samples of this shape, without the batch."""
    refuse("Input", sparse=sparse, ragged=ragged, tensor=tensor, type_spec=type_spec)
    if batch_shape is None:
        batch_shape = kwargs.pop("batch_input_shape", None)
    if kwargs:
        raise TypeError(f"Input() has no argument '{next(iter(kwargs))}'")
    if batch_shape is not None:
        shape = tuple(batch_shape)[1:]
    if shape is None:
        raise ValueError("Input: give the shape of a sample, as in Input(shape=(28, 28))")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(size is None for size in shape):
        raise ValueError(f"Input: the shape is {shape}, but sizes other than the batch must be known in Pando")
    return wrap(_core.input(shape, str(getattr(dtype, "name", dtype) or "float32"), name or ""))


class InputLayer(Layer):
    """The input of a Sequential model: samples of this shape, without the batch."""

    def __init__(self, input_shape: Any = None, batch_size: int | None = None, dtype: DTypeLike = None,
                 name: str | None = None, shape: ShapeLike | None = None, batch_shape: ShapeLike | None = None,
                 batch_input_shape: ShapeLike | None = None, **kwargs: Any) -> None:
        refuse("InputLayer", sparse=kwargs.pop("sparse", None), ragged=kwargs.pop("ragged", None))
        batch_shape = batch_shape or batch_input_shape
        shape = shape or input_shape or (tuple(batch_shape)[1:] if batch_shape else None)
        if shape is None:
            raise ValueError("InputLayer: give the shape of a sample, as in InputLayer((28, 28))")
        self._make("InputLayer", {"shape": tuple(shape), "dtype": str(getattr(dtype, "name", dtype) or "float32")},
                   name=name, **kwargs)


class Dense(Layer):
    """Fully connected: activation(x . kernel + bias) along the last axis.

    units: the size of the output. activation: a name such as "relu", or a function. The first layer of a model may say the
    shape of a sample by ``input_shape``.

    >>> from pando import keras
    >>> keras.layers.Dense(10, activation="relu", input_shape=(4,)).units
    10
    """

    units: int
    kernel: Any
    bias: Any

    def __init__(self, units: int, activation: Activation = None, use_bias: bool = True,
                 kernel_initializer: Identifier = "glorot_uniform", bias_initializer: Identifier = "zeros",
                 kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
                 kernel_constraint: Any = None, bias_constraint: Any = None, **kwargs: Any) -> None:
        refuse("Dense", activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
               bias_constraint=bias_constraint)
        self._make("Dense", {
            "units": units, "activation": activations.native(activation), "use_bias": bool(use_bias),
            "kernel_initializer": initializers.get(kernel_initializer)._native(),
            "bias_initializer": initializers.get(bias_initializer)._native(),
            "kernel_regularizer": regularizers.native(kernel_regularizer),
            "bias_regularizer": regularizers.native(bias_regularizer)}, **kwargs)


class Embedding(Layer):
    """Looks integers in [0, input_dim) up in a table [input_dim, output_dim]."""

    input_dim: int
    output_dim: int
    embeddings: Any

    def __init__(self, input_dim: int, output_dim: int, embeddings_initializer: Identifier = "uniform",
                 embeddings_regularizer: Any = None, activity_regularizer: Any = None,
                 embeddings_constraint: Any = None, mask_zero: bool = False, input_length: int | None = None,
                 **kwargs: Any) -> None:
        refuse("Embedding", activity_regularizer=activity_regularizer, embeddings_constraint=embeddings_constraint,
               mask_zero=mask_zero)
        if input_length is not None and not any(key in kwargs for key in ("input_shape", "batch_input_shape")):
            kwargs["input_shape"] = (input_length,)
        initializer = "random_uniform" if embeddings_initializer == "uniform" else embeddings_initializer
        self._make("Embedding", {
            "input_dim": input_dim, "output_dim": output_dim,
            "embeddings_initializer": initializers.get(initializer)._native(),
            "embeddings_regularizer": regularizers.native(embeddings_regularizer)}, **kwargs)


class Flatten(Layer):
    """Joins all axes but the batch into one."""

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        self._make("Flatten", {}, data_format=data_format, **kwargs)


class Reshape(Layer):
    """The same elements in another shape; one size may be -1."""

    target_shape: tuple[int, ...]

    def __init__(self, target_shape: Sequence[int], **kwargs: Any) -> None:
        self._make("Reshape", {"target_shape": tuple(target_shape)}, **kwargs)


class Permute(Layer):
    """Puts axes into another order; axes count from 1, the batch stays where it is."""

    dims: tuple[int, ...]

    def __init__(self, dims: Sequence[int], **kwargs: Any) -> None:
        self._make("Permute", {"dims": list(dims)}, **kwargs)


class Dropout(Layer):
    """In training, sets this part of the values to 0 and scales the others up."""

    rate: float

    def __init__(self, rate: float, noise_shape: ShapeLike | None = None, seed: int | None = None,
                 **kwargs: Any) -> None:
        refuse("Dropout", noise_shape=noise_shape)
        tell_of_seed("Dropout", seed)
        self._make("Dropout", {"rate": rate}, **kwargs)


class Activation(Layer):
    """An activation as a layer of its own."""

    activation: Any

    def __init__(self, activation: Activation, **kwargs: Any) -> None:
        self._make("Activation", {"activation": activations.native(activation)}, **kwargs)


class ReLU(Layer):
    """max(x, 0), with a slope for negative values and an upper limit if they are given."""

    def __init__(self, max_value: float | None = None, negative_slope: float | None = 0.0, threshold: float = 0.0,
                 **kwargs: Any) -> None:
        refuse("ReLU", threshold=threshold or None)
        self._make("ReLU", {"max_value": max_value, "negative_slope": negative_slope or 0.0}, **kwargs)


class LeakyReLU(Layer):
    """x, or alpha * x where x is negative."""

    alpha: float

    def __init__(self, alpha: float | None = 0.3, *, negative_slope: float | None = None, **kwargs: Any) -> None:
        self._make("LeakyReLU", {"alpha": alpha if negative_slope is None else negative_slope}, **kwargs)


class Rescaling(Layer):
    """x * scale + offset: 1 / 255 maps bytes to [0, 1]."""

    def __init__(self, scale: Any, offset: float = 0.0, **kwargs: Any) -> None:
        self._make("Rescaling", {"scale": scale, "offset": offset}, **kwargs)
