# SPDX-License-Identifier: Apache-2.0
"""tf.nn: activations, convolutions and losses of each sample."""
from pando.core import ops
from pando.core.dispatch import call
from pando.core.nearest import missing_attribute as _missing
from pando.keras import activations as _activations
from pando.tf.tensor import convert


def _named(name, doc):
    """An activation: as an argument of a layer it stands for the name."""
    activation = name

    def function(features, *args, name=None, **kwargs):
        # Looked up here, as the two modules import each other.
        return getattr(_activations, activation)(convert(features), *args, **kwargs)
    function.__name__, function.__doc__, function._keras_name = activation, doc, activation
    return function


relu = _named("relu", "max(x, 0).")
sigmoid = _named("sigmoid", "1 / (1 + exp(-x)).")
tanh = _named("tanh", "The hyperbolic tangent.")
elu = _named("elu", "x, or exp(x) - 1 where x is negative.")
selu = _named("selu", "elu with the two constants that keep mean and variance.")
gelu = _named("gelu", "x times the normal distribution's share below x.")
silu = swish = _named("silu", "x * sigmoid(x).")
softplus = _named("softplus", "log(1 + exp(x)).")
softsign = _named("softsign", "x / (|x| + 1).")
softmax = _named("softmax", "Probabilities along the last axis.")
log_softmax = _named("log_softmax", "The logarithms of softmax.")


def relu6(features, name=None):
    """min(max(x, 0), 6)."""
    return _activations.relu6(convert(features))


def leaky_relu(features, alpha=0.2, name=None):
    """x, or alpha * x where x is negative."""
    return ops.leaky_relu(convert(features), alpha=float(alpha))


def dropout(x, rate=0.5, keep_prob=None, name=None, **kwargs):
    """Sets this part of the values to 0 and scales the others up, in training."""
    from pando.keras.layers import Dropout
    return Dropout(float(rate if keep_prob is None else 1 - keep_prob))(x, training=True)


def bias_add(value, bias, data_format=None, name=None):
    """Adds a bias along the last axis."""
    return convert(value) + bias


def _sizes(value):
    if isinstance(value, int):
        return [value, value]
    return list(value)[1:3] if len(value) == 4 else list(value)


def conv2d(input, filters=None, strides=1, padding="VALID", data_format="NHWC", dilations=1, name=None, filter=None):
    """Convolution of images, [batch, height, width, channels]."""
    if data_format not in (None, "NHWC"):
        raise ValueError(f"conv2d: data_format is {data_format!r}, but Pando has 'NHWC' only")
    return call("conv2d", convert(input), filters if filters is not None else filter, strides=_sizes(strides),
                padding=padding.lower(), dilations=_sizes(dilations))


def max_pool(input, ksize=2, strides=2, padding="VALID", data_format="NHWC", name=None, value=None):
    """The largest value of each window."""
    return call("max_pool", convert(input), window=_sizes(ksize), strides=_sizes(strides), padding=padding.lower())


def avg_pool(input, ksize=2, strides=2, padding="VALID", data_format="NHWC", name=None, value=None):
    """The mean of each window."""
    return call("average_pool", convert(input), window=_sizes(ksize), strides=_sizes(strides),
                padding=padding.lower())


max_pool2d, avg_pool2d = max_pool, avg_pool


def softmax_cross_entropy_with_logits(labels=None, logits=None, axis=-1, name=None, dim=-1, _sentinel=None):
    """One loss for each sample, from one-hot labels."""
    return ops.softmax_cross_entropy(convert(logits), convert(labels))


softmax_cross_entropy_with_logits_v2 = softmax_cross_entropy_with_logits


def sparse_softmax_cross_entropy_with_logits(labels=None, logits=None, name=None, _sentinel=None):
    """One loss for each sample, from class numbers."""
    return call("sparse_softmax_cross_entropy", convert(logits), convert(labels))


def sigmoid_cross_entropy_with_logits(labels=None, logits=None, name=None, _sentinel=None):
    """One loss for each element, from yes-or-no labels."""
    return ops.sigmoid_cross_entropy(convert(logits), convert(labels))


def l2_loss(t, name=None):
    """Half the sum of squares."""
    value = convert(t)
    return ops.sum(value * value) * 0.5


def l2_normalize(x, axis=None, epsilon=1e-12, name=None):
    """The tensor divided by its norm."""
    value = convert(x)
    return value / ops.sqrt(ops.maximum(ops.sum(value * value, axis, True), epsilon))


def embedding_lookup(params, ids, name=None, **kwargs):
    """Rows of a table by their numbers."""
    return ops.gather(convert(params), convert(ids))


def __getattr__(name):
    raise _missing(__name__, name, [key for key in globals() if not key.startswith("_")])
