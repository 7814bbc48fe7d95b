# SPDX-License-Identifier: Apache-2.0
"""Functional graphs of ATen ops as symbols of a program: an interpreter that calls the table for each node, and checks that
it got the type that PyTorch gives to the result."""
import operator

import torch

from pando import _core
import pando.torch.layout as layout
import pando.torch.symbols as symbols
from pando.torch.aten import TABLE, TAKES_ABSENT, Absent, name_of
from pando.torch.symbols import is_symbol
from pando.torch.unsupported import Unsupported

# Views of all elements in their order, and views of another kind.
_RESHAPES = ("view", "reshape", "_reshape_alias", "_unsafe_view", "alias", "detach", "squeeze", "unsqueeze")
_VIEWS = ("slice", "select", "expand", "permute", "transpose", "t", "split", "split_with_sizes", "unbind", "diagonal", "unfold",
          "as_strided", "narrow")


def lower(module, inputs, counter, seed):
    """The outputs of the graph of a module that `traced` made, for a symbol of each of its inputs; and what becomes of inputs
    that it changes, by their number. `counter` is the symbol of two integers on which random numbers depend, with the seed."""
    lowering = Lowering(module, counter, seed)
    outputs = lowering.run(inputs)
    return outputs, lowering.assigned


def missing(module):
    """The ops that a graph needs and the table lacks."""
    return sorted({str(node.target) for node in module.graph.nodes if _is_op(node) and
                   name_of(node.target) not in TABLE and name_of(node.target) != "copy_"})


def _is_op(node):
    return node.op == "call_function" and hasattr(node.target, "_schema")


def is_reshape(node):
    """Whether as_strided gives all elements of a tensor in their order, as autograd's for writes into views often does."""
    if name_of(node.target) != "as_strided" or len(node.args) < 3 or (len(node.args) > 3 and node.args[3]):
        return False
    _, shape, strides = node.args[:3]
    plain = torch.empty(shape, device="meta")
    return plain.stride() == tuple(strides) and plain.numel() == node.args[0].meta["val"].numel()


def type_of(value):
    """The name of the type and the shape of a tensor."""
    return symbols.dtype_name(value.dtype), [int(n) for n in value.shape]


class Lowering:
    """What functions of the table see: the node, the type of its result, and the state of the whole graph."""

    def __init__(self, module, counter, seed):
        self.module, self.like, self.counter, self.seed = module, counter, counter, seed
        self.assigned, self.env, self.placeholders, self.node = {}, {}, [], None

    # ---- for the table
    @property
    def result(self):
        """The tensor, or the tuple of tensors, that stands for the result in the trace."""
        return self.node.meta["val"]

    @property
    def dtype(self):
        """The name of the type in which the result is computed."""
        name = symbols.dtype_name(self.result.dtype)
        return "float32" if name == "bfloat16" else name

    @property
    def shape(self):
        return [int(n) for n in self.result.shape]

    def constant(self, values, dtype=None):
        return symbols.constant(self.like, values, dtype)

    def full(self, shape, value, dtype):
        return symbols.full(self.like, shape, value, dtype)

    def stream(self):
        """The number of a source of random numbers, which the trace gave it."""
        if "stream" not in self.node.meta:
            raise Unsupported("PyTorch does not say that it draws random numbers")
        return self.node.meta["stream"]

    def maker(self, index, names, node=None):
        """The node of the op that made an argument, if it is one of these, through choices of one of several results."""
        node = (node or self.node).args[index]
        while isinstance(node, torch.fx.Node) and (node.target is operator.getitem or
                                                   (_is_op(node) and name_of(node.target) in ("detach", "alias"))):
            node = node.args[0]
        return node if isinstance(node, torch.fx.Node) and _is_op(node) and name_of(node.target) in names else None

    def value(self, x):
        """The symbol of a node of the graph."""
        return self.env[x] if isinstance(x, torch.fx.Node) else x

    def is_whole(self, index):
        """Whether an argument has the memory of a tensor in PyTorch for itself, in the order of its elements."""
        node = self.node.args[index]
        while _is_op(node) and (name_of(node.target) in _RESHAPES or is_reshape(node)):
            node = node.args[0]
        value = node.meta.get("val")
        maker = node.args[0] if node.target is operator.getitem else node
        is_view = _is_op(maker) and name_of(maker.target) in _VIEWS
        return not is_view and isinstance(value, torch.Tensor) and value.is_contiguous() and value.storage_offset() == 0

    def assign(self, index, symbol):
        """The op changes its argument of this number, which its schema may not say."""
        node = self.node.args[index]
        if node in self.placeholders:
            self.assigned[self.placeholders.index(node)] = symbol
        elif not self.is_whole(index):
            raise Unsupported("it changes a view; give it the whole tensor")
        self.env[node] = symbol

    # ---- the interpreter
    def run(self, inputs):
        inputs = iter(inputs)
        for self.node in self.module.graph.nodes:
            node = self.node
            if node.op == "placeholder":
                self.placeholders.append(node)
                self.env[node] = self.input(node, next(inputs))
            elif node.op == "get_attr":
                self.env[node] = self.attribute(node)
            elif node.op == "output":
                return self.outputs(node.args[0])
            elif node.target is operator.getitem:
                self.env[node] = self.value(node.args[0])[node.args[1]]
            else:
                self.env[node] = self.call(node)
        raise Unsupported("the graph has no output")

    def input(self, node, symbol):
        """Programs may take integers in another type than PyTorch has them."""
        if "val" not in node.meta or not isinstance(node.meta["val"], torch.Tensor):
            return symbol
        dtype, shape = type_of(node.meta["val"])
        if list(symbol.shape) != shape:
            raise Unsupported(f"the input '{node.target}' was traced with the shape {shape} but is {list(symbol.shape)}")
        return symbols.cast(symbol, dtype)

    def attribute(self, node):
        tensor = operator.attrgetter(node.target)(self.module).detach()
        if tensor.dtype == torch.float64 and not tensor.dim():
            return tensor.item()    # PyTorch computes with it as with a number
        type_of(tensor)
        if tensor.dtype == torch.bfloat16:
            return symbols.cast(self.constant(tensor.float().numpy()), "bfloat16")
        return self.constant(tensor.cpu().numpy())

    def outputs(self, results):
        results = results if isinstance(results, (tuple, list)) else [results]
        found = [self.value(x) for x in results]
        for x in found:
            if isinstance(x, Absent):
                raise Unsupported(f"a program has no {x.what}; return something else")
        return [x if x is None or is_symbol(x) else self.constant(x) for x in found]

    def call(self, node):
        name = name_of(node.target)
        try:
            if name == "copy_":
                return self.copy(node)
            if name not in TABLE:
                raise Unsupported("Pando has no such op")
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), self.value)
            if name not in TAKES_ABSENT:
                torch.fx.node.map_aggregate((args, kwargs), refuse_absent)
            args, kwargs = torch.fx.node.map_aggregate((args, kwargs), self.widened)
            return checked(TABLE[name](self, *args, **kwargs), node.meta.get("val"))
        except Unsupported as error:
            raise Unsupported(self.text(node, error)) from error
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RuntimeError, OverflowError) as error:
            raise Unsupported(self.text(node, error)) from error

    def widened(self, x):
        """PyTorch computes in float32 with bfloat16, and rounds each result."""
        return symbols.cast(x, "float32") if is_symbol(x) and x.dtype == "bfloat16" else x

    def copy(self, node):
        """What is left of writes: an input gets a value at the end."""
        to, source = node.args[:2]
        if to not in self.placeholders or node.users:
            raise Unsupported("it writes into what is not an input")
        dtype, shape = type_of(to.meta["val"])
        value = layout.broadcast(symbols.cast(self.value(source), dtype), shape)
        self.assigned[self.placeholders.index(to)] = value
        return value

    def text(self, node, error):
        """What a user reads: the op, what it was given, why it cannot be, and the line of the model."""
        shapes = ", ".join(described(torch.fx.map_arg(x, self.value)) for x in (*node.args, *node.kwargs.values()))
        line = node.meta.get("line")
        return f"{node.target}({shapes}): {error}" + (f" ({line})" if line else "")


def described(x):
    """An argument in a message."""
    if is_symbol(x):
        return f"{x.dtype}{list(x.shape)}"
    if isinstance(x, (tuple, list)):
        return "[" + ", ".join(map(described, x)) + "]"
    return x.what if isinstance(x, Absent) else str(x)


def refuse_absent(x):
    if isinstance(x, Absent):
        raise Unsupported(f"a program has no {x.what}; only the gradient of the op that makes it may use it")
    return x


def checked(made, meta):
    """What an op made, if it has the types that PyTorch gives to its results."""
    if isinstance(made, (tuple, list)):
        metas = list(meta) if isinstance(meta, (tuple, list)) else []
        if len(made) < len(metas):
            raise Unsupported(f"it has {len(metas)} results in this version of PyTorch and {len(made)} in Pando")
        return [checked(one, of) for one, of in zip(made, metas + [None] * (len(made) - len(metas)))]
    if not isinstance(made, _core.Symbol) or not isinstance(meta, torch.Tensor):
        return made
    if meta.dtype == torch.bfloat16 and made.dtype == "float32":
        made = symbols.cast(made, "bfloat16")
    if [made.dtype, list(made.shape)] != list(type_of(meta)):
        raise Unsupported(f"the result is {meta.dtype}{list(meta.shape)} in PyTorch and "
                          f"{made.dtype}{list(made.shape)} in Pando")
    return made
