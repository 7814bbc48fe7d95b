# SPDX-License-Identifier: Apache-2.0
"""ipu.ipu_compiler: functions of tensors compiled for a device, and what sessions get when they run them."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando import _core
from pando.core.hints import Function
from pando.core.nearest import attributes_of as _attributes_of
from pando.core.structure import flatten, is_nested, pack
from pando.tensors.tensor import Tensor, as_symbol, wrap


class Compiled:
    """A computation that a session can run. It stands for the structure that the function returned."""

    def __init__(self, native: Any, structure: Any, are_operations: Any) -> None:
        self._native, self._structure, self._are_operations = native, structure, are_operations
        # Upstream returns a list, of one tensor too. A list of tensors and operations is what a run has made already.
        self._is_flat = not is_nested(structure) or type(structure) in (list, tuple) and not any(
            is_nested(part) for part in structure)

    def _results(self, values):
        """What a run returns: arrays in the structure of the function, None for operations."""
        if self._is_flat:
            return values
        made = pack(self._structure, values)
        return list(made) if isinstance(made, tuple) else made

    def explain(self) -> Any:
        """What a run does on which IPUs."""
        return self._native.explain()


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
    from pando.tensors.tensor import convert
    return _core.tf_constant(convert(value)._value)


def compile(computation: Function, inputs: Any = None) -> Any:  # noqa: A001, upstream's name
    """Traces the function on the inputs, and compiles it for the device of the scope around."""
    symbols = [symbol_of(value) for value in inputs or []]
    structure = {}
    native = _core.compile_computation(len(symbols), traced_list(computation, structure), symbols)
    return Compiled(native, structure.get("made"), structure.get("are_operations", []))


def outlined_function(func: Any = None, unique_sharding: bool = False, keep_input_layouts: bool | None = None,
                      name: str | None = None) -> Any:
    """Returns the function itself: Pando decides by itself what is shared."""
    return func if func is not None else lambda inner: inner

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
