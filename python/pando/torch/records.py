# SPDX-License-Identifier: Apache-2.0
"""What is noted of a call: the call itself, a record of its inputs, and nodes, its results; and the tensors that wait."""
from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np

_count = itertools.count()
# The layer of the calls that make gradients.
BACKWARD = object()


class Call:
    """What a record does: how it is traced, and the types of its results. One for each op, attributes and types."""
    __slots__ = ("number", "trace", "types", "parameters", "layer", "is_stateful")

    def __init__(self, trace: Any, types: Any, parameters: Any = (), layer: Any = None,
                 is_stateful: bool = False) -> None:
        self.number, self.trace, self.types = next(_count), trace, types
        self.parameters, self.layer, self.is_stateful = parameters, layer, is_stateful


class Record:
    """A call with its inputs: nodes, parameters and numbers. Later ones have larger numbers."""
    __slots__ = ("call", "inputs", "done", "number")

    def __init__(self, call: Any, inputs: Any) -> None:
        self.call, self.inputs, self.done, self.number = call, inputs, False, next(_count)


class Node:
    """A result of a record, or an array (record is None). `value` is set once it is known."""
    __slots__ = ("record", "index", "type", "value", "requires_grad", "owner", "__weakref__")

    def __init__(self, record: Any, index: Any, type_: Any, value: float | None = None,
                 requires_grad: bool = False) -> None:
        self.record, self.index, self.type, self.value = record, index, type_, value
        self.requires_grad, self.owner = requires_grad, None

    @property
    def dtype(self) -> Any:
        """The name of the type of its elements."""
        return self.type[0]

    @property
    def shape(self) -> Any:
        """The sizes of the tensor."""
        return self.type[1]

    def compute(self) -> Any:
        """The array; runs what it depends on, together with all that is wanted."""
        if self.value is None:
            from pando.torch.lazy import run
            run([self])
        return self.value


# NumPy makes the name of a type anew whenever it is asked.
_names = {}


def leaf(array: np.ndarray, requires_grad: bool = False) -> Any:
    """The array as a node."""
    dtype = array.dtype
    name = _names.get(dtype)
    if name is None:
        name = _names[dtype] = dtype.name
    return Node(None, 0, (name, array.shape), array, requires_grad)


class _Reference(weakref.ref):
    """A weak reference that knows the number under which it is kept."""
    __slots__ = ("key",)


class _Alive:
    """A set of tensors that does not keep them alive. Tensors compare by element, so this one compares identities."""

    def __init__(self) -> None:
        self._references = references = {}

        def forget(reference):
            references.pop(reference.key, None)
        self._forget = forget

    def add(self, tensor: Any) -> Any:
        """Adds a tensor."""
        reference = _Reference(tensor, self._forget)
        reference.key = id(tensor)
        self._references[reference.key] = reference

    def discard(self, tensor: Any) -> Any:
        self._references.pop(id(tensor), None)

    def __iter__(self):
        found = (reference() for reference in list(self._references.values()))
        return (tensor for tensor in found if tensor is not None)


# Tensors whose values are wanted as long as they live; gradients are wanted only if someone looks at them.
alive = _Alive()
gradients_alive = _Alive()
