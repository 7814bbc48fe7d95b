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


class Program:
    """The records that some results depend on, in order; `key` is their structure."""

    def __init__(self, nodes: Any, updates: Any) -> None:
        self.records, self.arrays, self.parameters = [], [], []
        self._record_numbers, self._array_numbers, self._parameter_numbers = {}, {}, {}
        self._key = []
        update_refs = [(p.number, self._visit(node, True), self._parameter(p)) for p, node in updates]
        # Results that are computed anyway, as part of a backward pass, are those.
        self.outputs = [self._visit(node, False) for node in nodes]
        self.updates = update_refs
        self.key = (tuple(self._key), tuple(self.outputs), tuple(ref[:2] for ref in update_refs),
                    tuple(fed_type(node.type) for node in self.arrays))

    def _visit(self, node, fresh):
        """Where the value comes from: ("r", record, index) or ("a", array). `fresh` values are computed from leaves, so
        that gradients reach these."""
        record = node.record
        if record is None:
            return ("a", self._array(node))
        number = self._record_numbers.get(id(record))
        if number is None:
            if node.value is not None and not fresh:
                return ("a", self._array(node))
            number = self._record(record, fresh)
        return ("r", number, node.index)

    def _record(self, record, fresh):
        # Long chains of records must not exhaust the stack of Python.
        stack, numbers = [(record, fresh)], self._record_numbers
        while stack:
            current, below = stack[-1]
            if id(current) in numbers:
                stack.pop()
                continue
            call = current.call
            below = below or call.layer is BACKWARD
            before = len(stack)
            for source in current.inputs:
                if type(source) is Node and source.record is not None and (source.value is None or below) and \
                        id(source.record) not in numbers:
                    stack.append((source.record, below))
            if len(stack) > before:
                continue
            stack.pop()
            refs = tuple([self._reference(source, below) for source in current.inputs])
            numbers[id(current)] = len(self.records)
            self.records.append((current, refs))
            self._key.append((call.number, refs, current.done and call.is_stateful))
        return numbers[id(record)]

    def _reference(self, source, fresh):
        if type(source) is Node:
            return self._visit(source, fresh)
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
