# SPDX-License-Identifier: Apache-2.0
"""Traces of PyTorch's functions: functional graphs of ATen ops. What differs between versions of PyTorch is here and in
unfused.py."""
import contextlib
import operator
import os
import sys
import threading

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from pando.torch.aten import TABLE, name_of
from pando.torch.symbols import dtype_name
from pando.torch.unfused import unfused
from pando.torch.unsupported import Unsupported, refuse

try:
    from torch.func import functionalize
except ImportError:  # before PyTorch 2.0
    from functorch import functionalize

# A loop of Python that was unrolled into more nodes than this takes minutes to compile.
MOST_NODES = 20000
# While a module is traced, functions of PyTorch are replaced.
LOCK = threading.RLock()
OWN_FILES = tuple(os.path.dirname(os.path.abspath(path)) + os.sep for path in (torch.__file__, os.path.dirname(__file__)))


class swapped:  # noqa: N801, used as a function
    """While it lasts, modules have the tensors `new` in place of `old`, tied ones too, and so do the lists that recurrent
    modules keep of their weights. At the end, `new` has the values of tensors that took the place of buffers meanwhile."""

    def __init__(self, model, old, new):
        self.model, self.new, self.undo = model, {id(a): b for a, b in zip(old, new)}, []
        self.storages = [_storage_of(tensor) for tensor in new]

    def __enter__(self):
        for module in self.model.modules():
            for tensors in (module._parameters, module._buffers):
                for name, tensor in tensors.items():
                    self.put(tensors, name, tensor)
            weights = module.__dict__.get("_flat_weights", [])
            for i, tensor in enumerate(weights):
                self.put(weights, i, tensor)

    def put(self, tensors, key, tensor):
        if id(tensor) in self.new:
            self.undo.append((tensors, key, tensor))
            tensors[key] = self.new[id(tensor)]

    def __exit__(self, kind, *_):
        found = [(key, self.new[id(tensor)], _found(tensors, key)) for tensors, key, tensor in self.undo]
        for tensors, key, tensor in reversed(self.undo):
            tensors[key] = tensor
        if kind is None:
            if [_storage_of(tensor) for tensor in self.new.values()] != self.storages:
                raise Unsupported("the model sets the data of a parameter or buffer; let it call copy_ instead")
            for key, tensor, other in found:
                if other is not tensor:
                    _take_over(key, tensor, other)


def _found(tensors, key):
    """The tensor at a place where one was put; None if it was removed."""
    return tensors[key] if isinstance(tensors, list) else tensors.get(key)


def _take_over(key, tensor, other):
    """What was assigned becomes the value of the tensor that was there."""
    if other is None or isinstance(other, torch.nn.Parameter) or isinstance(tensor, torch.nn.Parameter) or other.requires_grad:
        raise Unsupported(f"the model assigns to '{key}' something that is not a buffer; assign a tensor without gradient to a buffer")
    if (other.dtype, other.shape) != (tensor.dtype, tensor.shape):
        raise Unsupported(f"the model assigns {other.dtype} {list(other.shape)} to the buffer '{key}', which is {tensor.dtype} "
                          f"{list(tensor.shape)}")
    with torch.no_grad():
        tensor.copy_(other)


def _storage_of(tensor):
    """What tells storages apart, those of fake tensors, too."""
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage._cdata


def traced(function, *examples):
    """The function as a graph without views and mutations, but for copy_ to its inputs at the end. Its inputs are the tensors
    in the examples, which are only looked at: all tensors are fake while it is traced. Raises Unsupported."""
    _check_examples(pytree.tree_flatten(examples)[0])
    try:
        with LOCK, _noted(_Notes()), unfused():
            first = make_fx(lambda *inputs: function(*inputs), tracing_mode="fake")(*examples)    # 1.13: no bound methods
        _check_size(first.graph)
        made = _functional(first, pytree.tree_flatten(examples)[0])
    except Unsupported:
        raise
    except Exception as error:
        raise Unsupported(_explained(error)) from error
    _check_writes(made.graph)
    _remove_dead(made.graph)
    _complete_types(made.graph)
    return made


def _functional(first, flat):
    """The graph again, functionalized and decomposed; autograd is in the graph by now."""
    notes = _CopiedNotes()

    class Runner(torch.fx.Interpreter):
        def run_node(self, node):
            notes.node = node
            return super().run_node(node)

    def run(*inputs):
        return Runner(first).run(*inputs)

    options = {"_allow_non_fake_inputs": True} if torch.__version__ >= "2" else {}    # constants of the first trace
    with torch.no_grad(), _noted(notes):
        return make_fx(functionalize(run, remove="mutations_and_views"), decompositions(), tracing_mode="fake",
                       **options)(*flat)


def decompositions():
    """PyTorch's own, for what the table lacks; of those that are made of other ops than ATen's none is used."""
    from torch import _decomp
    known = dict(_decomp.decomposition_table)
    curated = getattr(_decomp, "core_aten_decompositions", dict)()
    return {target: function for target, function in {**known, **curated}.items()
            if isinstance(target, torch._ops.OpOverload) and name_of(target) not in TABLE
            and (target in curated or function.__module__ == "torch._decomp.decompositions")}


# ---- notes at nodes
class _Recent(threading.local):
    nodes = None


_recent = _Recent()


class _Notes:
    """The line of the user's code that makes a node, and the number of its source of random numbers. Where a state of the
    generator is set again, as checkpoint does, the numbers are those that came after it was got."""

    def __init__(self):
        self.drawn = 0

    def __call__(self, node):
        node.meta["line"] = _line_of_caller()
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            self.drawn += 1
            node.meta["stream"] = self.drawn

    def get_rng_state(self):
        return self.drawn

    def set_rng_state(self, state):
        self.drawn = state if isinstance(state, int) else refuse("a state of the random generator from elsewhere")


class _CopiedNotes:
    """Notes of the node that makes others."""

    def __init__(self):
        self.node = None

    def __call__(self, node):
        for name in ("line", "stream", "place"):
            if self.node is not None and name in self.node.meta:
                node.meta[name] = self.node.meta[name]


@contextlib.contextmanager
def _noted(notes):
    """While it lasts, each new node of a graph gets notes."""
    with contextlib.ExitStack() as stack:
        create = torch.fx.Tracer.create_node
        _recent.nodes = []
        stack.callback(setattr, _recent, "nodes", None)

        def create_node(self, *args, **kwargs):
            node = create(self, *args, **kwargs)
            notes(node)
            if _recent.nodes is not None:
                _recent.nodes.append(node)
            return node
        replaced = [(torch.fx.Tracer, "create_node", create_node)]
        if isinstance(notes, _Notes):
            replaced += [(torch, "get_rng_state", notes.get_rng_state), (torch, "set_rng_state", notes.set_rng_state)]
        for owner, name, function in replaced:
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, function)
        yield


def mark_place(place):
    """To be called by a function that is traced: its nodes since the last call come from the place, which is any object.
    What becomes of them in the traced graph has it in node.meta["place"]."""
    for node in _recent.nodes:
        node.meta["place"] = place
    _recent.nodes.clear()


def _line_of_caller():
    """The innermost line that is neither PyTorch's nor Pando's; None outside of the traced function, as in its backward."""
    frame = sys._getframe(3)
    while frame is not None and frame.f_code is not traced.__code__:
        path = frame.f_code.co_filename
        if not path.startswith(OWN_FILES) and not path.startswith("<"):
            return f"{path}, line {frame.f_lineno}"
        frame = frame.f_back
    return None


# ---- checks
def _explained(error):
    """What a user reads about an error of PyTorch's tracer."""
    text = str(error).strip().split("\n")[0]
    kind = type(error).__name__
    if "Dynamic" in kind or "DataDependent" in kind or "data-dependent" in text or "local_scalar_dense" in text:
        return (f"the model reads the value of a tensor ({text}); a program is made before there are values, so use "
                f"torch.where in place of if, and do not call .item()")
    if "non-Fake" in text or "FakeTensor" in text:
        return (f"the model computes with a tensor that it keeps elsewhere ({text}); make it an argument, or register it with "
                f"register_buffer")
    return f"PyTorch cannot trace this: {kind}: {text}"


def _check_examples(examples):
    for x in examples:
        if isinstance(x, torch.Tensor):
            dtype_name(x.dtype)
            if x.layout != torch.strided:
                raise Unsupported(f"programs have no tensors of the layout {x.layout}; use x.to_dense()")


def _check_size(graph):
    if len(graph.nodes) > MOST_NODES:
        raise Unsupported(f"the trace has {len(graph.nodes)} ops and at most {MOST_NODES} are compiled; loops in Python are "
                          f"unrolled, so use fewer steps or smaller parts")


def _is_op(node):
    return node.op == "call_function" and hasattr(node.target, "_schema")


def _check_writes(graph):
    """What functionalize leaves changes a value behind the graph's back."""
    for node in graph.nodes:
        if _is_op(node) and name_of(node.target) != "copy_" and any(
                a.alias_info is not None and a.alias_info.is_write for a in node.target._schema.arguments):
            line = node.meta.get("line")
            raise Unsupported(f"{node.target} changes its argument, which a program cannot" + (f" ({line})" if line else ""))


def _remove_dead(graph):
    """Nodes without users, but for those that change an input: batch_norm does in PyTorch 1.13 without saying so."""
    for node in reversed(graph.nodes):
        if node.op == "call_function" and not node.users and (
                not _is_op(node) or name_of(node.target) not in ("copy_", "native_batch_norm")):
            graph.erase_node(node)


def _complete_types(graph):
    """Gives a node of several results a list of their types, where PyTorch (1.13) notes them at each choice of one alone."""
    for node in graph.nodes:
        if node.target is operator.getitem and "val" in node.meta:
            types = node.args[0].meta.setdefault("val", [])
            if isinstance(types, list):
                types.extend([None] * (node.args[1] + 1 - len(types)))
                types[node.args[1]] = node.meta["val"]
