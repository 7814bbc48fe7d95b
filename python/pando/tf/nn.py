# SPDX-License-Identifier: Apache-2.0
"""tf.nn: activations, convolutions and losses of each sample."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando.core import ops
from pando.core.dispatch import call
from pando.core.keywords import accepts as _accepts
from pando.core.nearest import missing_attribute as _missing
from pando.keras import ops as _keras
from pando.tensors.tensor import convert

relu, relu6, elu, selu, gelu = _keras.relu, _keras.relu6, _keras.elu, _keras.selu, _keras.gelu
sigmoid, tanh, softmax, log_softmax = _keras.sigmoid, _keras.tanh, _keras.softmax, _keras.log_softmax
silu, swish, softplus, softsign = _keras.silu, _keras.swish, _keras.softplus, _keras.softsign


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Any:
    """x, or alpha * x where x is negative."""
    return ops.leaky_relu(convert(features), alpha=float(alpha))


@_accepts("seed", noise_shape=None)
def dropout(x: Any, rate: Any = 0.5, *, keep_prob: Any = None, name: str | None = None) -> Any:
    """Sets this part of the values to 0 and scales the others up, in training."""
    from pando.keras.layers import Dropout
    return Dropout(float(rate if keep_prob is None else 1 - keep_prob))(x, training=True)


def _channels_last(who, data_format):
    if data_format is not None and not str(data_format).endswith("C"):
        raise ValueError(f"{who}: data_format is {data_format!r}, but Pando has 'NHWC' only")


def _either(who, **names):
    """The one that is given of an argument's newer and older name."""
    given = [value for value in names.values() if value is not None]
    if len(given) != 1:
        raise TypeError(f"{who}: give one of {' and '.join(names)}, not {'both' if given else 'neither'}")
    return given[0]


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Any:
    """Adds a bias along the last axis."""
    _channels_last("bias_add", data_format)
    return convert(value) + bias


def _sizes(value):
    if isinstance(value, int):
        return [value, value]
    return list(value)[1:3] if len(value) == 4 else list(value)


def conv2d(input: Any, filters: Any = None, strides: Any = 1, padding: Any = "VALID", data_format: str | None = "NHWC",
           dilations: int = 1, name: str | None = None, filter: Any = None) -> Any:
    """Convolution of images, [batch, height, width, channels]."""
    _channels_last("conv2d", data_format)
    return call("conv2d", convert(input), _either("conv2d", filters=filters, filter=filter), strides=_sizes(strides),
                padding=padding.lower(), dilations=_sizes(dilations))


def max_pool(input: Any = None, ksize: Any = 2, strides: Any = 2, padding: Any = "VALID", data_format: str | None = "NHWC",
             name: str | None = None, value: Any = None) -> Any:
    """The largest value of each window."""
    _channels_last("max_pool", data_format)
    images = convert(_either("max_pool", input=input, value=value))
    return call("max_pool", images, window=_sizes(ksize), strides=_sizes(strides), padding=padding.lower())


def avg_pool(input: Any = None, ksize: Any = 2, strides: Any = 2, padding: Any = "VALID", data_format: str | None = "NHWC",
             name: str | None = None, value: Any = None) -> Any:
    """The mean of each window."""
    _channels_last("avg_pool", data_format)
    images = convert(_either("avg_pool", input=input, value=value))
    return call("average_pool", images, window=_sizes(ksize), strides=_sizes(strides), padding=padding.lower())


max_pool2d, avg_pool2d = max_pool, avg_pool


def _by_name(who, sentinel):
    if sentinel is not None:
        raise TypeError(f"{who}: give labels= and logits= by name, and no _sentinel")


def softmax_cross_entropy_with_logits(labels: Any = None, logits: Any = None, axis: Any = -1, name: str | None = None,
                                      dim: Any = -1, _sentinel: Any = None) -> Any:
    """One loss for each sample, from one-hot labels."""
    _by_name("softmax_cross_entropy_with_logits", _sentinel)
    for name, value in (("axis", axis), ("dim", dim)):
        if value not in (-1, None):
            raise NotImplementedError(f"softmax_cross_entropy_with_logits: {name}={value!r} is not in Pando, whose classes "
                                      "are along the last axis")
    return ops.softmax_cross_entropy(convert(logits), convert(labels))


softmax_cross_entropy_with_logits_v2 = softmax_cross_entropy_with_logits


def sparse_softmax_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None,
                                             _sentinel: Any = None) -> Any:
    """One loss for each sample, from class numbers."""
    _by_name("sparse_softmax_cross_entropy_with_logits", _sentinel)
    return call("sparse_softmax_cross_entropy", convert(logits), convert(labels))


def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None,
                                      _sentinel: Any = None) -> Any:
    """One loss for each element, from yes-or-no labels."""
    _by_name("sigmoid_cross_entropy_with_logits", _sentinel)
    return ops.sigmoid_cross_entropy(convert(logits), convert(labels))


def l2_loss(t: Any, name: str | None = None) -> Any:
    """Half the sum of squares."""
    value = convert(t)
    return ops.sum(value * value) * 0.5


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None) -> Any:
    """The tensor divided by its norm."""
    value = convert(x)
    return value / ops.sqrt(ops.maximum(ops.sum(value * value, axis, True), epsilon))


@_accepts("validate_indices", partition_strategy="mod", max_norm=None)
def embedding_lookup(params: Any, ids: Any, *, name: str | None = None) -> Any:
    """Rows of a table by their numbers."""
    return ops.gather(convert(params), convert(ids))


# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        raise _missing(__name__, name, [key for key in globals() if not key.startswith("_")])
