# SPDX-License-Identifier: Apache-2.0
"""Program: the records that some results depend on, in order, with a key that equals that of the same structure."""
from __future__ import annotations

from typing import Any

from pando import _core
from pando.torch.records import BACKWARD, Node


def fed_type(type_: Any) -> Any:
    """The type in which an array is fed: types that Pando lacks are stored as others."""
    dtype, shape = type_
    return {"float16": "float32", "int8": "int32", "int16": "int32"}.get(dtype, dtype), shape


def _collect(node, fresh, found):
    """Finds the records that the value depends on. `fresh` values are computed from leaves, so that gradients reach
    these."""
    stack = [(node, fresh)]
    while stack:
        current, below = stack.pop()
        record = current.record
        if record is None or (current.value is not None and not below):
            continue
        below = below or record.call.layer is BACKWARD
        known = found.get(id(record))
        if known is not None and known[1] >= below:
            continue
        found[id(record)] = record, below
        stack.extend([(source, below) for source in record.inputs if type(source) is Node])


class Program:
    """The records that some results depend on, in order; `key` is their structure."""

    def __init__(self, nodes: Any, updates: Any) -> None:
        self.records, self.arrays, self.parameters = [], [], []
        self._record_numbers, self._array_numbers, self._parameter_numbers = {}, {}, {}
        self._key = []
        found = {}
        for _, node in updates:
            _collect(node, True, found)
        for node in nodes:
            _collect(node, False, found)
        # In the order in which they were noted, which is that of the statistics of layers.
        for record, _ in sorted(found.values(), key=lambda entry: entry[0].number):
            self._add(record)
        update_refs = [(p.number, self._visit(node), self._parameter(p)) for p, node in updates]
        # Results that are computed anyway, as part of a backward pass, are those.
        self.outputs = [self._visit(node) for node in nodes]
        self.updates = update_refs
        self.key = (tuple(self._key), tuple(self.outputs), tuple(ref[:2] for ref in update_refs),
                    tuple(fed_type(node.type) for node in self.arrays))

    def _add(self, record):
        refs = tuple([self._reference(source) for source in record.inputs])
        self._record_numbers[id(record)] = len(self.records)
        self.records.append((record, refs))
        self._key.append((record.call.number, refs, record.done and record.call.is_stateful))

    def _visit(self, node):
        """Where the value comes from: ("r", record, index) or ("a", array)."""
        number = None if node.record is None else self._record_numbers.get(id(node.record))
        return ("a", self._array(node)) if number is None else ("r", number, node.index)

    def _reference(self, source):
        if type(source) is Node:
            return self._visit(source)
        if hasattr(source, "core"):
            return ("p", self._parameter(source), source.number)
        return ("n", source)

    def _array(self, node):
        # A tensor that needs a gradient is an input of its own, even if another one has the same memory.
        key = (id(node.value), id(node) if node.requires_grad else 0)
        number = self._array_numbers.get(key)
        if number is None:
            number = self._array_numbers[key] = len(self.arrays)
            self.arrays.append(node)
        return number

    def _parameter(self, parameter):
        number = self._parameter_numbers.get(parameter.number)
        if number is None:
            number = self._parameter_numbers[parameter.number] = len(self.parameters)
            self.parameters.append(parameter)
        return number

    def trace(self, symbols: Any) -> Any:
        """Computes the records with these symbols: the outputs, and pairs of a parameter and its gradient."""
        results = []

        def resolve(ref):
            if ref[0] == "a":
                return symbols[ref[1]]
            if ref[0] == "r":
                return results[ref[1]][ref[2]]
            return self.parameters[ref[1]] if ref[0] == "p" else ref[1]
        for current, refs in self.records:
            stateful = current.call.is_stateful
            if stateful:
                _core.poptorch.keep_statistics(not current.done)
            results.append(current.call.trace([resolve(ref) for ref in refs]))
        gradients = [(self.parameters[number].core, resolve(ref)) for _, ref, number in self.updates]
        return [resolve(ref) for ref in self.outputs], gradients
