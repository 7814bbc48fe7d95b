# SPDX-License-Identifier: Apache-2.0
"""The loss of a first batch, by a program of the forward pass and by PyTorch. Both leave dropout out, as they draw other
masks, and both leave the module as it is."""
from __future__ import annotations

import contextlib
import threading
from typing import Callable, Iterator

import torch
from torch.nn import functional

import pando.torch.python_state as python_state
import pando.torch.tracing as tracing
from pando.torch.aten import TABLE, name_of
from pando.torch.calls import Call
from pando.torch.eager import Objective
from pando.torch.program import Program, precision_or_pytorchs
from pando.torch.weights import Weights

RELATIVE, RELATIVE_OF_ROUNDED, ABSOLUTE = 1e-3, 3e-2, 1e-5
_DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")


def first_losses(objective: Objective, weights: Weights, call: Call,
                 precision: str | None) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The loss that a program computes, and PyTorch's; None where numbers are drawn, which differ."""
    tensors = [tensor for _, tensor in weights.named()]

    def loss(held: list[torch.Tensor], fed: list[torch.Tensor]) -> list[torch.Tensor]:
        args, kwargs = call.filled(fed)
        with tracing.swapped(weights.model, tensors, held):
            return [objective(args, kwargs)[0].detach()]

    devices = [weights.device] if weights.device.type == "cuda" else []
    with tracing.LOCK, _without_dropout(), torch.random.fork_rng(devices):
        graph, _ = python_state.traced(weights.model, loss, tensors, call.tensors)
        if _draws(graph):
            return None
        with python_state.Kept(weights.model):
            # The model may take gradients itself.
            copies = [tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in tensors]
            wanted, = loss(copies, call.tensors)
        program = Program("the check of the first batch", graph, weights.variables(), call.tensors, [],
                          lambda outputs, assigned, scalars, held: (outputs, {}), precision, weights.device)
        found, *_ = program.run(call.tensors, [], 0)
    return found, wanted


def agree(found: torch.Tensor, wanted: torch.Tensor, precision: str | None) -> bool:
    """Whether a loss is that of PyTorch, but for rounding."""
    relative = RELATIVE if precision_or_pytorchs(precision) == "float32" else RELATIVE_OF_ROUNDED
    return torch.allclose(found.float(), wanted.float(), relative, ABSOLUTE, equal_nan=True)


def _draws(graph: torch.fx.GraphModule) -> bool:
    """Whether random numbers are drawn."""
    ops = [node.target for node in graph.graph.nodes if hasattr(node.target, "_schema")]
    return any(getattr(TABLE.get(name_of(op)), "__module__", "") == "pando.torch.aten.random" for op in ops)


@contextlib.contextmanager
def _without_dropout() -> Iterator[None]:
    """Meanwhile modules and functions that drop out return what this thread gives them."""
    before = {name: getattr(functional, name) for name in _DROPOUTS if hasattr(functional, name)}
    thread = threading.get_ident()

    def passing(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        return lambda input, *rest, **options: (input if threading.get_ident() == thread else
                                                function(input, *rest, **options))
    for name, function in before.items():
        setattr(functional, name, passing(function))
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(functional, name, function)
