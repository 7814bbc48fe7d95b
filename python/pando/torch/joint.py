# SPDX-License-Identifier: Apache-2.0
"""The graph of a forward and a backward pass, and how it is cut in two."""
from __future__ import annotations

import operator
from typing import Any

import torch
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.fx import Graph, GraphModule, Node

import pando.torch.crossing as crossing  # noqa: F401, the ops of torch.ops.pando
from pando.torch.program import has_backend

_aten = torch.ops.aten
_POOLS = {_aten.max_pool2d_with_indices_backward.default: torch.ops.pando.max_pool2d_backward.default,
          _aten.adaptive_max_pool2d_backward.default: torch.ops.pando.adaptive_max_pool2d_backward.default}


def cut(joint: GraphModule, inputs: Any, *, num_fwd_outputs: int, **options: Any) -> tuple[GraphModule, GraphModule]:
    """The forward and the backward pass. What is cheap, such as a view of a weight, is computed again in the backward pass:
    programs make no views, so each one that crosses would be a copy."""
    rewrite(joint.graph)
    joint.recompile()
    return min_cut_rematerialization_partition(joint, inputs, num_fwd_outputs=num_fwd_outputs, **options)


def rewrite(graph: Graph) -> None:
    """Puts ops that need only what programs can give in the place of those whose forward and backward op share more."""
    keys: dict[torch.device, Node] = {}
    for node in list(graph.nodes):
        if node.op != "call_function" or not _is_for_programs(node):
            continue
        if node.target is _aten.native_dropout.default:
            _rewrite_dropout(node, keys)
        elif node.target is _aten.max_pool2d_with_indices_backward.default:
            _replace(node, _POOLS[node.target], node.args[:7])
        elif node.target is _aten.adaptive_max_pool2d_backward.default:
            size = list(node.args[0].meta["val"].shape[-2:])
            _replace(node, _POOLS[node.target], (*node.args[:2], size))
        elif node.target is _aten.native_batch_norm_backward.default and not node.args[7]:
            # In evaluation the gradient depends on the running statistics alone.
            node.args = (*node.args[:5], None, None, *node.args[7:])


def _is_for_programs(node: Node) -> bool:
    """Whether programs have the type and the device of what the op takes."""
    value = node.args[0].meta.get("val") if node.args and isinstance(node.args[0], Node) else None
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32 and has_backend(value.device.type)


def _rewrite_dropout(node: Node, keys: dict[torch.device, Node]) -> None:
    """Dropout and its backward op by a key, unless something else looks at the mask."""
    x, rate, train = node.args
    results = {user.args[1]: user for user in node.users if user.target is operator.getitem}
    backward = list(results[1].users) if 1 in results else []
    if len(results) < len(node.users) or not train or any(
            user.target is not _aten.native_dropout_backward.default or user.args[1] is not results[1] for user in backward):
        return
    device = x.meta["val"].device
    if device not in keys:
        keys[device] = _key(node.graph, x.meta["val"])
    # Each dropout of a graph has a number of its own.
    stream = sum(other.target is torch.ops.pando.dropout_by_key.default for other in node.graph.nodes) + 1
    for of in [*([results[0]] if 0 in results else []), *backward]:
        source = x if of.target is operator.getitem else of.args[0]
        _replace(of, torch.ops.pando.dropout_by_key.default, (source, keys[device], rate, stream))
    for unused in [*([results[1]] if 1 in results else []), node]:
        node.graph.erase_node(unused)


def _key(graph: Graph, like: torch.Tensor) -> Node:
    """A key at the begin of a graph, whose nodes are traced with tensors such as `like`."""
    last = [node for node in graph.nodes if node.op == "placeholder"][-1]
    with graph.inserting_after(last):
        key = graph.call_function(torch.ops.pando.random_key.default, (), {"device": like.device})
    key.meta.update(val=like.new_empty([2], dtype=torch.int64), partitioner_tag="is_forward")
    return key


def _replace(node: Node, target: Any, args: tuple[Any, ...]) -> None:
    with node.graph.inserting_before(node):
        made = node.graph.call_function(target, args)
    made.meta = dict(node.meta)
    node.replace_all_uses_with(made)
    node.graph.erase_node(node)
