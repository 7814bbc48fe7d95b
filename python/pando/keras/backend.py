# SPDX-License-Identifier: Apache-2.0
"""keras.backend: functions on tensors by the names of Keras's backends."""
from pando import _core
from pando.core import ops as _ops
from pando.core.nearest import missing_attribute as _missing

_epsilon = 1e-7


def epsilon():
    """The smallest number that Keras adds to avoid a division by zero."""
    return _epsilon


def set_epsilon(value):
    global _epsilon
    _epsilon = float(value)


def floatx():
    """The type of weights and tensors."""
    return "float32"


def set_floatx(dtype):
    if str(dtype) != "float32":
        raise ValueError(f"set_floatx: {dtype!r} is not in Pando, which computes in float32")


def image_data_format():
    """Images are [batch, height, width, channels]."""
    return "channels_last"


def set_image_data_format(data_format):
    from pando.keras.arguments import check_channels_last
    check_channels_last("set_image_data_format", data_format)


def clear_session():
    """Forgets the variables of the default graph."""
    _core.reset_default_graph()


def backend():
    return "pando"


def get_value(x):
    """The value of a variable."""
    return x.numpy() if hasattr(x, "numpy") else x


def set_value(x, value):
    """Gives a variable a value."""
    x.assign(value)


def int_shape(x):
    return tuple(x.shape)


def shape(x):
    return tuple(x.shape)


def ndim(x):
    return len(x.shape)


def sum(x, axis=None, keepdims=False):  # noqa: A001, Keras's name
    return _ops.sum(x, axis, keepdims)


def mean(x, axis=None, keepdims=False):
    return _ops.mean(x, axis, keepdims)


def max(x, axis=None, keepdims=False):  # noqa: A001
    return _ops.max(x, axis, keepdims)


def concatenate(tensors, axis=-1):
    return _ops.concat(tensors, axis if axis >= 0 else axis + len(tensors[0].shape))


def dot(a, b):
    return _ops.matmul(a, b)


def clip(x, min_value, max_value):
    return _ops.clip(x, min=float(min_value), max=float(max_value))


def l2_normalize(x, axis=-1):
    """The tensor divided by its norm along an axis."""
    return x / _ops.sqrt(_ops.maximum(_ops.sum(x * x, axis, True), 1e-12))


def flatten(x):
    return _ops.reshape(x, (-1,))


def random_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Normal numbers, new in each step."""
    from pando.tf import random
    return random.normal(shape, mean, stddev)


_SAME = ("abs", "cast", "cos", "elu", "equal", "exp", "expand_dims", "greater", "less", "log", "maximum", "minimum",
         "not_equal", "one_hot", "relu", "reshape", "round", "sigmoid", "sign", "sin", "softmax", "softplus", "sqrt",
         "square", "squeeze", "stack", "std", "stop_gradient", "tanh", "var", "argmax", "argmin", "any", "all")
_SAME_AS = {"pow": "power", "switch": "where", "batch_dot": "matmul"}


def __getattr__(name):
    if name in _SAME or name in _SAME_AS:
        return getattr(_ops, _SAME_AS.get(name, name))
    raise _missing(__name__, name, [*_SAME, *_SAME_AS, *(key for key in globals() if not key.startswith("_"))])
