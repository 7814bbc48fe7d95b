# SPDX-License-Identifier: Apache-2.0
"""Arguments that every layer of Keras takes, and those that are accepted because they change nothing here."""
from __future__ import annotations

from typing import Any

from pando.core.hints import DTypeLike
from pando.core.messages import tell_once
from pando.core.nearest import suggestion

_SHAPES = ("input_shape", "batch_input_shape", "input_dim")
_WITHOUT_EFFECT = ("batch_size", "dynamic", "autocast")


def common_arguments(who: str, dtype: DTypeLike = None, **kwargs: Any) -> Any:
    """Checks the keyword arguments that a layer passes on to ``Layer``."""
    name = getattr(dtype, "name", dtype)
    if name not in (None, "float32", "int32", "int64", "uint8", "bool", "float64", "mixed_bfloat16"):
        raise ValueError(f"{who}: dtype is {dtype!r}, but layers of Pando compute in float32")
    tell_of_dtype(who, dtype)
    for key, value in kwargs.items():
        if key in _SHAPES:
            continue
        if key == "data_format":
            check_channels_last(who, value)
        elif key == "weights":
            raise ValueError(f"{who}: weights= is not in Pando; call set_weights() once the layer is built")
        elif key == "activity_regularizer":
            if value is not None:
                raise ValueError(f"{who}: activity_regularizer is not in Pando; add the term in a loss function")
        elif key in _WITHOUT_EFFECT:
            if value is not None:
                tell_once(f"{who}: {key} has no effect in Pando")
        else:
            known = list(_SHAPES) + ["data_format", "dtype", "name", "trainable", "activity_regularizer", *_WITHOUT_EFFECT]
            raise TypeError(f"{who} has no argument '{key}'{suggestion(key, known)}")


def check_channels_last(who: str, data_format: str | None) -> Any:
    """Images are [batch, height, width, channels] here."""
    if data_format not in (None, "channels_last"):
        raise ValueError(f"{who}: data_format is {data_format!r}, but Pando has 'channels_last' only; "
                         "move the channels to the last axis")


def input_shape_of(kwargs: Any) -> Any:
    """The shape of a sample, from any of the arguments that give it."""
    if kwargs.get("input_shape") is not None:
        shape = kwargs["input_shape"]
        return (shape,) if isinstance(shape, int) else tuple(shape)
    if kwargs.get("batch_input_shape") is not None:
        return tuple(kwargs["batch_input_shape"])[1:]
    if kwargs.get("input_dim") is not None:
        return (kwargs["input_dim"],)
    return None


def number(layer: Any, name: str, value: Any) -> float:
    """The argument of a layer as a float. Raises TypeError naming both if it is not a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{type(layer).__name__}: {name} cannot be {value!r}") from None


def whole(layer: Any, name: str, value: Any) -> int:
    """The same as an int, for a number without a fraction."""
    if number(layer, name, value) != int(value):
        raise TypeError(f"{type(layer).__name__}: {name} cannot be {value!r}")
    return int(value)


def tell_of(who: str, **arguments: Any) -> None:
    """Says that those of the arguments that are given have no effect."""
    for name, value in arguments.items():
        if value is not None and value is not False:
            tell_once(f"{who}: {name} has no effect in Pando")


def tell_of_dtype(who: str, dtype: DTypeLike) -> None:
    """Says that another type than that of all computations has no effect."""
    name = getattr(dtype, "name", dtype)
    if name not in (None, "float32"):
        tell_once(f"{who}: dtype={name!r} has no effect in Pando, which computes in float32")


def tell_of_seed(who: str, seed: int | None) -> None:
    """Says that the seed of a layer has no effect."""
    if seed is not None:
        tell_once(f"{who}: the seed of a layer has no effect in Pando; tf.random.set_seed() decides")


def refuse(who: str, **arguments: Any) -> Any:
    """Raises for the first argument that is not None: it would change the result, and Pando does not have it."""
    for name, value in arguments.items():
        if value is not None and value is not False:
            raise NotImplementedError(f"{who}: {name}={value!r} is not in Pando")
