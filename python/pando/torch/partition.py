# SPDX-License-Identifier: Apache-2.0
"""Which ops of a graph become programs, and which stay in PyTorch, and why."""
from __future__ import annotations

import operator
from typing import Any, Iterator

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from pando import _core
from pando.torch.aten import Absent, name_of
from pando.torch.fixed_sizes import has_fixed_size
from pando.torch.lowering import Lowering, type_of
from pando.torch.program import has_backend
from pando.torch.tracing import MOST_NODES
from pando.torch.unsupported import Unsupported
from pando.torch.weights import type_of as checked_type_of

# PyTorch runs a single op in less time than it takes to call a program.
FEWEST_OPS = 2
PREFIX = "program"
# What PyTorch does without computing.
_MOVES = ("view", "reshape", "_unsafe_view", "t", "transpose", "permute", "expand", "squeeze", "unsqueeze", "slice", "select",
          "detach", "alias", "clone")


def divide(module: GraphModule) -> None:
    """Makes submodules named program0, ... of what programs can compute, as few as can be. Why another op stays is in its
    node.meta["stays"]."""
    reasons = _of_whole_graph(module)
    while True:
        probe = _Probe(module, reasons)
        reasons = probe.reasons
        partitioner = CapabilityBasedPartitioner(module, _Supported(reasons), allows_single_node_partition=True)
        partitions = partitioner.propose_partitions()
        crossing = _crossing(module, probe.absent, [set(partition.nodes) for partition in partitions])
        if not crossing:
            break
        reasons.update(crossing)
    large = [partition for partition in partitions if sum(map(_computes, partition.nodes)) >= FEWEST_OPS]
    for partition in partitions:
        if partition not in large:
            reasons.update((node, told(node, "alone, PyTorch runs it faster than a program")) for node in partition.nodes
                           if _computes(node))
    for node, reason in reasons.items():    # not kept by node: others take the place of these
        if node.target is not operator.getitem:
            node.meta["stays"] = reason
    partitioner.fuse_partitions(large, prefix=PREFIX)


class _Supported(OperatorSupportBase):
    def __init__(self, reasons: dict[Node, str]) -> None:
        self._reasons = reasons

    def is_node_supported(self, submodules: Any, node: Node) -> bool:
        return node.op == "call_function" and node not in self._reasons


class _Probe:
    """A graph that is lowered and not compiled. An op that is refused does not end it: zeros take the place of its results."""

    def __init__(self, module: GraphModule, reasons: dict[Node, str]) -> None:
        self.reasons = dict(reasons)
        # The choices of results that programs do not make.
        self.absent: dict[Node, Absent] = {}
        self._module, self._device = module, device_of(module)
        _core.steps.Step("probe", [], [], self._trace, "", "float32")

    def _trace(self, inputs: list[Any], held: list[Any], counter: Any) -> tuple[list[Any], list[Any]]:
        lowering = Lowering(self._module, counter, 0)
        for node in self._module.graph.nodes:
            if node.op == "call_function":
                lowering.env[node] = self._result(lowering, node)
            elif node.op != "output":
                lowering.env[node] = self._stand_in(lowering, node)
            if isinstance(lowering.env.get(node), Absent):
                self.absent[node] = lowering.env[node]
        return [], []

    def _result(self, lowering: Lowering, node: Node) -> Any:
        lowering.node = node
        if node.target is operator.getitem:
            if node.args[0] not in self.reasons:
                return lowering.value(node.args[0])[node.args[1]]
            self.reasons[node] = self.reasons[node.args[0]]
        if node not in self.reasons:
            try:
                self._check(node)
            except Unsupported as error:
                self.reasons[node] = told(node, str(error))
                return self._stand_in(lowering, node)
            try:
                return lowering.call(node)
            except Unsupported as error:
                self.reasons[node] = str(error)
        return self._stand_in(lowering, node)

    def _check(self, node: Node) -> None:
        if not hasattr(node.target, "_schema"):
            raise Unsupported("programs have only ops of ATen")
        if torch.Tag.nondeterministic_seeded in node.target.tags:
            raise Unsupported("its random numbers are those of PyTorch's generator")
        for value in _tensors_of(node):
            if not has_fixed_size(value):
                raise Unsupported("a size depends on the values of tensors")
            checked_type_of(value)
            if value.device != self._device:
                raise Unsupported(f"a tensor is on {value.device}, and the others are on {self._device}")

    def _stand_in(self, lowering: Lowering, node: Node) -> Any:
        def zeros(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            if not has_fixed_size(value):
                return Absent("tensor whose size depends on values")
            try:
                dtype, shape = type_of(value)
                return lowering.full(shape, 0, dtype)
            except Unsupported:
                return Absent(f"tensor of {value.dtype}")
        value = node.meta.get("val")
        return [zeros(one) for one in value] if isinstance(value, (tuple, list)) else zeros(value)


def told(node: Node, reason: str) -> str:
    """What a user reads about an op that stays in PyTorch."""
    line = node.meta.get("line")
    return f"{node.target}: {reason}" + (f" ({line})" if line else "")


def _values(node: Node) -> list[torch.Tensor]:
    """The tensors that stand for the results of a node in the trace."""
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else [value]
    return [one for one in values if isinstance(one, torch.Tensor)]


def _tensors_of(node: Node) -> Iterator[torch.Tensor]:
    """What an op takes and gives."""
    for one in (node, *node.all_input_nodes):
        yield from _values(one)


def device_of(module: GraphModule) -> torch.device:
    """The device of the most tensors of a graph."""
    devices = [value.device for node in module.graph.nodes for value in _values(node)]
    return max(set(devices), key=lambda device: (devices.count(device), str(device)), default=torch.device("cpu"))


def _of_whole_graph(module: GraphModule) -> dict[Node, str]:
    """Why all ops stay, if a graph cannot be divided at all."""
    ops = [node for node in module.graph.nodes if node.op == "call_function"]
    device = device_of(module)
    if not has_backend(device.type):
        reason = f"this build of Pando has no backend '{device.type}'"
    elif len(ops) > MOST_NODES:
        reason = f"the graph has {len(ops)} ops and at most {MOST_NODES} are compiled; give PyTorch smaller parts to compile"
    elif any(_writes(node) for node in ops):
        reason = "the graph changes tensors where they are, so its ops must keep their order"
    else:
        return {}
    return {node: told(node, reason) for node in ops}


def _writes(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)


def _crossing(module: GraphModule, absent: dict[Node, Absent], parts: list[set[Node]]) -> dict[Node, str]:
    """The makers of results that programs do not make, where these leave their part."""
    place = {node: number for number, part in enumerate(parts) for node in part}
    found = {}
    for node, what in absent.items():
        if node in place and any(place.get(user) != place[node] for user in node.users):
            maker = node.args[0] if node.target is operator.getitem else node
            found[maker] = told(maker, f"a program has no {what.what}, and another part of the graph needs it")
    return found


def _computes(node: Node) -> bool:
    return node.target is not operator.getitem and name_of(node.target) not in _MOVES
