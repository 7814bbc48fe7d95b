# SPDX-License-Identifier: Apache-2.0
"""tf.layers of TensorFlow 1: layers of Keras that are called at once."""
from pando.keras import layers as _layers


def dense(inputs, units, activation=None, use_bias=True, name=None, reuse=None, trainable=True, **kwargs):
    """Fully connected."""
    return _layers.Dense(units, activation=activation, use_bias=use_bias, name=name, trainable=trainable,
                         **_known(kwargs))(inputs)


def conv2d(inputs, filters, kernel_size, strides=(1, 1), padding="valid", activation=None, use_bias=True, name=None,
           reuse=None, data_format="channels_last", **kwargs):
    """Convolution of images."""
    return _layers.Conv2D(filters, kernel_size, strides=strides, padding=padding, activation=activation,
                          use_bias=use_bias, name=name, data_format=data_format, **_known(kwargs))(inputs)


def max_pooling2d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    """The largest value of each window."""
    return _layers.MaxPooling2D(pool_size, strides, padding, data_format=data_format, name=name)(inputs)


def average_pooling2d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None):
    """The mean of each window."""
    return _layers.AveragePooling2D(pool_size, strides, padding, data_format=data_format, name=name)(inputs)


def flatten(inputs, name=None, data_format="channels_last"):
    """Joins all axes but the batch into one."""
    return _layers.Flatten(name=name)(inputs)


def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    """In training, sets this part of the values to 0."""
    return _layers.Dropout(rate, name=name)(inputs, training=training)


def batch_normalization(inputs, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, training=False,
                        name=None, **kwargs):
    """Normalises each channel."""
    return _layers.BatchNormalization(axis, momentum, epsilon, center, scale, name=name)(inputs, training=training)


def _known(kwargs):
    return {key: value for key, value in kwargs.items() if value is not None and key.endswith(
        ("_initializer", "_regularizer"))}


Dense, Conv2D, Flatten, Dropout, MaxPooling2D = (
    _layers.Dense, _layers.Conv2D, _layers.Flatten, _layers.Dropout, _layers.MaxPooling2D)
