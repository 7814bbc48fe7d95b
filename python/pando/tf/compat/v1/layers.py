# SPDX-License-Identifier: Apache-2.0
"""tf.layers of TensorFlow 1: layers of Keras that are called at once."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando.core.hints import Activation, Sizes
from pando.core.keywords import accepts as _accepts
from pando.core.nearest import attributes_of as _attributes_of
from pando.keras import layers as _layers


@_accepts("reuse")
def dense(inputs: Any, units: int, activation: Activation = None, use_bias: bool = True,
          kernel_initializer: Any = None, bias_initializer: Any = "zeros", kernel_regularizer: Any = None,
          bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
          bias_constraint: Any = None, trainable: bool = True, name: str | None = None) -> Any:
    """Fully connected."""
    return _layers.Dense(units, activation=activation, use_bias=use_bias,
                         kernel_initializer=kernel_initializer or "glorot_uniform", bias_initializer=bias_initializer,
                         kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                         activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                         bias_constraint=bias_constraint, trainable=trainable, name=name)(inputs)


@_accepts("reuse")
def conv2d(inputs: Any, filters: Any, kernel_size: Sizes, strides: Any = (1, 1), padding: Any = "valid",
           data_format: str | None = "channels_last", dilation_rate: Any = (1, 1), activation: Activation = None,
           use_bias: bool = True, kernel_initializer: Any = None, bias_initializer: Any = "zeros",
           kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
           kernel_constraint: Any = None, bias_constraint: Any = None, trainable: bool = True,
           name: str | None = None) -> Any:
    """Convolution of images."""
    return _layers.Conv2D(filters, kernel_size, strides=strides, padding=padding, data_format=data_format,
                          dilation_rate=dilation_rate, activation=activation, use_bias=use_bias,
                          kernel_initializer=kernel_initializer or "glorot_uniform", bias_initializer=bias_initializer,
                          kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                          activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                          bias_constraint=bias_constraint, trainable=trainable, name=name)(inputs)


def max_pooling2d(inputs: Any, pool_size: Sizes, strides: Any, padding: Any = "valid",
                  data_format: str | None = "channels_last", name: str | None = None) -> Any:
    """The largest value of each window."""
    return _layers.MaxPooling2D(pool_size, strides, padding, data_format=data_format, name=name)(inputs)


def average_pooling2d(inputs: Any, pool_size: Sizes, strides: Any, padding: Any = "valid",
                      data_format: str | None = "channels_last", name: str | None = None) -> Any:
    """The mean of each window."""
    return _layers.AveragePooling2D(pool_size, strides, padding, data_format=data_format, name=name)(inputs)


def flatten(inputs: Any, name: str | None = None, data_format: str | None = "channels_last") -> Any:
    """Joins all axes but the batch into one."""
    return _layers.Flatten(data_format, name=name)(inputs)


def dropout(inputs: Any, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None, training: Any = False,
            name: str | None = None) -> Any:
    """In training, sets this part of the values to 0."""
    return _layers.Dropout(rate, noise_shape, seed, name=name)(inputs, training=training)


@_accepts("adjustment", "fused", "renorm_clipping", "renorm_momentum", "reuse", renorm=False, virtual_batch_size=None)
def batch_normalization(inputs: Any, axis: Any = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True,
                        scale: bool = True, beta_initializer: Any = "zeros", gamma_initializer: Any = "ones",
                        moving_mean_initializer: Any = "zeros", moving_variance_initializer: Any = "ones",
                        beta_regularizer: Any = None, gamma_regularizer: Any = None, beta_constraint: Any = None,
                        gamma_constraint: Any = None, training: Any = False, trainable: bool = True,
                        name: str | None = None) -> Any:
    """Normalises each channel."""
    return _layers.BatchNormalization(
        axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer, moving_mean_initializer,
        moving_variance_initializer, beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint,
        trainable=trainable, name=name)(inputs, training=training)


Dense, Conv2D, Flatten, Dropout, MaxPooling2D = (
    _layers.Dense, _layers.Conv2D, _layers.Flatten, _layers.Dropout, _layers.MaxPooling2D)

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
