# SPDX-License-Identifier: Apache-2.0
"""ipu.ipu_compiler: functions of tensors compiled for a device, and what sessions get when they run them."""
from __future__ import annotations

import threading
import typing as _typing
from typing import Any

from pando import _core
from pando.core.hints import Function
from pando.core.nearest import attributes_of as _attributes_of
from pando.core.structure import is_nested, pack
from pando.tensors.tracing import symbol_of, traced_list


_changes = threading.local()


def change(changed: Any, name: str, value: Any) -> None:
    """Sets an attribute of a queue while a computation is traced; if that fails, the queue is as it was."""
    if getattr(_changes, "made", None) is not None:
        _changes.made.append((changed, name, getattr(changed, name)))
    setattr(changed, name, value)


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


def compile(computation: Function, inputs: Any = None) -> Any:  # noqa: A001, upstream's name
    """Traces the function on the inputs, and compiles it for the device of the scope around."""
    symbols = [symbol_of(value) for value in inputs or []]
    structure = {}
    around, _changes.made = getattr(_changes, "made", None), []
    try:
        native = _core.compile_computation(len(symbols), traced_list(computation, structure), symbols)
    except BaseException:
        for changed, name, before in reversed(_changes.made):
            setattr(changed, name, before)
        raise
    finally:
        _changes.made = around
    return Compiled(native, structure.get("made"), structure.get("are_operations", []))


def outlined_function(func: Any = None, unique_sharding: bool = False, keep_input_layouts: bool | None = None,
                      name: str | None = None) -> Any:
    """Returns the function itself: Pando decides by itself what is shared."""
    return func if func is not None else lambda inner: inner

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
