# SPDX-License-Identifier: Apache-2.0
"""Graphs of Dynamo made fit for programs, whose sizes are fixed and whose results are dense, in the order of their axes."""
from __future__ import annotations

from typing import Any, Iterable

import torch
from torch.fx import GraphModule, Node

_aten = torch.ops.aten


def fix_sizes(examples: Iterable[Any]) -> None:
    """Makes Dynamo's symbols for sizes the numbers that they are in this call. Each int() adds a guard to Dynamo's, so that a
    call with other sizes is compiled for these."""
    for example in examples:
        if isinstance(example, torch.SymInt):
            int(example)
        elif isinstance(example, torch.Tensor):
            for sizes in (example.shape, example.stride(), [example.storage_offset()]):
                list(map(int, sizes))


def put_numbers(module: GraphModule) -> None:
    """Puts numbers where the graph still computes with sizes that are fixed now."""
    for node in list(module.graph.nodes):
        value = node.meta.get("val")
        if node.op != "output" and isinstance(value, (int, torch.SymInt)) and _is_number(value):
            for user in list(node.users):
                if user.op != "output":
                    user.replace_input_with(node, int(value))
    module.graph.eliminate_dead_code()


def _is_number(value: int | torch.SymInt) -> bool:
    return isinstance(value, int) or value.node.maybe_as_int() is not None


def has_fixed_size(value: torch.Tensor) -> bool:
    """Whether the sizes of a tensor of a graph are numbers. Those of nonzero's result, for one, are not."""
    return all(map(_is_number, value.shape))


def keep_layouts(module: GraphModule, outputs: int | None) -> None:
    """Programs return tensors in the order of their axes. A tensor that PyTorch has in another order gets it where that is
    seen: by its user, as one of the first `outputs`, or of all, and by ops that read memory as it is."""
    graph = module.graph
    for node in list(graph.nodes):
        if node.op == "output":
            results = list(node.args[0])
            seen = len(results) if outputs is None else outputs
            node.args = ([*[_laid_out(x, node) for x in results[:seen]], *results[seen:]],)
        elif node.target is _aten.view.default:    # of what may now be in another order than when it was traced
            node.target = _aten.reshape.default
        elif node.op == "call_function" and str(node.target).startswith("aten.as_strided"):
            node.args = (_laid_out(node.args[0], node), *node.args[1:])


def _laid_out(x: Any, user: Node) -> Any:
    value = x.meta.get("val") if isinstance(x, Node) else None
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or not has_fixed_size(value) or \
            value.is_contiguous():
        return x
    with user.graph.inserting_before(user):
        made = user.graph.call_function(with_strides, (x, value.stride()))
    made.meta = dict(x.meta)
    return made


def with_strides(x: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """x with these strides, as they were when it was traced."""
    if x.stride() == tuple(strides):
        return x
    return torch.empty_strided(x.shape, strides, dtype=x.dtype, device=x.device).copy_(x)
