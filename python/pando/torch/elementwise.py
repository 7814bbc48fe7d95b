# SPDX-License-Identifier: Apache-2.0
"""torch.*: the functions that compute each element by itself, from one tensor or two that are broadcast."""
from __future__ import annotations

from typing import Any

import numpy as np

from pando.core import ops
from pando.core.hints import ArrayLike
from pando.core.tensor import Tensor as CoreTensor
from pando.torch.tensor import Tensor

# PyTorch's name, the op, and what it is.
_BINARY = {
    "add": ("add", "input + alpha * other."), "sub": ("subtract", "input - alpha * other."),
    "subtract": ("subtract", "input - alpha * other."), "mul": ("multiply", "input * other."),
    "multiply": ("multiply", "input * other."),
    "div": ("divide", 'input / other; ``rounding_mode`` is None, "floor" or "trunc".'),
    "divide": ("divide", 'input / other; ``rounding_mode`` is None, "floor" or "trunc".'),
    "true_divide": ("divide", "input / other."), "pow": ("power", "input to the power of other."),
    "floor_divide": ("floor_divide", "The largest whole number that is not above input / other."),
    "remainder": ("remainder", "What is left of input divided by other; it has the sign of other."),
    "fmod": ("fmod", "What is left of input divided by other; it has the sign of input."),
    "maximum": ("maximum", "The larger of two elements."), "minimum": ("minimum", "The smaller of two elements."),
    "eq": ("equal", "Whether elements are equal."), "ne": ("not_equal", "Whether elements differ."),
    "not_equal": ("not_equal", "Whether elements differ."), "lt": ("less", "Whether input < other."),
    "less": ("less", "Whether input < other."), "le": ("less_equal", "Whether input <= other."),
    "gt": ("greater", "Whether input > other."), "greater": ("greater", "Whether input > other."),
    "ge": ("greater_equal", "Whether input >= other."), "logical_and": ("logical_and", "Whether both are true."),
    "logical_or": ("logical_or", "Whether one or both are true.")}
_UNARY = {
    "neg": ("negate", "-input."), "negative": ("negate", "-input."), "abs": ("abs", "The absolute values."),
    "absolute": ("abs", "The absolute values."), "sign": ("sign", "-1, 0 or 1, as the sign of each element is."),
    "square": ("square", "The squares."), "sqrt": ("sqrt", "The square roots."), "rsqrt": ("rsqrt", "1 / sqrt(input)."),
    "exp": ("exp", "e to the power of the input."), "log": ("log", "The natural logarithms."),
    "log1p": ("log1p", "log(1 + input)."), "expm1": ("expm1", "exp(input) - 1."), "sin": ("sin", "The sines."),
    "cos": ("cos", "The cosines."), "tanh": ("tanh", "The hyperbolic tangents."),
    "sigmoid": ("sigmoid", "1 / (1 + exp(-input))."), "relu": ("relu", "max(input, 0)."),
    "floor": ("floor", "The largest whole numbers that are not above the input."),
    "ceil": ("ceil", "The smallest whole numbers that are not below the input."),
    "round": ("round", "The nearest whole numbers."), "erf": ("erf", "The error function."),
    "logical_not": ("logical_not", "Whether elements are false.")}
ELEMENTWISE = [*_BINARY, *_UNARY]


def _tensor(x):
    return x if isinstance(x, CoreTensor) else Tensor(np.asarray(x))


def _truncated(x):
    return ops.sign(x) * ops.floor(ops.abs(x))


def _fmod(a, b):
    return a - ops.cast(_truncated(a / b), a.dtype) * b


def _binary(name, op, doc):
    compute = _fmod if op == "fmod" else getattr(ops, op)

    def function(input: ArrayLike, other: ArrayLike, *, out: Any = None) -> Tensor:  # noqa: A002
        _without_out(name, out)
        return compute(_tensor(input) if not isinstance(other, CoreTensor) else input, other)

    def scaled(input: ArrayLike, other: ArrayLike, *, alpha: float = 1, out: Any = None) -> Tensor:  # noqa: A002
        return function(input, other if alpha == 1 else other * alpha, out=out)

    def divided(input: ArrayLike, other: ArrayLike, *, rounding_mode: str | None = None,  # noqa: A002
                out: Any = None) -> Tensor:
        if rounding_mode not in (None, "floor", "trunc"):
            raise RuntimeError(f"{name} expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                               f"'{rounding_mode}'")
        if rounding_mode == "floor":
            return ops.floor_divide(_tensor(input), other)
        quotient = function(input, other, out=out)
        if rounding_mode is None:
            return quotient
        return ops.cast(_truncated(quotient), _tensor(input).dtype)
    made = scaled if name in ("add", "sub", "subtract") else divided if name in ("div", "divide") else function
    return _named(made, name, doc)


def _unary(name, op, doc):
    def function(input: ArrayLike, *, out: Any = None) -> Tensor:  # noqa: A002
        _without_out(name, out)
        return getattr(ops, op)(_tensor(input))
    return _named(function, name, doc)


def _named(function, name, doc):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _without_out(name, out):
    if out is not None:
        raise NotImplementedError(f"{name}: out= is not in Pando; use the tensor that the function returns")


for _name, (_op, _doc) in _BINARY.items():
    globals()[_name] = _binary(_name, _op, _doc)
for _name, (_op, _doc) in _UNARY.items():
    globals()[_name] = _unary(_name, _op, _doc)
