# SPDX-License-Identifier: Apache-2.0
"""compile_forward: a module of PyTorch as a program that evaluates it."""
from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

import pando.torch.python_state as python_state
from pando.torch.calls import Call
from pando.torch.program import Program
from pando.torch.programs import Programs
from pando.torch.tracing import swapped
from pando.torch.unsupported import Unsupported
from pando.torch.weights import Weights

WHO = "compile_forward"


class ForwardProgram:
    """The forward pass for calls of one kind."""

    def __init__(self, weights: Weights, call: Call, precision: str | None) -> None:
        self._types = call.description()
        tensors = [tensor for _, tensor in weights.named()]

        def forward(held: list[torch.Tensor], fed: list[torch.Tensor]) -> list[torch.Tensor]:
            args, kwargs = call.filled(fed)
            with swapped(weights.model, tensors, held):
                leaves, self._structure = pytree.tree_flatten(weights.model(*args, **kwargs))
            self._leaves = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            self._places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
            return [leaves[i] for i in self._places]

        with torch.no_grad():
            graph, self._written = python_state.traced(weights.model, forward, tensors, call.tensors)
        weights.written |= self._written.names()
        if not self._places:
            raise Unsupported("the module returns no tensor")
        self._program = Program("compile_forward", graph, weights.variables(), call.tensors, [],
                                lambda outputs, assigned, scalars, held: (outputs, assigned), precision, weights.device)

    def run(self, call: Call, number: int) -> Any:
        """What the module returns; `number` counts the calls."""
        leaves = list(self._leaves)
        outputs = self._program.run(call.tensors, [], number)
        for place, output in zip(self._places, outputs):
            leaves[place] = output
        self._written.write(outputs[len(self._places):])
        return pytree.tree_unflatten(leaves, self._structure)

    def description(self) -> str:
        """What it takes and how large it is."""
        return f"{self._types}: {self._program.description()}"

    def kernels(self) -> list[tuple[str, str, float, float]]:
        return self._program.kernels()


class CompiledForward:
    """The forward pass of a module, with the weights that the module has at the time of a call."""

    def __init__(self, model: torch.nn.Module, precision: str | None, strict: bool) -> None:
        self._model, self._calls = model, 0
        self._programs = Programs(WHO, model, lambda weights, call: ForwardProgram(weights, call, precision), strict)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the module returns for these arguments, without gradients."""
        call = Call(args, kwargs)
        program = self._programs.find(call)
        if program is None:
            with torch.no_grad():
                found = self._model(*args, **kwargs)
            self._programs.tell()
            return found
        self._calls += 1
        return program.run(call, self._calls - 1)

    def explain(self) -> str:
        """The programs that were made: what they take, and the kernels that they run."""
        return self._programs.explain()

    def report(self) -> str:
        """How many calls each program took, and how many PyTorch, and why."""
        return self._programs.report()


def compile_forward(model: torch.nn.Module, *, precision: str | None = None, strict: bool = False) -> CompiledForward:
    """The forward pass of a module as one program: for evaluation, and for use. It has no gradients. ``precision`` and
    ``strict`` are those of ``compile_step``.

    >>> import torch
    >>> from pando.torch import compile_forward
    >>> model = torch.nn.Linear(3, 2).eval()
    >>> forward = compile_forward(model)
    >>> torch.allclose(forward(torch.ones(4, 3)), model(torch.ones(4, 3)), atol=1e-6)
    True
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"{WHO}: the model is a {type(model).__name__} but must be a torch.nn.Module")
    return CompiledForward(model, precision, strict)
