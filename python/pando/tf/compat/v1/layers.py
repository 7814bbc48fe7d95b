# SPDX-License-Identifier: Apache-2.0
"""tf.layers of TensorFlow 1: layers of Keras that are called at once."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando.core.hints import Activation, Sizes
from pando.core.nearest import attributes_of as _attributes_of
from pando.keras import layers as _layers


def dense(inputs: Any, units: int, activation: Activation = None, use_bias: bool = True, name: str | None = None,
          reuse: Any = None, trainable: bool = True, **kwargs: Any) -> Any:
    """Fully connected."""
    return _layers.Dense(units, activation=activation, use_bias=use_bias, name=name, trainable=trainable,
                         **_known(kwargs))(inputs)


def conv2d(inputs: Any, filters: Any, kernel_size: Sizes, strides: Any = (1, 1), padding: Any = "valid",
           activation: Activation = None, use_bias: bool = True, name: str | None = None, reuse: Any = None,
           data_format: str | None = "channels_last", **kwargs: Any) -> Any:
    """Convolution of images."""
    return _layers.Conv2D(filters, kernel_size, strides=strides, padding=padding, activation=activation,
                          use_bias=use_bias, name=name, data_format=data_format, **_known(kwargs))(inputs)


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
    return _layers.Flatten(name=name)(inputs)


def dropout(inputs: Any, rate: Any = 0.5, noise_shape: Any = None, seed: int | None = None, training: Any = False,
            name: str | None = None) -> Any:
    """In training, sets this part of the values to 0."""
    return _layers.Dropout(rate, name=name)(inputs, training=training)


def batch_normalization(inputs: Any, axis: Any = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True,
                        scale: bool = True, training: Any = False, name: str | None = None, **kwargs: Any) -> Any:
    """Normalises each channel."""
    return _layers.BatchNormalization(axis, momentum, epsilon, center, scale, name=name)(inputs, training=training)


def _known(kwargs):
    return {key: value for key, value in kwargs.items() if value is not None and key.endswith(
        ("_initializer", "_regularizer"))}


Dense, Conv2D, Flatten, Dropout, MaxPooling2D = (
    _layers.Dense, _layers.Conv2D, _layers.Flatten, _layers.Dropout, _layers.MaxPooling2D)

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
