# SPDX-License-Identifier: Apache-2.0
"""torch.nn.utils: limits on gradients, and parameters as vectors."""
from __future__ import annotations

import typing as _typing
from typing import Any

import numpy as np

from pando.core import ops
from pando.core.nearest import attributes_of as _attributes_of
from pando.torch.tensor import Tensor


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [parameter for parameter in parameters if parameter._grad is not None]


def clip_grad_norm_(parameters: Any, max_norm: float | None, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                    foreach: bool | None = None) -> Any:  # noqa: ARG001
    """Scales the gradients so that the norm of all together is at most `max_norm`; returns the norm before."""
    found = _gradients(parameters)
    if not found:
        return Tensor(np.zeros((), np.float32))
    if norm_type == float("inf"):
        parts = [ops.max(ops.abs(p.grad)) for p in found]
        total = parts[0]
        for part in parts[1:]:
            total = ops.maximum(total, part)
    else:
        total = ops.sum(ops.power(ops.abs(found[0].grad), norm_type))
        for p in found[1:]:
            total = total + ops.sum(ops.power(ops.abs(p.grad), norm_type))
        total = ops.sqrt(total) if norm_type == 2 else ops.power(total, 1 / norm_type)
    scale = ops.minimum(float(max_norm) / (total + 1e-6), 1.0)
    for p in found:
        _replace(p, p.grad * scale)
    return total


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> Any:  # noqa: ARG001
    """Moves all gradients into the range from ``-clip_value`` to ``clip_value``."""
    for p in _gradients(parameters):
        _replace(p, ops.clip(p.grad, min=-float(clip_value), max=float(clip_value)))


def _replace(parameter, gradient):
    from pando.torch import lazy
    lazy.alive.discard(gradient)
    parameter._grad = gradient
    lazy.gradients_alive.add(gradient)


def parameters_to_vector(parameters: Any) -> Any:
    """All elements of the parameters, one after the other."""
    return ops.concat([ops.reshape(p.detach(), [-1]) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Any) -> Any:
    """Sets the parameters from such a vector."""
    start = 0
    for p in parameters:
        p._set(vec[start:start + p.numel()].reshape(*p.shape))
        start += p.numel()

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
