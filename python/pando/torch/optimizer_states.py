# SPDX-License-Identifier: Apache-2.0
"""What an optimizer of torch.optim keeps for its parameters, in PyTorch's own memory: `optimizer.state`, as PyTorch makes it."""
from __future__ import annotations

import inspect
import operator
from typing import Any

import torch

from pando import _core
from pando.torch.optimizers import Rules
from pando.torch.unsupported import Unsupported


class States:
    """The states of the parameters that a program updates, which are those with a gradient. What is missing is made, but the
    optimizer gets it only after the first update: a program that fails before leaves the optimizer as it was."""

    def __init__(self, rules: Rules, parameters: list[torch.Tensor]) -> None:
        self._optimizer, self._parameters = rules.optimizer, parameters
        # What the optimizer will get: a parameter, and what is missing in its state.
        self._made: list[tuple[torch.Tensor, dict[str, Any]]] = []
        self._first: dict[int | None, dict[str, Any]] = {}
        kept = [self._complete(rules, parameter) for parameter in parameters]
        # The tensors that a program reads and changes: for each parameter those of its rule, in the rule's order.
        self.tensors = [[state[name] for name, _, _ in rules.rule_of(p).states] for p, state in zip(parameters, kept)]
        # SGD does not count its updates. The first may be another one than that of a state of zeros.
        begin = {id(parameter) for parameter, _ in self._made}
        self._apart, self._alike = [rules.rule_of(p).begins_apart for p in parameters], (0,) * len(parameters)
        self._uncounted = [float(apart and id(p) not in begin) for apart, p in zip(self._apart, parameters)]
        self._is_counted = any(rules.rule_of(p).is_counted for p in parameters)
        self._counters = [_counter_of(rules, state) for state in kept if self._is_counted or torch.is_tensor(state.get("step"))]
        self._addresses = list(map(torch.Tensor.data_ptr, self._counters))
        self._counts = _core.steps.UpdateCounts(
            [(address, str(step.dtype).rpartition(".")[2]) for address, step in zip(self._addresses, self._counters)])
        self._hold()

    def current(self) -> bool:
        """Whether these tensors are those of the optimizer. They are not after load_state_dict(), nor after a first step of
        PyTorch. It takes 0.2 microseconds for a tensor."""
        state = self._optimizer.state
        if self._made and any((state.get(p) or {}).get(name) is not None for p, made in self._made for name in made):
            return False
        try:
            return (len(state) == len(self._entries) and all(map(operator.is_, state.values(), self._entries)) and
                    all(map(operator.is_, map(operator.getitem, self._owners, self._names), self._held)) and
                    list(map(torch.Tensor.data_ptr, self._counters)) == self._addresses)
        except KeyError:
            return False

    def numbers(self) -> tuple[tuple[int, ...], list[float]]:
        """The class of each parameter and the number of earlier updates of each class: parameters that had a gradient more
        often are in another class. A program depends on the classes and is fed the numbers."""
        found = self._counts.read() if self._is_counted else self._uncounted
        distinct = list(dict.fromkeys(found))
        if len(distinct) == 1:
            return self._alike, distinct
        places = {number: place for place, number in enumerate(distinct)}
        return tuple([places[number] for number in found]), distinct

    def advance(self, updates: int = 1) -> None:
        """Notes that a program has made updates: what step() does but for parameters and tensors."""
        self._counts.add(updates)
        for parameter, made in self._made:
            self._optimizer.state[parameter].update(made)
        if self._made:
            self._made.clear()
            self._hold()
        for state in self._with_integers:
            state["step"] += updates
        self._uncounted = [float(apart) for apart in self._apart]
        # A scheduler asks whether the optimizer has made a step; PyTorch before 2.4 counts its steps.
        if hasattr(self._optimizer, "_step_count"):
            self._optimizer._step_count += updates
        self._optimizer._opt_called = True

    def _complete(self, rules: Rules, parameter: torch.Tensor) -> dict[str, Any]:
        """The state of a parameter with what is missing."""
        rule, group = rules.rule_of(parameter), rules.group_of(parameter)
        found = self._optimizer.state.get(parameter) or {}
        missing = [name for name, _, _ in rule.states if found.get(name) is None]
        if found and not missing:
            return found
        if found and rule.kind != "sgd":
            raise Unsupported(f"{rules.base.__name__} stays eager: it keeps no {missing[0]} for a parameter of shape "
                              f"{list(parameter.shape)}, whose other states it has; make the optimizer with these options")
        if group not in self._first:
            self._first[group] = _first_state(rules, parameter)
        values = {name: value for name, value, _ in rule.states}
        made = {name: _made_like(value, parameter, values.get(name, 0.0)) for name, value in self._first[group].items()
                if found.get(name) is None}
        if made:
            self._made.append((parameter, made))
        return {**found, **made}

    def _hold(self) -> None:
        """Notes the tensors of which `current` asks."""
        state, new = self._optimizer.state, {id(parameter) for parameter, _ in self._made}
        self._entries = list(state.values())
        held = [(state[p], name, value) for p in self._parameters if id(p) not in new and p in state
                for name, value in state[p].items() if torch.is_tensor(value)]
        self._owners, self._names, self._held = map(list, zip(*held)) if held else ([], [], [])
        self._with_integers = [state[p] for p in self._parameters if p in state and isinstance(state[p].get("step"), int)]


def _first_state(rules: Rules, parameter: torch.Tensor) -> dict[str, Any]:
    """What this version of PyTorch keeps for a parameter after the first update of one like it, of two numbers."""
    group = rules.optimizer.param_groups[rules.group_of(parameter)]
    small = torch.zeros(2, dtype=parameter.dtype, device=parameter.device, requires_grad=True)
    small.grad = torch.zeros_like(small)
    taken = inspect.signature(rules.base.__init__).parameters
    trial = rules.base([small], **{name: value for name, value in group.items() if name in taken and name != "params"})
    trial.step()
    return dict(trial.state[small])


def _made_like(example: Any, parameter: torch.Tensor, first: float) -> Any:
    """What the optimizer keeps for the parameter before the first update."""
    if not torch.is_tensor(example):
        return None if example is None else type(example)(first)
    if example.shape == (2,):
        return torch.full_like(parameter, first, memory_format=torch.preserve_format, requires_grad=False)
    return torch.full_like(example, first)


def _counter_of(rules: Rules, state: dict[str, Any]) -> torch.Tensor:
    """The number of updates of a parameter, which must be where a program can be fed it from."""
    step = state.get("step")
    if torch.is_tensor(step) and step.device.type == "cpu" and step.dtype in (torch.float32, torch.float64):
        return step
    kept = f"on {step.device} as {step.dtype}" if torch.is_tensor(step) else f"as {step!r}"
    raise Unsupported(f"{rules.base.__name__} stays eager: it keeps a number of updates {kept}, and not as a float on the CPU; "
                      "make it without fused")
