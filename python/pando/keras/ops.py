# SPDX-License-Identifier: Apache-2.0
"""keras.ops: functions on tensors by the names of Keras 3, which are NumPy's."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando.core import ops as _ops
from pando.core.hints import DTypeLike, Samples, Sizes
from pando.core.nearest import missing_attribute as _missing
from pando.keras import activations as _activations
from pando.keras.arguments import refuse as _refuse
from pando.tensors import functions as _functions
from pando.tensors.tensor import convert as _convert


def convert_to_tensor(x: Samples, dtype: DTypeLike = None, sparse: bool | None = None) -> Any:
    """A tensor of anything that NumPy makes an array of."""
    _refuse("convert_to_tensor", sparse=sparse)
    return _convert(x, dtype)


def convert_to_numpy(x: Samples) -> Any:
    """The values as a NumPy array."""
    return _convert(x).numpy()


def shape(x: Samples) -> Any:
    """The sizes, as a tuple."""
    return tuple(_convert(x).shape)


def sum(x: Samples, axis: Sizes | None = None, keepdims: bool = False) -> Any:  # noqa: A001, NumPy's name
    """The sum over the axes; integers narrower than int32 are summed in that."""
    x = _convert(x)
    return _functions.reduce_sum(_ops.cast(x, "int32") if x.dtype.is_integer and x.dtype.size < 4 else x, axis, keepdims)


def mean(x: Samples, axis: Sizes | None = None, keepdims: bool = False) -> Any:
    """The mean over the axes."""
    return _ops.mean(_convert(x), axis, keepdims)


def max(x: Samples, axis: Sizes | None = None, keepdims: bool = False, initial: Any = None) -> Any:  # noqa: A001
    """The largest over the axes."""
    _refuse("max", initial=initial)
    return _functions.reduce_max(x, axis, keepdims)


def min(x: Samples, axis: Sizes | None = None, keepdims: bool = False, initial: Any = None) -> Any:  # noqa: A001
    """The smallest over the axes."""
    _refuse("min", initial=initial)
    return _functions.reduce_min(x, axis, keepdims)


def concatenate(xs: Any, axis: Sizes | None = 0) -> Any:
    """Joins tensors along an axis."""
    return _functions.concat(xs, axis)


def clip(x: Samples, x_min: Any, x_max: Any) -> Any:
    """Elements between two limits."""
    return _functions.clip_by_value(x, x_min, x_max)


def var(x: Samples, axis: Sizes | None = None, keepdims: bool = False) -> Any:
    """The variance over the axes."""
    return _ops.var(_convert(x), axis, keepdims)


def std(x: Samples, axis: Sizes | None = None, keepdims: bool = False) -> Any:
    """The standard deviation over the axes."""
    return _ops.std(_convert(x), axis, keepdims)


def _named(name, doc):
    """An activation of anything that NumPy makes an array of; as an argument of a layer it stands for the name."""
    activation = getattr(_activations, name)

    def function(features, *args, name=None, **kwargs):
        return activation(_convert(features), *args, **kwargs)
    function.__name__, function.__doc__, function._keras_name = activation.__name__, doc, activation.__name__
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


def relu6(features: Any, name: str | None = None) -> Any:
    """min(max(x, 0), 6)."""
    return _activations.relu6(_convert(features))


def leaky_relu(x: Samples, negative_slope: float = 0.2) -> Any:
    """x, or negative_slope * x where x is negative."""
    return _activations.leaky_relu(_convert(x), negative_slope)


_SAME = {"power": "pow", "where": "where", "dot": "matmul", "copy": "identity"}


# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        found = getattr(_functions, _SAME.get(name, name), None)
        if found is not None and (_SAME.get(name, name) in _functions.__all__):
            return found
        raise _missing(__name__, name, [*_functions.__all__, *(key for key in globals() if not key.startswith("_"))])
