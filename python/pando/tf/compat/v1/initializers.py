# SPDX-License-Identifier: Apache-2.0
"""Initializers by the names of TensorFlow 1."""
from pando.keras import initializers as _keras

zeros_initializer, ones_initializer = _keras.Zeros, _keras.Ones
glorot_uniform_initializer, glorot_normal_initializer = _keras.GlorotUniform, _keras.GlorotNormal


def constant_initializer(value=0, dtype="float32", **kwargs):
    """All this value."""
    return _keras.Constant(value)


def random_normal_initializer(mean=0.0, stddev=1.0, seed=None, dtype="float32"):
    """Normal numbers."""
    return _keras.RandomNormal(mean, stddev, seed)


def random_uniform_initializer(minval=0.0, maxval=1.0, seed=None, dtype="float32"):
    """Uniform numbers."""
    return _keras.RandomUniform(minval, 1.0 if maxval is None else maxval, seed)


def truncated_normal_initializer(mean=0.0, stddev=1.0, seed=None, dtype="float32"):
    """Normal numbers, drawn again beyond two deviations."""
    return _keras.TruncatedNormal(mean, stddev, seed)
