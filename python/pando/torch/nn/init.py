# SPDX-License-Identifier: Apache-2.0
"""torch.nn.init: values for parameters, in place."""
from __future__ import annotations

import math
import typing as _typing
from typing import Any

import numpy as np

from pando.core.nearest import attributes_of as _attributes_of
from pando.torch.creation import generator_of


def calculate_gain(nonlinearity: str, param: Any = None) -> Any:
    """The factor by which an activation makes its input smaller."""
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param)**2))
    known = {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}
    if nonlinearity not in (*known, "linear", "sigmoid", "conv1d", "conv2d", "conv3d", "conv_transpose2d"):
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return known.get(nonlinearity, 1.0)


def _fans(tensor):
    shape = tuple(tensor.shape)
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    area = int(np.prod(shape[2:]))
    return shape[1] * area, shape[0] * area


def _set(tensor, array):
    tensor._set(np.asarray(array, np.float32))
    return tensor


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Fills the tensor with numbers between ``a`` and ``b``, and returns it."""
    return _set(tensor, generator_of(generator).uniform(a, b, tuple(tensor.shape)))


def normal_(tensor: Any, mean: Any = 0.0, std: Any = 1.0, generator: Any = None) -> Any:
    """Fills the tensor with normally distributed numbers, and returns it."""
    return _set(tensor, generator_of(generator).normal(mean, std, tuple(tensor.shape)))


def trunc_normal_(tensor: Any, mean: Any = 0.0, std: Any = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Any = None) -> Any:
    """Fills the tensor with normally distributed numbers between ``a`` and ``b``, and returns it."""
    draw = generator_of(generator).normal
    values = draw(mean, std, tuple(tensor.shape))
    while (outside := (values < a) | (values > b)).any():
        values[outside] = draw(mean, std, int(outside.sum()))
    return _set(tensor, values)


def constant_(tensor: Any, val: float) -> Any:
    """Fills the tensor with one value, and returns it."""
    return _set(tensor, np.full(tuple(tensor.shape), val))


def ones_(tensor: Any) -> Any:
    """Fills the tensor with ones, and returns it."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    """Fills the tensor with zeros, and returns it."""
    return constant_(tensor, 0.0)


def eye_(tensor: Any) -> Any:
    """Makes the matrix the unit matrix, and returns it."""
    return _set(tensor, np.eye(*tensor.shape))


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Glorot's uniform numbers, whose range falls with inputs + outputs."""
    limit = gain * math.sqrt(6 / sum(_fans(tensor)))
    return uniform_(tensor, -limit, limit, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Glorot's normal numbers, whose deviation falls with inputs + outputs."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(_fans(tensor))), generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return calculate_gain(nonlinearity, a) / math.sqrt(_fans(tensor)[mode == "fan_out"])


def kaiming_uniform_(tensor: Any, a: float = 0, mode: Any = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Any = None) -> Any:
    """He's uniform numbers, for layers followed by ReLU and its kin."""
    limit = math.sqrt(3) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -limit, limit, generator)


def kaiming_normal_(tensor: Any, a: float = 0, mode: Any = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Any = None) -> Any:
    """He's normal numbers, for layers followed by ReLU and its kin."""
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """Fills the matrix with orthogonal rows or columns, and returns it."""
    rows = tensor.shape[0]
    flat = generator_of(generator).normal(size=(rows, int(np.prod(tensor.shape[1:]))))
    q, r = np.linalg.qr(flat.T if rows < flat.shape[1] else flat)
    q = q * np.sign(np.diag(r))
    return _set(tensor, gain * (q.T if rows < flat.shape[1] else q).reshape(tuple(tensor.shape)))

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
