# SPDX-License-Identifier: Apache-2.0
"""ipu.loops: bodies that a device repeats without the host in between."""
from __future__ import annotations

import typing as _typing
from typing import Any


from pando import _core
from pando.core.hints import Function
from pando.core.nearest import attributes_of as _attributes_of
from pando.core.structure import flatten, is_nested
from pando.tensors.tensor import wrap
from pando.tensors.tracing import symbol_of, traced_list


def _listed(inputs):
    if inputs is None:
        return []
    return list(flatten(inputs)) if is_nested(inputs) else [inputs]


def _body(body, queue, count, structure):
    """The body with the columns of the queue, which upstream gives as keywords if the elements are dicts."""
    names = getattr(queue, "_names", None)

    def call(*tensors):
        if names:
            return body(*tensors[:count], **dict(zip(names, tensors[count:])))
        return body(*tensors)
    return traced_list(call, structure)


def _columns(queue):
    return 0 if queue is None else queue._columns


def repeat(n: int, body: Function, inputs: Any = None, infeed_queue: Any = None, use_while_v1: bool = True) -> Any:
    """Runs the body n times; it takes what it returned before, then the next element of the queue."""
    symbols = [symbol_of(value) for value in _listed(inputs)]
    structure = {}
    tensors = _core.repeat(int(n), len(symbols) + _columns(infeed_queue),
                           _body(body, infeed_queue, len(symbols), structure), symbols,
                           None if infeed_queue is None else infeed_queue._queue)
    return _values(tensors)


def while_loop(condition: Any, body: Function, inputs: Any = None, infeed_queue: Any = None,
               maximum_iterations: Any = None, use_while_v1: bool = True) -> Any:
    """Repeats the body as long as the condition on its values is true."""
    symbols = [symbol_of(value) for value in _listed(inputs)]
    structure = {}
    tensors = _core.while_loop(traced_list(condition, {}), len(symbols) + _columns(infeed_queue),
                               _body(body, infeed_queue, len(symbols), structure), symbols,
                               None if infeed_queue is None else infeed_queue._queue)
    return _values(tensors)


def _values(tensors):
    return [wrap(symbol) for symbol in tensors]

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
