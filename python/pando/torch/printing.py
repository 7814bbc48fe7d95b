# SPDX-License-Identifier: Apache-2.0
"""How tensors print: as PyTorch prints them."""
from __future__ import annotations

from typing import Any

import numpy as np

from pando.torch import lazy

_DEFAULT = {"float32", "int64", "bool"}


def _number_format(array):
    """A function that prints one float as PyTorch does: with four digits, or none if all are whole."""
    finite = array[np.isfinite(array)]
    nonzero = np.abs(finite[finite != 0])
    if finite.size == nonzero.size == 0:
        return lambda x: _special(x, "{:.4f}")
    if finite.size and np.all(finite == np.round(finite)) and (not nonzero.size or nonzero.max() < 1e8):
        return lambda x: _special(x, "{:.0f}.")
    if nonzero.size and (nonzero.max() / nonzero.min() > 1000 or nonzero.max() > 1e8 or nonzero.min() < 1e-4):
        return lambda x: _special(x, "{:.4e}")
    return lambda x: _special(x, "{:.4f}")


def _special(x, form):
    if np.isnan(x):
        return "nan"
    return ("-inf" if x < 0 else "inf") if np.isinf(x) else form.format(x)


def _elements(array):
    if array.dtype.kind == "f":
        form = _number_format(array.ravel())
    elif array.dtype == np.bool_:
        form = lambda x: str(bool(x))  # noqa: E731
    else:
        form = str
    width = max((len(form(x)) for x in array.ravel()), default=0) if array.ndim and array.size <= 1000 else 0
    return form, width


def _nested(array, form, width, indent, summarise):
    if array.ndim == 0:
        return form(array[()])
    edge = 3 if summarise and array.shape[0] > 6 else 0
    indices = range(array.shape[0]) if not edge else [*range(edge), None, *range(array.shape[0] - edge,
                                                                                   array.shape[0])]
    parts = ["..." if i is None else _nested(array[i], form, width, indent + 1, summarise) for i in indices]
    if array.ndim == 1:
        texts = [text.rjust(width) for text in parts]
        per_line = max(1, (80 - indent) // (max((len(text) for text in texts), default=1) + 2))
        lines = [", ".join(texts[i:i + per_line]) for i in range(0, len(texts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    separator = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + separator.join(parts) + "]"


def text(tensor: Any, name: str | None = "tensor") -> Any:
    """tensor([[1., 2.]]), with what differs from the usual after it."""
    value = tensor._value
    if not isinstance(value, (np.ndarray, lazy.Node)) and not hasattr(value, "compute"):
        return f"<symbolic tensor of {tensor.dtype} {list(tensor.shape)}>"
    array = tensor._array("print")
    form, width = _elements(array)
    suffix = ""
    if array.size == 0 and array.shape != (0,):
        suffix += f", size={tuple(array.shape)}"
    if array.dtype.name not in _DEFAULT:
        suffix += f", dtype=torch.{array.dtype.name}"
    if tensor.requires_grad:
        suffix += ", requires_grad=True" if tensor.is_leaf else ", grad_fn=<Recorded>"
    return f"{name}({_nested(array, form, width, len(name) + 1, array.size > 1000)}{suffix})"
