# SPDX-License-Identifier: Apache-2.0
"""Functions of tensors as C++ calls them while it traces, and values as it takes them into the default graph."""
from __future__ import annotations

from typing import Any

from pando import _core
from pando.core.structure import flatten, is_nested, pack
from pando.tensors.tensor import Tensor, as_symbol, convert, wrap


def _leaves(made):
    return [leaf for leaf in (flatten(made) if is_nested(made) else [made])]


def is_operation(leaf: Any) -> Any:
    """Whether it is run for what it does, rather than for a value."""
    return leaf is None or isinstance(leaf, _core.Operation) or hasattr(leaf, "_operation")


def traced_list(function: Any, structure: Any, like: Any = ()) -> Any:
    """A function of tensors as C++ calls it: from a list of symbols to a list of symbols and operations."""
    def call(symbols):
        tensors = [wrap(symbol) for symbol in symbols]
        made = function(*tensors)
        leaves = [] if made is None else _leaves(made)
        structure["made"] = pack(made, [None] * len(leaves)) if is_nested(made) else None
        structure["are_operations"] = [is_operation(leaf) for leaf in leaves]
        outputs = []
        for leaf in leaves:
            if leaf is None:
                outputs.append(_core.Operation())
            elif isinstance(leaf, _core.Operation):
                outputs.append(leaf)
            elif hasattr(leaf, "_operation"):
                outputs.append(leaf._operation)
            else:
                outputs.append(_symbol(leaf, tensors))
        return outputs
    return call


def _symbol(leaf, tensors):
    value = getattr(leaf, "_value", leaf)
    if isinstance(value, _core.Symbol):
        return value
    return as_symbol(leaf, like=tensors) if tensors else _core.tf_constant(Tensor(value)._value)


def symbol_of(value: Any) -> Any:
    """What C++ takes for a tensor of the default graph; anything else becomes a constant."""
    inner = getattr(value, "_value", value)
    if isinstance(inner, _core.Symbol):
        return inner
    return _core.tf_constant(convert(value)._value)
