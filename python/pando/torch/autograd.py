# SPDX-License-Identifier: Apache-2.0
"""torch.autograd: gradients, and whether they are needed."""
from __future__ import annotations

import functools
import typing as _typing
from typing import Any

from pando.core.hints import Function
from pando.core.nearest import attributes_of as _attributes_of
from pando.torch import lazy
from pando.torch.tensor import Tensor


class _GradMode:
    """Sets whether gradients can be asked for of what is done in it; also a decorator."""
    _enabled = True

    def __init__(self, function: Function | None = None) -> None:
        self._function = function

    def __new__(cls, function=None):
        made = super().__new__(cls)
        if callable(function):
            made.__init__()
            return made(function)
        return made

    def __enter__(self):
        self._before, lazy.grad_mode.enabled = lazy.grad_mode.enabled, self._enabled

    def __exit__(self, *_):
        lazy.grad_mode.enabled = self._before

    def __call__(self, function: Function) -> Any:
        @functools.wraps(function)
        def wrapped(*arguments, **keywords):
            with type(self)():
                return function(*arguments, **keywords)
        return wrapped


class no_grad(_GradMode):  # noqa: N801, PyTorch's name
    """Nothing in it is differentiated."""
    _enabled = False


class enable_grad(_GradMode):  # noqa: N801
    """What is in it is differentiated, within no_grad() too."""


class inference_mode(no_grad):  # noqa: N801
    """As no_grad()."""

    def __new__(cls, mode=True):
        return super().__new__(cls, mode if callable(mode) else None)


class set_grad_enabled:  # noqa: N801
    """Switches gradients on or off, for good or as a context."""

    def __init__(self, mode: Any) -> None:
        self._before, lazy.grad_mode.enabled = lazy.grad_mode.enabled, bool(mode)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lazy.grad_mode.enabled = self._before


def is_grad_enabled() -> bool:
    """Whether what is done now can be differentiated."""
    return lazy.grad_mode.enabled


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, allow_unused: bool = False) -> tuple[Tensor, ...]:  # noqa: ARG001
    """The gradients of a number with respect to the inputs."""
    outputs = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
    weights = grad_outputs[0] if isinstance(grad_outputs, (tuple, list)) else grad_outputs
    total = outputs if weights is None else (outputs * weights).sum()
    if total.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    return tuple(Tensor(node) for node in lazy.gradient_nodes(total._value, [x._value for x in inputs]))


class Variable:
    """The tensor itself: an old name of PyTorch's."""

    def __new__(cls, data, requires_grad=False, volatile=False):  # noqa: ARG004
        made = data if isinstance(data, Tensor) else Tensor(data)
        return made.requires_grad_() if requires_grad else made

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
