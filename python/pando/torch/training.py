# SPDX-License-Identifier: Apache-2.0
"""The program of a training step: forward pass, loss and gradients as PyTorch's autograd traces them, and the update."""
from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import torch

import pando.torch.python_state as python_state
import pando.torch.symbols as symbols
import pando.torch.tracing as tracing
from pando.torch.calls import Call
from pando.torch.eager import EagerStep
from pando.torch.optimizer_states import States
from pando.torch.optimizers import Rules, clip_norm, clip_value, rates_of
from pando.torch.program import Program
from pando.torch.unsupported import Unsupported
from pando.torch.weights import Variable, Weights


class TrainingProgram:
    """A step for calls of one kind. `is_last` says whether the update is part of it: the calls before it, if gradients are
    accumulated, only add their gradients to those that the parameters keep in `grad`."""

    def __init__(self, weights: Weights, eager: EagerStep, call: Call, is_last: bool, precision: str | None) -> None:
        self.checked = False
        self._weights, self._eager, self._is_last, self._precision = weights, eager, is_last, precision
        self._rules = Rules(eager.optimizer)
        _check_parameters(eager.optimizer, weights)
        tensors = [tensor for _, tensor in weights.named()]
        self._graph, self._written, self._trained = _traced(weights, eager, call, tensors)
        weights.written |= self._written.names()
        self._types = call.description()
        self._compile(call.tensors)

    def run(self, call: Call, number: int) -> torch.Tensor:
        """Trains with a batch, and returns the loss. Random numbers depend on the number."""
        self._ready(call)
        self._rates[:] = rates_of(self._eager.optimizer)
        loss, *others = self._program.run(call.tensors, self._scalars, number)
        self._written.write(others)
        if self._is_last:
            self._states.advance()
        return loss

    def run_rows(self, calls: Sequence[Call], first_number: int) -> list[torch.Tensor]:
        """Trains with several batches, one after the other, and returns the losses. Each is an update."""
        self._ready(calls[0])
        self._rates[:] = rates_of(self._eager.optimizer)
        numbers = self._earlier + np.arange(len(calls))[:, None]
        found = self._program.run_rows([call.tensors for call in calls],
                                       [[*_addresses(self._rates), *_addresses(row)] for row in numbers], first_number)
        self._states.advance(len(found))
        self._written.write(found[-1][1:])
        if len(found) < len(calls):
            self.run(calls[len(found)], first_number + len(found))
        return [loss for loss, *_ in found]

    def description(self) -> str:
        """What it takes and how large it is."""
        what = "" if self._is_last else ", gradients only"
        return f"{self._types}{what}: {self._program.description()}"

    def kernels(self) -> list[tuple[str, str, float, float]]:
        return self._program.kernels()

    def _ready(self, call: Call) -> None:
        """Compiles again if the optimizer has other tensors, such as loaded ones, if parameters have made other numbers of
        updates, or if they have other gradients to add to."""
        for p, kept in zip(self._parameters, self._kept):
            if p.grad is None:
                p.grad = kept.zero_()
        if any([p.grad is not kept for p, kept in zip(self._parameters, self._kept)]):
            self._compile(call.tensors)
        if not self._is_last:
            return
        if not self._states.current():
            self._compile(call.tensors)
        classes, earlier = self._states.numbers()
        if classes != self._classes:
            self._compile(call.tensors)
        self._earlier[:] = earlier

    def _compile(self, fed: Sequence[torch.Tensor]) -> None:
        weights = self._weights
        self._parameters = [list(weights.parameters.values())[i] for i in self._trained]
        names = [list(weights.parameters)[i] for i in self._trained]
        variables = weights.variables()
        self._states = States(self._rules, self._parameters)
        self._classes, earlier = self._states.numbers()
        self._slots = []
        if self._is_last:
            for name, kept in zip(names, self._states.tensors):
                self._slots.append(range(len(variables), len(variables) + len(kept)))
                variables += [Variable(f"{name}/state{i}", tensor, "slot") for i, tensor in enumerate(kept)]
        self._kept = _gradients_of(self._parameters) if self._eager.accumulate > 1 else []
        self._gradients = range(len(variables), len(variables) + len(self._kept))
        variables += [Variable(f"{name}/grad", kept, "slot") for name, kept in zip(names, self._kept)]
        # What a run is fed beside the batch: the rate of each group, and the number of earlier updates of each class.
        self._rates = np.empty(len(self._eager.optimizer.param_groups), np.float32)
        self._earlier = np.array(earlier if self._is_last else [], np.float64)
        self._scalars = [*_addresses(self._rates), *_addresses(self._earlier)]
        scalars = ["float32"] * len(self._rates) + ["float64"] * len(self._earlier)
        self._program = Program("compile_step", self._graph, variables, fed, scalars, self._finish, self._precision,
                                weights.device)

    def _finish(self, outputs: list[Any], assigned: dict[int, Any], scalars: list[Any],
                held: list[Any]) -> tuple[list[Any], dict[int, Any]]:
        """The update, as symbols: it follows what the forward pass itself has assigned."""
        count = 1 + len(self._trained)
        gradients, outputs = outputs[1:count], [outputs[0], *outputs[count:]]
        kept = [held[i] for i in self._gradients]
        if kept:
            gradients = [symbols.op("add", before, new) for before, new in zip(kept, gradients)]
        if not self._is_last:
            return outputs, {**assigned, **dict(zip(self._gradients, gradients))}
        clipping = self._eager.clipping
        if clipping.value is not None:
            gradients = clip_value(gradients, clipping.value)
        if clipping.norm is not None:
            gradients, _ = clip_norm(gradients, clipping.norm)
        groups = len(self._eager.optimizer.param_groups)
        values = [assigned.get(i, held[i]) for i in self._trained]
        values, states = self._rules.emit(self._parameters, self._classes, scalars[:groups], scalars[groups:], values,
                                          gradients, [[held[i] for i in slots] for slots in self._slots])
        assigned = {**assigned, **dict(zip(self._trained, values))}
        for slots, new in zip(self._slots, states):
            assigned.update(zip(slots, new))
        for place in self._gradients:
            assigned[place] = symbols.full(held[place], held[place].shape, 0, "float32")
        return outputs, assigned


def _traced(weights: Weights, eager: EagerStep, call: Call,
            tensors: list[torch.Tensor]) -> tuple[torch.fx.GraphModule, python_state.Written, list[int]]:
    """The graph of the loss, the gradients and what forward() writes to attributes; these; and the positions of the parameters
    that have a gradient. The model may have others than the optimizer, such as the discriminator beside the generator that is
    trained."""
    updated = {id(p) for group in eager.optimizer.param_groups for p in group["params"]}
    parameters = list(weights.parameters.values())
    wanted = [i for i, p in enumerate(parameters) if p.requires_grad and id(p) in updated]
    if not wanted:
        raise Unsupported("the optimizer has no parameter that requires a gradient")
    if any(tensor.requires_grad for tensor in call.tensors):
        raise Unsupported("an argument requires a gradient, which a program does not give it; use its detach()")
    if any(getattr(p, "_post_accumulate_grad_hooks", None) for p in parameters):
        raise Unsupported("a parameter has a hook that runs after its gradient was added up")
    trained: list[int] = []

    def joint(held: list[torch.Tensor], fed: list[torch.Tensor]) -> list[torch.Tensor]:
        args, kwargs = call.filled(fed)
        with tracing.swapped(weights.model, tensors, held):
            loss, _ = eager.objective(args, kwargs)
            if not loss.requires_grad:
                raise Unsupported("the loss depends on no parameter that requires a gradient")
            share = loss / eager.accumulate if eager.accumulate > 1 else loss
            found = torch.autograd.grad(share.reshape(()), [held[i] for i in wanted], allow_unused=True)
        trained[:] = [i for i, gradient in zip(wanted, found) if gradient is not None]
        gradients = [_hooked(parameters[i], gradient) for i, gradient in zip(wanted, found) if gradient is not None]
        return [loss.detach().reshape(()), *gradients]

    graph, written = python_state.traced(weights.model, joint, tensors, call.tensors)
    return graph, written, trained


def _hooked(parameter: torch.nn.Parameter, gradient: torch.Tensor) -> torch.Tensor:
    """What the hooks of the parameter make of its gradient: the parameter itself is not in the trace."""
    for hook in list((parameter._backward_hooks or {}).values()):
        changed = hook(gradient)
        gradient = gradient if changed is None else changed
    return gradient


def _gradients_of(parameters: list[torch.nn.Parameter]) -> list[torch.Tensor]:
    """The gradients that calls add to, made where a parameter has none."""
    for p in parameters:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    return [p.grad for p in parameters]


def _check_parameters(optimizer: torch.optim.Optimizer, weights: Weights) -> None:
    known = set(map(id, weights.parameters.values()))
    for group in optimizer.param_groups:
        for p in group["params"]:
            if id(p) not in known:
                raise Unsupported(f"the optimizer has a parameter of shape {list(p.shape)} that is not the model's; add it to "
                                  "the model, or use another optimizer for it")


def _addresses(numbers: np.ndarray) -> list[int]:
    """Where the numbers are."""
    first = numbers.ctypes.data
    return [first + i * numbers.itemsize for i in range(len(numbers))]
