# SPDX-License-Identifier: Apache-2.0
"""tf.math."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando.core import ops as _ops
from pando.core.nearest import missing_attribute as _missing
from pando.tensors import functions as _functions
from pando.tensors.functions import *  # noqa: F401,F403, the same functions
from pando.tensors.tensor import convert as _convert


def log1p(x: Any, name: str | None = None) -> Any:
    """log(1 + x)."""
    return _ops.log1p(_convert(x))


def erf(x: Any, name: str | None = None) -> Any:
    """The error function."""
    return _ops.erf(_convert(x))


def rsqrt(x: Any, name: str | None = None) -> Any:
    """1 / sqrt(x)."""
    return _ops.rsqrt(_convert(x))


def softplus(x: Any, name: str | None = None) -> Any:
    """log(1 + exp(x))."""
    return _ops.softplus(_convert(x))


def reduce_logsumexp(input_tensor: Any, axis: Any = -1, keepdims: bool | None = False, name: str | None = None) -> Any:
    """log(sum(exp(x)))."""
    return _ops.logsumexp(_convert(input_tensor), axis, keepdims)


# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        raise _missing(__name__, name, [*_functions.__all__, *(key for key in globals() if not key.startswith("_"))])
