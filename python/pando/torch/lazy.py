# SPDX-License-Identifier: Apache-2.0
"""Recording: what is done with modules and parameters outside of PopTorch is noted and runs later, as one program.

A call makes a Record of what it does and from what; a Node is one of its results. Nothing is computed before a value is
looked at or an optimizer steps. Then everything that is still wanted is put into one program: it is compiled the first
time, and found by its structure after that. So a training loop runs one compiled step for each turn, whatever its
Python looks like. `backward()` is a record too, whose results are gradients.

Random numbers are inputs of records, and the statistics of a layer are assigned once, so a record may be computed twice.
"""
from __future__ import annotations

import collections
import threading
from typing import Any

import numpy as np

from pando import _core
from pando.core import dispatch, eager
from pando.core.hints import ArrayLike
from pando.torch.program import Program, fed_type
from pando.torch.records import BACKWARD, Call, Node, Record, alive, gradients_alive, leaf

_build = _core.poptorch
_MAX_PROGRAMS = 256
# A number that differs from call to call is fed; others are part of the program.
_MAX_NUMBERS = 8
_numbers_seen = collections.defaultdict(set)
_calls = {}
_programs = collections.OrderedDict()
_lock = threading.RLock()


class _GradMode(threading.local):
    enabled = True


grad_mode = _GradMode()


def _source(value):
    """What a record keeps of an operand: known values are leaves, unless a gradient may be asked of how they were made."""
    if type(value) is Node:
        if value.value is not None and value.record is not None and not value.requires_grad:
            return leaf(value.value)
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return leaf(np.asarray(value))
    return value


def _describe(source):
    return source.type if type(source) is Node or hasattr(source, "type") else ("number", source)


def _frozen(value):
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(part) for part in value)
    return value


def _needs_grad(sources):
    if grad_mode.enabled:
        for source in sources:
            if getattr(source, "requires_grad", False):
                return True
    return False


def record(name: str | None, values: ArrayLike, attributes: Any) -> Any:
    """Notes an op; computes it at once if all its operands are known and no gradient is needed."""
    sources = [_source(value) for value in values]
    needs_grad = _needs_grad(sources)
    if not needs_grad and eager.FUNCTIONS.get(name) is not None:
        known = [source.value if isinstance(source, Node) else source for source in sources]
        if all(isinstance(value, (np.ndarray, int, float)) for value in known):
            return dispatch.computed(name, known, attributes)
    attributes_key = tuple([(key, _frozen(value)) for key, value in attributes.items()]) if attributes else ()
    sources = [_fed_number(name, attributes_key, source) if type(source) is float else source for source in sources]
    key = (name, attributes_key, tuple([_describe(source) for source in sources]))
    call = _calls.get(key)
    if call is None:
        def trace(operands):
            return [dispatch.traced(name, operands, attributes, "")]
        call = _calls[key] = Call(trace, _infer(trace, sources))
    return Node(Record(call, sources), 0, call.types[0], None, needs_grad and name != "stop_gradient")


def _fed_number(name, attributes, source):
    seen = _numbers_seen[name, attributes]
    if len(seen) < _MAX_NUMBERS or source in seen:
        seen.add(source)
        return source
    return leaf(np.asarray(source, np.float32))


def record_layer(module: Any, values: ArrayLike) -> Any:
    """Notes a call of a leaf module, whose parameters are then part of what is recorded."""
    sources = [_source(value) for value in values]
    key = (module.training, tuple([_describe(source) for source in sources]))
    call = module._calls.get(key)
    if call is None:
        layer, training = module._leaf, module.training

        def trace(operands):
            layer.train(training)
            return [layer(*dispatch.symbols_of(operands))]
        parameters = [p._value for p in module._parameters.values() if p is not None]
        call = Call(trace, None, parameters, module, training and bool(module._buffers))
        call.types = _infer(trace, sources, call)
        # Other threads find it from now on: functions such as mse_loss share their modules.
        call = module._calls.setdefault(key, call)
    requires_grad = _needs_grad(sources) or _needs_grad(call.parameters)
    return Node(Record(call, sources), 0, call.types[0], None, requires_grad)


def _infer(trace, sources, call=None):
    """The types of the results, from a trial trace."""
    tensors = [source for source in sources if hasattr(source, "type")]

    def function(symbols):
        symbols = iter(symbols)
        return trace([next(symbols) if hasattr(source, "type") else source for source in sources]), []
    parts = _parts([call] if call is not None and call.layer is not None else [], [])
    with _tracing():
        types = _build.output_types([fed_type(source.type) for source in tensors], parts, function)
    return [(dtype, tuple(shape)) for dtype, shape in types]


class _tracing:
    def __enter__(self):
        self.before, dispatch.mode.tracing = dispatch.mode.tracing, True

    def __exit__(self, *_):
        dispatch.mode.tracing = self.before


def _parts(layer_calls, parameters):
    """The leaves that a program uses, under names that stay the same in all programs."""
    modules, seen = [], set()
    for call in layer_calls:
        if id(call.layer) not in seen:
            seen.add(id(call.layer))
            modules.append((f"layer{call.layer._number}", call.layer._leaf))
    return _build.ModuleParts(modules, [(f"parameter{p.number}", p.core) for p in parameters], [])


def run(nodes: Any, optimizer: Any = None, updates: Any = ()) -> Any:
    """Computes the nodes and all that is wanted; with an optimizer, `updates` are pairs of a parameter and the node of its
    gradient, and the parameters change."""
    with _lock:
        wanted = {id(node): node for node in nodes if node.value is None}
        for tensor in alive:
            node = tensor._value
            if isinstance(node, Node) and node.value is None:
                wanted[id(node)] = node
        nodes = list(wanted.values())
        if not nodes and not updates:
            return
        program = Program(nodes, updates)
        key = (program.key, optimizer.key if optimizer is not None else None)
        compiled = _programs.get(key)
        if compiled is None:
            compiled = _programs[key] = _compiled(program, optimizer)
            if len(_programs) > _MAX_PROGRAMS:
                _programs.popitem(last=False)
        else:
            _programs.move_to_end(key)
        outputs = compiled.run([node.value for node in program.arrays])
        for current, _ in program.records:
            current.done = True
        for node, output in zip(nodes, outputs):
            node.value = output.astype(np.int64) if output.dtype == np.int32 else output


def _compiled(program, optimizer):
    layers = [current.call for current, _ in program.records
              if current.call.layer is not None and current.call.layer is not BACKWARD]
    owned = {p.number for call in layers for p in call.parameters}
    loose = [p for p in program.parameters if p.number not in owned]
    types = [fed_type(node.type) for node in program.arrays]
    with _tracing():
        return _build.Computation(types, _parts(layers, loose), program.trace,
                                  optimizer.core if optimizer is not None else None,
                                  optimizer.states if optimizer is not None else None)


def _trace_backward(operands):
    loss, *of = operands
    parameters = [source.core for source in of if hasattr(source, "core")]
    tensors = [source for source in of if not hasattr(source, "core")]
    found = _build.gradients(loss, parameters, tensors)
    by_kind = iter(found[:len(parameters)]), iter(found[len(parameters):])
    return [next(by_kind[0] if hasattr(source, "core") else by_kind[1]) for source in of]


def leaves_of(node: Any) -> Any:
    """The parameters and leaf tensors that need a gradient and that the node depends on."""
    found, seen, stack = {}, set(), [node]
    while stack:
        current = stack.pop()
        if id(current) in seen or not getattr(current, "requires_grad", False):
            continue
        seen.add(id(current))
        if not isinstance(current, Node) or current.record is None:
            found[id(current)] = current
            continue
        stack.extend(reversed([*current.record.inputs, *current.record.call.parameters]))
    return list(found.values())


def gradient_nodes(loss: Any, leaves: Any) -> Any:
    """The gradients of the loss with respect to the leaves, as nodes."""
    key = ("backward", len(leaves), tuple(leaf_.type for leaf_ in leaves))
    call = _calls.get(key)
    if call is None:
        call = _calls[key] = Call(_trace_backward, [leaf_.type for leaf_ in leaves], (), BACKWARD)
    done = Record(call, [loss, *leaves])
    return [Node(done, i, leaf_.type) for i, leaf_ in enumerate(leaves)]


def flush() -> Any:
    """Computes all that is wanted, gradients included, before a parameter or an array changes."""
    pending = [t._value for t in [*alive, *gradients_alive] if isinstance(t._value, Node) and t._value.value is None]
    if pending:
        run(pending)


dispatch.set_recorder(record)
