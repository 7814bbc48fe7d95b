# SPDX-License-Identifier: Apache-2.0
"""keras.backend: functions on tensors by the names of Keras's backends."""
from __future__ import annotations

import typing as _typing
from typing import Any, Sequence

from pando import _core
from pando.core import ops as _ops
from pando.core.hints import ArrayLike, DTypeLike, Samples, ShapeLike, Sizes
from pando.core.nearest import missing_attribute as _missing
from pando.keras.arguments import check_channels_last as _check_channels_last
from pando.tensors import random as _random

_epsilon = 1e-7


def epsilon() -> Any:
    """The smallest number that Keras adds to avoid a division by zero."""
    return _epsilon


def set_epsilon(value: Any) -> Any:
    """Sets the small number that ``epsilon()`` returns; layers of Pando keep their own."""
    global _epsilon
    _epsilon = float(value)


def floatx() -> Any:
    """The type of weights and tensors."""
    return "float32"


def set_floatx(dtype: DTypeLike) -> Any:
    """Accepts "float32", the type that programs compute in, and refuses others."""
    if str(dtype) != "float32":
        raise ValueError(f"set_floatx: dtype={dtype!r} is not in Pando, which computes in float32")


def image_data_format() -> Any:
    """Images are [batch, height, width, channels]."""
    return "channels_last"


def set_image_data_format(data_format: str | None) -> Any:
    """Accepts "channels_last", the order that layers of Pando have, and refuses others."""
    _check_channels_last("set_image_data_format", data_format)


def clear_session() -> Any:
    """Forgets the variables of the default graph."""
    _core.reset_default_graph()


def backend() -> Any:
    """"pando", the name of the backend."""
    return "pando"


def get_value(x: Samples) -> Any:
    """The value of a variable."""
    return x.numpy() if hasattr(x, "numpy") else x


def set_value(x: Samples, value: Any) -> Any:
    """Gives a variable a value."""
    x.assign(value)


def int_shape(x: Samples) -> Any:
    """The shape as a tuple, with ``None`` for the batch."""
    return tuple(x.shape)


def shape(x: Samples) -> Any:
    """The shape of a tensor."""
    return tuple(x.shape)


def ndim(x: Samples) -> Any:
    """The number of axes of a tensor."""
    return len(x.shape)


def sum(x: Samples, axis: Sizes | None = None, keepdims: bool = False) -> Any:  # noqa: A001, Keras's name
    """The sum along an axis, or of all elements."""
    return _ops.sum(x, axis, keepdims)


def mean(x: Samples, axis: Sizes | None = None, keepdims: bool = False) -> Any:
    """The mean along an axis, or of all elements."""
    return _ops.mean(x, axis, keepdims)


def max(x: Samples, axis: Sizes | None = None, keepdims: bool = False) -> Any:  # noqa: A001
    """The largest along an axis, or of all elements."""
    return _ops.max(x, axis, keepdims)


def concatenate(tensors: Sequence[Any], axis: Sizes | None = -1) -> Any:
    """Joins tensors along an axis."""
    return _ops.concat(tensors, axis if axis >= 0 else axis + len(tensors[0].shape))


def dot(a: ArrayLike, b: ArrayLike) -> Any:
    """The product of two matrices."""
    return _ops.matmul(a, b)


def clip(x: Samples, min_value: float, max_value: float | None) -> Any:
    """The tensor with its elements moved into the range from ``min_value`` to ``max_value``."""
    return _ops.clip(x, min=float(min_value), max=float(max_value))


def l2_normalize(x: Samples, axis: Sizes | None = -1) -> Any:
    """The tensor divided by its norm along an axis."""
    return x / _ops.sqrt(_ops.maximum(_ops.sum(x * x, axis, True), 1e-12))


def flatten(x: Samples) -> Any:
    """The elements of a tensor as a vector."""
    return _ops.reshape(x, (-1,))


def random_normal(shape: ShapeLike | None, mean: float = 0.0, stddev: float = 1.0, dtype: DTypeLike = None,
                  seed: int | None = None) -> Any:
    """Normal numbers, new in each step."""
    return _random.normal(shape, mean, stddev, dtype or "float32", seed)


_SAME = ("abs", "cast", "cos", "elu", "equal", "exp", "expand_dims", "greater", "less", "log", "maximum", "minimum",
         "not_equal", "one_hot", "relu", "reshape", "round", "sigmoid", "sign", "sin", "softmax", "softplus", "sqrt",
         "square", "squeeze", "stack", "std", "stop_gradient", "tanh", "var", "argmax", "argmin", "any", "all")
_SAME_AS = {"pow": "power", "switch": "where", "batch_dot": "matmul"}


# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        if name in _SAME or name in _SAME_AS:
            return getattr(_ops, _SAME_AS.get(name, name))
        raise _missing(__name__, name, [*_SAME, *_SAME_AS, *(key for key in globals() if not key.startswith("_"))])
