# SPDX-License-Identifier: Apache-2.0
"""Recording: what is done with modules and parameters outside of PopTorch is noted and runs later, as one program.

A call makes a Record of what it does and from what; a Node is one of its results. Nothing is computed before a value is
looked at or an optimizer steps. Then everything that is still wanted is put into one program: it is compiled the first
time, and found by its structure after that. So a training loop runs one compiled step for each turn, whatever its
Python looks like. `backward()` is a record too, whose results are gradients.

Random numbers are inputs of records, and the statistics of a layer are assigned once, so a record may be computed twice.
"""
import collections
import itertools
import threading
import weakref

import numpy as np

from pando import _core
from pando.core import dispatch, eager

_build = _core.poptorch
_MAX_PROGRAMS = 256
# A number that differs from call to call is fed; others are part of the program.
_MAX_NUMBERS = 8
_numbers_seen = collections.defaultdict(set)
_count = itertools.count()
_calls = {}
_programs = collections.OrderedDict()
_lock = threading.RLock()


class _Alive:
    """A set of tensors that does not keep them alive. Tensors compare by element, so this one compares identities."""

    def __init__(self):
        self._references = {}

    def add(self, tensor):
        key, references = id(tensor), self._references
        references[key] = weakref.ref(tensor, lambda _: references.pop(key, None))

    def discard(self, tensor):
        self._references.pop(id(tensor), None)

    def __iter__(self):
        found = (reference() for reference in list(self._references.values()))
        return (tensor for tensor in found if tensor is not None)


# Tensors whose values are wanted as long as they live; gradients are wanted only if someone looks at them.
alive = _Alive()
gradients_alive = _Alive()


class _GradMode(threading.local):
    enabled = True


grad_mode = _GradMode()


class Call:
    """What a record does: how it is traced, and the types of its results. One for each op, attributes and types."""
    __slots__ = ("number", "trace", "types", "parameters", "layer", "is_stateful")

    def __init__(self, trace, types, parameters=(), layer=None, is_stateful=False):
        self.number, self.trace, self.types = next(_count), trace, types
        self.parameters, self.layer, self.is_stateful = parameters, layer, is_stateful


class Record:
    """A call with its inputs: nodes, parameters and numbers."""
    __slots__ = ("call", "inputs", "done")

    def __init__(self, call, inputs):
        self.call, self.inputs, self.done = call, inputs, False


class Node:
    """A result of a record, or an array (record is None). `value` is set once it is known."""
    __slots__ = ("record", "index", "type", "value", "requires_grad", "owner", "__weakref__")

    def __init__(self, record, index, type_, value=None, requires_grad=False):
        self.record, self.index, self.type, self.value = record, index, type_, value
        self.requires_grad, self.owner = requires_grad, None

    @property
    def dtype(self):
        return self.type[0]

    @property
    def shape(self):
        return self.type[1]

    def compute(self):
        """The array; runs what it depends on, together with all that is wanted."""
        if self.value is None:
            with _lock:
                if self.value is None:
                    run([self])
        return self.value


def leaf(array, requires_grad=False):
    """The array as a node."""
    return Node(None, 0, (array.dtype.name, array.shape), array, requires_grad)


def _source(value):
    """What a record keeps of an operand: known values are leaves, unless a gradient may be asked of how they were made."""
    if isinstance(value, Node):
        return leaf(value.value) if value.value is not None and value.record is not None and \
            not value.requires_grad else value
    if isinstance(value, (np.ndarray, np.generic)):
        return leaf(np.asarray(value))
    return value


def _describe(source):
    if isinstance(source, Node):
        return source.type
    return source.type if hasattr(source, "type") else ("number", source)


def _frozen(value):
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(part) for part in value)
    return value


def _needs_grad(sources):
    return grad_mode.enabled and any(getattr(source, "requires_grad", False) for source in sources)


def record(name, values, attributes):
    """Notes an op; computes it at once if all its operands are known and no gradient is needed."""
    sources = [_source(value) for value in values]
    if eager.FUNCTIONS.get(name) is not None and not _needs_grad(sources):
        known = [source.value if isinstance(source, Node) else source for source in sources]
        if all(isinstance(value, (np.ndarray, int, float)) for value in known):
            return dispatch._computed(name, known, attributes)
    attributes_key = tuple((key, _frozen(value)) for key, value in attributes.items())
    sources = [_fed_number(name, attributes_key, source) for source in sources]
    key = (name, attributes_key, tuple(_describe(source) for source in sources))
    call = _calls.get(key)
    if call is None:
        def trace(operands):
            return [dispatch._traced(name, operands, attributes, "")]
        call = _calls[key] = Call(trace, _infer(trace, sources))
    return Node(Record(call, sources), 0, call.types[0], None, name != "stop_gradient" and _needs_grad(sources))


def _fed_number(name, attributes, source):
    if not isinstance(source, float):
        return source
    seen = _numbers_seen[name, attributes]
    if len(seen) < _MAX_NUMBERS or source in seen:
        seen.add(source)
        return source
    return leaf(np.asarray(source, np.float32))


def record_layer(module, values):
    """Notes a call of a leaf module, whose parameters are then part of what is recorded."""
    sources = [_source(value) for value in values]
    key = (module.training, tuple(_describe(source) for source in sources))
    call = module._calls.get(key)
    if call is None:
        layer, training = module._leaf, module.training

        def trace(operands):
            layer.train(training)
            return [layer(*dispatch.symbols_of(operands))]
        parameters = [p._value for p in module._parameters.values() if p is not None]
        call = module._calls[key] = Call(trace, None, parameters, module, training and bool(module._buffers))
        call.types = _infer(trace, sources, call)
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
        types = _build.output_types([_fed_type(source.type) for source in tensors], parts, function)
    return [(dtype, tuple(shape)) for dtype, shape in types]


def _fed_type(type_):
    dtype, shape = type_
    return {"float16": "float32", "int8": "int32", "int16": "int32"}.get(dtype, dtype), shape


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


class _Program:
    """The records that some results depend on, in order; `key` is their structure."""

    def __init__(self, nodes, updates):
        self.records, self.arrays, self.parameters = [], [], []
        self._record_numbers, self._array_numbers, self._parameter_numbers = {}, {}, {}
        self._key = []
        update_refs = [(p.number, self._visit(node, True), self._parameter(p)) for p, node in updates]
        # Results that are computed anyway, as part of a backward pass, are those.
        self.outputs = [self._visit(node, False) for node in nodes]
        self.updates = update_refs
        self.key = (tuple(self._key), tuple(self.outputs), tuple(ref[:2] for ref in update_refs),
                    tuple(_fed_type(node.type) for node in self.arrays))

    def _visit(self, node, fresh):
        """Where the value comes from: ("r", record, index) or ("a", array). `fresh` values are computed from leaves, so
        that gradients reach these."""
        if node.record is None or (node.value is not None and not fresh and id(node.record) not in self._record_numbers):
            return ("a", self._array(node))
        return ("r", self._record(node.record, fresh), node.index)

    def _record(self, record, fresh):
        # Long chains of records must not exhaust the stack of Python.
        stack = [(record, fresh)]
        while stack:
            current, is_fresh = stack[-1]
            if id(current) in self._record_numbers:
                stack.pop()
                continue
            below = is_fresh or current.call.layer is _BACKWARD
            waiting = [(source.record, below) for source in current.inputs
                       if isinstance(source, Node) and source.record is not None
                       and (source.value is None or below) and id(source.record) not in self._record_numbers]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            refs = tuple(self._reference(source, below) for source in current.inputs)
            number = self._record_numbers[id(current)] = len(self.records)
            self.records.append((current, refs))
            self._key.append((current.call.number, refs, current.done and current.call.is_stateful))
        return self._record_numbers[id(record)]

    def _reference(self, source, fresh):
        if isinstance(source, Node):
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

    def trace(self, symbols):
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
                _build.keep_statistics(not current.done)
            results.append(current.call.trace([resolve(ref) for ref in refs]))
        gradients = [(self.parameters[number].core, resolve(ref)) for _, ref, number in self.updates]
        return [resolve(ref) for ref in self.outputs], gradients


def run(nodes, optimizer=None, updates=()):
    """Computes the nodes and all that is wanted; with an optimizer, `updates` are pairs of a parameter and the node of its
    gradient, and the parameters change."""
    with _lock:
        wanted = {id(node): node for node in nodes if node.value is None}
        for tensor in alive:
            node = tensor._value
            if isinstance(node, Node) and node.value is None:
                wanted[id(node)] = node
        nodes = list(wanted.values())
        program = _Program(nodes, updates)
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
              if current.call.layer is not None and current.call.layer is not _BACKWARD]
    owned = {p.number for call in layers for p in call.parameters}
    loose = [p for p in program.parameters if p.number not in owned]
    types = [_fed_type(node.type) for node in program.arrays]
    with _tracing():
        return _build.Computation(types, _parts(layers, loose), program.trace,
                                  optimizer.core if optimizer is not None else None,
                                  optimizer.states if optimizer is not None else None)


_BACKWARD = object()


def _trace_backward(operands):
    loss, *of = operands
    parameters = [source.core for source in of if hasattr(source, "core")]
    tensors = [source for source in of if not hasattr(source, "core")]
    found = _build.gradients(loss, parameters, tensors)
    by_kind = iter(found[:len(parameters)]), iter(found[len(parameters):])
    return [next(by_kind[0] if hasattr(source, "core") else by_kind[1]) for source in of]


def leaves_of(node):
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


def gradient_nodes(loss, leaves):
    """The gradients of the loss with respect to the leaves, as nodes."""
    key = ("backward", len(leaves), tuple(leaf_.type for leaf_ in leaves))
    call = _calls.get(key)
    if call is None:
        call = _calls[key] = Call(_trace_backward, [leaf_.type for leaf_ in leaves], (), _BACKWARD)
    done = Record(call, [loss, *leaves])
    return [Node(done, i, leaf_.type) for i, leaf_ in enumerate(leaves)]


def flush():
    """Computes all that is wanted, gradients included, before a parameter or an array changes."""
    pending = [t._value for t in [*alive, *gradients_alive] if isinstance(t._value, Node) and t._value.value is None]
    if pending:
        run(pending)


dispatch.set_recorder(record)
