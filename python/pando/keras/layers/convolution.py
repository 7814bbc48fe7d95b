# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pooling of images, [batch, height, width, channels]."""
from __future__ import annotations

from typing import Any

from pando.core.hints import Activation, Identifier, Sizes
from pando.keras import activations, initializers, regularizers
from pando.keras.arguments import check_channels_last, refuse
from pando.keras.layers.base import Layer
from pando.keras.layers.options import built_in_class


def _weights(kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer):
    return {"kernel_initializer": initializers.get(kernel_initializer)._native(),
            "bias_initializer": initializers.get(bias_initializer)._native(),
            "kernel_regularizer": regularizers.native(kernel_regularizer),
            "bias_regularizer": regularizers.native(bias_regularizer)}


def _padding(who, padding):
    text = str(padding).lower()
    if text not in ("valid", "same"):
        raise ValueError(f"{who}: padding is {padding!r} but must be 'valid' or 'same'")
    return text


def _check_groups(who, kwargs):
    # Configurations of Keras have it for every convolution.
    if (groups := kwargs.pop("groups", 1)) != 1:
        raise NotImplementedError(f"{who}: groups={groups!r} is not in Pando")


class Conv2D(Layer):
    """Convolution of images, [batch, height, width, channels], with ``filters`` filters.

    kernel_size, strides, dilation_rate: one number, or (height, width). padding: "valid" keeps within the image, "same" fills
    it up with zeros, so that strides of 1 keep its size. groups: parts of the channels that have filters of their own.

    >>> from pando import keras
    >>> keras.layers.Conv2D(8, 3, padding="same")(keras.Input((28, 28, 1))).shape
    TensorShape([None, 28, 28, 8])
    """

    filters: int
    kernel_size: tuple[int, int]
    kernel: Any
    bias: Any

    def __init__(self, filters: int, kernel_size: Sizes, strides: Sizes | None = (1, 1), padding: Any = "valid",
                 data_format: str | None = None, dilation_rate: Sizes = (1, 1), groups: int = 1,
                 activation: Activation = None, use_bias: bool = True,
                 kernel_initializer: Identifier = "glorot_uniform", bias_initializer: Identifier = "zeros",
                 kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
                 kernel_constraint: Any = None, bias_constraint: Any = None, **kwargs: Any) -> None:
        refuse("Conv2D", activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
               bias_constraint=bias_constraint)
        check_channels_last("Conv2D", data_format)
        self._make("Conv2D", {
            "filters": filters, "kernel_size": kernel_size, "strides": strides,
            "padding": _padding("Conv2D", padding), "dilation_rate": dilation_rate, "groups": groups,
            "activation": activations.native(activation), "use_bias": bool(use_bias),
            **_weights(kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer)}, **kwargs)


class Conv2DTranspose(Layer):
    """The transpose of a convolution: enlarges images by its strides."""

    def __init__(self, filters: int, kernel_size: Sizes, strides: Sizes | None = (1, 1), padding: Any = "valid",
                 output_padding: Sizes | None = None, data_format: str | None = None, dilation_rate: Sizes = (1, 1),
                 activation: Activation = None, use_bias: bool = True,
                 kernel_initializer: Identifier = "glorot_uniform", bias_initializer: Identifier = "zeros",
                 kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
                 kernel_constraint: Any = None, bias_constraint: Any = None, **kwargs: Any) -> None:
        refuse("Conv2DTranspose", activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
               bias_constraint=bias_constraint, output_padding=output_padding)
        check_channels_last("Conv2DTranspose", data_format)
        _check_groups("Conv2DTranspose", kwargs)
        self._make("Conv2DTranspose", {
            "filters": filters, "kernel_size": kernel_size, "strides": strides,
            "padding": _padding("Conv2DTranspose", padding), "dilation_rate": dilation_rate,
            "activation": activations.native(activation), "use_bias": bool(use_bias),
            **_weights(kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer)}, **kwargs)


def _depthwise(depthwise_initializer, bias_initializer, depthwise_regularizer, bias_regularizer):
    return {"depthwise_initializer": initializers.get(depthwise_initializer)._native(),
            "bias_initializer": initializers.get(bias_initializer)._native(),
            "depthwise_regularizer": regularizers.native(depthwise_regularizer),
            "bias_regularizer": regularizers.native(bias_regularizer)}


class DepthwiseConv2D(Layer):
    """Convolves each channel by itself, with depth_multiplier filters for each."""

    def __init__(self, kernel_size: Sizes, strides: Sizes | None = (1, 1), padding: Any = "valid",
                 depth_multiplier: int = 1, data_format: str | None = None, dilation_rate: Sizes = (1, 1),
                 activation: Activation = None, use_bias: bool = True,
                 depthwise_initializer: Identifier = "glorot_uniform", bias_initializer: Identifier = "zeros",
                 depthwise_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
                 depthwise_constraint: Any = None, bias_constraint: Any = None, **kwargs: Any) -> None:
        refuse("DepthwiseConv2D", activity_regularizer=activity_regularizer,
               depthwise_constraint=depthwise_constraint, bias_constraint=bias_constraint)
        check_channels_last("DepthwiseConv2D", data_format)
        _check_groups("DepthwiseConv2D", kwargs)
        self._make("DepthwiseConv2D", {
            "kernel_size": kernel_size, "strides": strides, "padding": _padding("DepthwiseConv2D", padding),
            "depth_multiplier": depth_multiplier, "dilation_rate": dilation_rate,
            "activation": activations.native(activation), "use_bias": bool(use_bias),
            **_depthwise(depthwise_initializer, bias_initializer, depthwise_regularizer, bias_regularizer)}, **kwargs)


class SeparableConv2D(Layer):
    """A depthwise convolution, then a 1 x 1 convolution that mixes the channels."""

    def __init__(self, filters: int, kernel_size: Sizes, strides: Sizes | None = (1, 1), padding: Any = "valid",
                 data_format: str | None = None, dilation_rate: Sizes = (1, 1), depth_multiplier: int = 1,
                 activation: Activation = None, use_bias: bool = True,
                 depthwise_initializer: Identifier = "glorot_uniform",
                 pointwise_initializer: Identifier = "glorot_uniform", bias_initializer: Identifier = "zeros",
                 depthwise_regularizer: Any = None, pointwise_regularizer: Any = None, bias_regularizer: Any = None,
                 activity_regularizer: Any = None, depthwise_constraint: Any = None, pointwise_constraint: Any = None,
                 bias_constraint: Any = None, **kwargs: Any) -> None:
        refuse("SeparableConv2D", activity_regularizer=activity_regularizer,
               depthwise_constraint=depthwise_constraint, pointwise_constraint=pointwise_constraint,
               bias_constraint=bias_constraint)
        check_channels_last("SeparableConv2D", data_format)
        _check_groups("SeparableConv2D", kwargs)
        self._make("SeparableConv2D", {
            "filters": filters, "kernel_size": kernel_size, "strides": strides,
            "padding": _padding("SeparableConv2D", padding), "dilation_rate": dilation_rate,
            "depth_multiplier": depth_multiplier, "activation": activations.native(activation),
            "use_bias": bool(use_bias), "pointwise_initializer": initializers.get(pointwise_initializer)._native(),
            "pointwise_regularizer": regularizers.native(pointwise_regularizer),
            **_depthwise(depthwise_initializer, bias_initializer, depthwise_regularizer, bias_regularizer)}, **kwargs)


class _Pooling2D(Layer):
    def __init__(self, pool_size: Sizes = (2, 2), strides: Sizes | None = None, padding: Any = "valid",
                 data_format: str | None = None, **kwargs: Any) -> None:
        kind = built_in_class(type(self)).__name__
        self._make(kind, {"pool_size": pool_size, "strides": strides, "padding": _padding(kind, padding)},
                   data_format=data_format, **kwargs)


class MaxPooling2D(_Pooling2D):
    """The largest value of each window."""


class AveragePooling2D(_Pooling2D):
    """The mean of each window; places beyond the border do not count."""


class _GlobalPooling2D(Layer):
    def __init__(self, data_format: str | None = None, keepdims: bool = False, **kwargs: Any) -> None:
        self._make(built_in_class(type(self)).__name__, {"keepdims": bool(keepdims)}, data_format=data_format, **kwargs)


class GlobalAveragePooling2D(_GlobalPooling2D):
    """The mean of each channel over the whole image."""


class GlobalMaxPooling2D(_GlobalPooling2D):
    """The largest value of each channel in the whole image."""


class ZeroPadding2D(Layer):
    """Puts rows and columns of zeros around images."""

    def __init__(self, padding: Any = (1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        if isinstance(padding, (tuple, list)) and all(isinstance(side, int) for side in padding):
            padding = tuple((side, side) for side in padding)
        self._make("ZeroPadding2D", {"padding": padding}, data_format=data_format, **kwargs)


class UpSampling2D(Layer):
    """Repeats, or interpolates between, rows and columns."""

    def __init__(self, size: Sizes = (2, 2), data_format: str | None = None, interpolation: str = "nearest",
                 **kwargs: Any) -> None:
        self._make("UpSampling2D", {"size": size, "interpolation": interpolation}, data_format=data_format, **kwargs)


Convolution2D, Convolution2DTranspose, Deconvolution2D = Conv2D, Conv2DTranspose, Conv2DTranspose
SeparableConvolution2D, MaxPool2D, AvgPool2D = SeparableConv2D, MaxPooling2D, AveragePooling2D
GlobalAvgPool2D, GlobalMaxPool2D = GlobalAveragePooling2D, GlobalMaxPooling2D
