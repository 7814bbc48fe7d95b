# SPDX-License-Identifier: Apache-2.0
"""Normalisation, and changes of images at random."""
from __future__ import annotations

from typing import Any

from pando.core.hints import Identifier, Sizes
from pando.core.messages import tell_once
from pando.keras import initializers, regularizers
from pando.keras.arguments import refuse, tell_of_seed
from pando.keras.layers.base import Layer


def _one_axis(who, axis):
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    if len(axes) != 1:
        raise ValueError(f"{who}: axis is {axis}, but Pando normalises one axis, the last")
    return int(axes[0])


class BatchNormalization(Layer):
    """Normalises each channel: by the statistics of the batch in training, by moving averages otherwise."""

    def __init__(self, axis: Sizes | None = -1, momentum: float = 0.99, epsilon: float | None = 0.001,
                 center: bool = True, scale: Any = True, beta_initializer: Identifier = "zeros",
                 gamma_initializer: Identifier = "ones", moving_mean_initializer: Identifier = "zeros",
                 moving_variance_initializer: Identifier = "ones", beta_regularizer: Any = None,
                 gamma_regularizer: Any = None, beta_constraint: Any = None, gamma_constraint: Any = None,
                 *, renorm: Any = None, fused: bool | None = None, virtual_batch_size: int | None = None,
                 **kwargs: Any) -> None:
        refuse("BatchNormalization", beta_constraint=beta_constraint, gamma_constraint=gamma_constraint, renorm=renorm,
               virtual_batch_size=virtual_batch_size)
        if fused is not None:
            tell_once("BatchNormalization: fused has no effect in Pando")
        self._make("BatchNormalization", {
            "axis": _one_axis("BatchNormalization", axis),
            "momentum": momentum, "epsilon": epsilon, "center": bool(center), "scale": bool(scale),
            "beta_initializer": initializers.get(beta_initializer)._native(),
            "gamma_initializer": initializers.get(gamma_initializer)._native(),
            "moving_mean_initializer": initializers.get(moving_mean_initializer)._native(),
            "moving_variance_initializer": initializers.get(moving_variance_initializer)._native(),
            "beta_regularizer": regularizers.native(beta_regularizer),
            "gamma_regularizer": regularizers.native(gamma_regularizer)}, **kwargs)


class LayerNormalization(Layer):
    """Normalises each sample along the last axis."""

    def __init__(self, axis: Sizes | None = -1, epsilon: float | None = 0.001, center: bool = True, scale: Any = True,
                 beta_initializer: Identifier = "zeros", gamma_initializer: Identifier = "ones",
                 beta_regularizer: Any = None, gamma_regularizer: Any = None, beta_constraint: Any = None,
                 gamma_constraint: Any = None, **kwargs: Any) -> None:
        refuse("LayerNormalization", beta_regularizer=beta_regularizer, gamma_regularizer=gamma_regularizer,
               beta_constraint=beta_constraint, gamma_constraint=gamma_constraint)
        self._make("LayerNormalization", {
            "axis": _one_axis("LayerNormalization", axis),
            "epsilon": epsilon, "center": bool(center), "scale": bool(scale),
            "beta_initializer": initializers.get(beta_initializer)._native(),
            "gamma_initializer": initializers.get(gamma_initializer)._native()}, **kwargs)


def _bilinear(who, interpolation):
    if interpolation != "bilinear":
        raise NotImplementedError(f"{who}: interpolation={interpolation!r} is not in Pando, which has 'bilinear' only")


def _factor(who, factor):
    if isinstance(factor, (tuple, list)):
        low, high = factor
        if low != -high:
            raise ValueError(f"{who}: the range is {factor}, but must be the same to both sides in Pando")
        factor = high
    return factor


class RandomFlip(Layer):
    """Mirrors images at random, in training."""

    def __init__(self, mode: str = "horizontal_and_vertical", seed: int | None = None, **kwargs: Any) -> None:
        tell_of_seed("RandomFlip", seed)
        self._make("RandomFlip", {"mode": mode}, **kwargs)


class RandomTranslation(Layer):
    """Moves images by up to these parts of their height and width, in training."""

    def __init__(self, height_factor: Any, width_factor: Any, fill_mode: str = "reflect",
                 interpolation: str = "bilinear", seed: int | None = None, fill_value: float = 0.0,
                 **kwargs: Any) -> None:
        tell_of_seed("RandomTranslation", seed)
        _bilinear("RandomTranslation", interpolation)
        self._make("RandomTranslation", {
            "height_factor": _factor("RandomTranslation", height_factor),
            "width_factor": _factor("RandomTranslation", width_factor), "fill_mode": fill_mode,
            "fill_value": fill_value}, **kwargs)


class RandomRotation(Layer):
    """Turns images by up to this part of a full turn, in training."""

    def __init__(self, factor: Any, fill_mode: str = "reflect", interpolation: str = "bilinear",
                 seed: int | None = None, fill_value: float = 0.0, **kwargs: Any) -> None:
        tell_of_seed("RandomRotation", seed)
        _bilinear("RandomRotation", interpolation)
        self._make("RandomRotation", {"factor": _factor("RandomRotation", factor), "fill_mode": fill_mode,
                                      "fill_value": fill_value}, **kwargs)
