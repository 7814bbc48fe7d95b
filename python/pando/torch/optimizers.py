# SPDX-License-Identifier: Apache-2.0
"""The optimizers of torch.optim as rules of Pando, and the clipping of gradients that comes before them."""
from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import torch

from pando import _core
from pando.torch.unsupported import Unsupported

KINDS = {torch.optim.SGD: "sgd", torch.optim.Adam: "adam", torch.optim.AdamW: "adamw", torch.optim.RMSprop: "rmsprop",
         torch.optim.Adagrad: "adagrad", torch.optim.Adadelta: "adadelta", torch.optim.NAdam: "nadam",
         torch.optim.RAdam: "radam"}
# The first two only choose how PyTorch computes; programs lack the others, which are refused unless they are False.
_HINTS, _LACKING = ("foreach", "fused"), ("capturable", "differentiable")
# What PyTorch before 2.0 computes otherwise: with foreach or without, and what.
_FAULTS = {torch.optim.NAdam: (False, "without foreach, PyTorch before 2.0 takes one decay twice; make it with foreach=True"),
           torch.optim.RAdam: (True, "with foreach, PyTorch before 2.0 leaves eps out; make it with foreach=False")}


class Rule(NamedTuple):
    """What an optimizer does with the parameters of one of its groups."""
    kind: str
    options: dict[str, Any]
    # The name, the first value and the form (whether it is one number) of what is kept for each parameter.
    states: list[tuple[str, float, bool]]

    @property
    def is_counted(self) -> bool:
        """Whether an update depends on its number, which the optimizer keeps."""
        return self.kind in ("adam", "adamw", "nadam", "radam") or bool(self.options.get("lr_decay"))

    @property
    def begins_apart(self) -> bool:
        """Whether the first update is another one than that of a state of zeros, in an optimizer that does not count."""
        return self.kind == "sgd" and bool(self.options["momentum"] and self.options["dampening"])


class Rules:
    """What an optimizer does, as its options are now. Raises Unsupported if a program would not do the same."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer, self.base = optimizer, base_of(type(optimizer))
        if _is_intercepted(optimizer):
            _refuse(optimizer, "its step() was replaced or has hooks, which a program would not call")
        self._rules = [_rule_of(optimizer, self.base, group) for group in optimizer.param_groups]
        self._groups = {id(p): index for index, group in enumerate(optimizer.param_groups) for p in group["params"]}

    def group_of(self, parameter: torch.Tensor) -> int | None:
        """The number of the group that the parameter is in; None if the optimizer does not have it."""
        return self._groups.get(id(parameter))

    def rule_of(self, parameter: torch.Tensor) -> Rule:
        """What happens to a parameter of the optimizer."""
        return self._rules[self._groups[id(parameter)]]

    def emit(self, parameters: Sequence[torch.Tensor], classes: Sequence[int], rates: Sequence[_core.Symbol],
             numbers: Sequence[_core.Symbol], values: Sequence[_core.Symbol], gradients: Sequence[_core.Symbol],
             states: Sequence[Sequence[_core.Symbol]]) -> tuple[list[_core.Symbol], list[list[_core.Symbol]]]:
        """The new values of the parameters and of what is kept for each. `rates` are those of the groups; `numbers` are the
        earlier updates of the classes that States.numbers() has found, one number for each class."""
        new_values, new_states = [], []
        for parameter, place, value, gradient, kept in zip(parameters, classes, values, gradients, states):
            rule = self.rule_of(parameter)
            rate = rates[self._groups[id(parameter)]]
            new, *changed = _core.steps.update(rule.kind, rule.options, rate, numbers[place], value, gradient, list(kept))
            new_values.append(new)
            new_states.append(changed)
        return new_values, new_states


def rates_of(optimizer: torch.optim.Optimizer) -> list[float]:
    """The rate of each group; programs are fed it."""
    return [group["lr"] for group in optimizer.param_groups]


def guard(optimizer: torch.optim.Optimizer) -> Hashable:
    """What Rules depend on, which is everything but the rates: while it is the same, a program is valid. The program must
    hold the parameters, since this has their addresses. It takes a microsecond for a group."""
    names = option_names(base_of(type(optimizer)))
    return (_is_intercepted(optimizer),
            *[(*[tuple(value) if isinstance(value := group.get(name), list) else value for name in names],
               isinstance(group["lr"], torch.Tensor), *map(id, group["params"])) for group in optimizer.param_groups])


@functools.lru_cache(maxsize=None)
def base_of(kind: type) -> type:
    """The class of torch.optim whose step() an optimizer of this class has."""
    base = next((base for base in kind.__mro__ if base in KINDS), None)
    if base is None:
        raise Unsupported(f"{kind.__name__} stays eager: Pando has {', '.join(known.__name__ for known in KINDS)}")
    # PyTorch wraps step() in each class of which an object is made.
    if inspect.unwrap(kind.step) is not inspect.unwrap(base.step):
        raise Unsupported(f"{kind.__name__} stays eager: its step() is not that of torch.optim.{base.__name__}")
    return base


@functools.lru_cache(maxsize=None)
def option_names(base: type) -> list[str]:
    """The options of a class of torch.optim but the rate. Others in a group are notes of schedulers and users."""
    names = [name for name in inspect.signature(base.__init__).parameters if name not in ("self", "params", "lr")]
    # AdamW has it since 2.7 and does not take it.
    return names + ["decoupled_weight_decay"] * (base is torch.optim.AdamW)


def _is_intercepted(optimizer: torch.optim.Optimizer) -> bool:
    """Whether something else would happen in step(): hooks, which PyTorch has since 2.0, or a step() of the object. Those of
    schedulers only count."""
    own, module = vars(optimizer), sys.modules[torch.optim.Optimizer.__module__]
    step = own.get("step")
    return bool(own.get("_optimizer_step_pre_hooks") or own.get("_optimizer_step_post_hooks") or
                getattr(module, "_global_optimizer_pre_hooks", None) or getattr(module, "_global_optimizer_post_hooks", None) or
                step is not None and not (hasattr(step, "_with_counter") or hasattr(step, "_wrapped_by_lr_sched")))


def _refuse(optimizer: torch.optim.Optimizer, reason: str) -> None:
    raise Unsupported(f"{type(optimizer).__name__} stays eager: {reason}")


def _rule_of(optimizer: torch.optim.Optimizer, base: type, group: dict[str, Any]) -> Rule:
    kind, options = KINDS[base], {name: group[name] for name in option_names(base) if name in group}
    for name, value in {"lr": group["lr"], **options}.items():
        if any(isinstance(part, torch.Tensor) for part in (value if isinstance(value, (tuple, list)) else [value])):
            _refuse(optimizer, f"its {name} is a tensor; use a number")
        if name in _LACKING and value:
            _refuse(optimizer, f"it is {name}; make it with {name}=False")
    foreach, fault = _FAULTS.get(base, (None, ""))
    if bool(group.get("foreach")) is foreach and torch.__version__ < "2":
        _refuse(optimizer, fault)
    if kind in ("adam", "adamw") and "decoupled_weight_decay" in options:
        kind = "adamw" if options.pop("decoupled_weight_decay") else "adam"
    options = {name: value for name, value in options.items() if name not in (*_HINTS, *_LACKING)}
    try:
        return Rule(kind, options, _core.steps.update_states(kind, options))
    except (TypeError, _core.Error) as error:
        raise Unsupported(f"{type(optimizer).__name__} stays eager: {error}") from error


def clip_norm(gradients: Sequence[_core.Symbol], max_norm: float,
              norm_type: float = 2.0) -> tuple[list[_core.Symbol], _core.Symbol]:
    """What torch.nn.utils.clip_grad_norm_ makes of the gradients, and their norm."""
    op = _core.op
    if norm_type == 2:
        parts = [op("reduce_sum", [op("square", [x])]) for x in gradients]
        norm = op("sqrt", [functools.reduce(lambda a, b: op("add", [a, b]), parts)])
    elif norm_type == math.inf:
        parts = [op("reduce_max", [op("abs", [x])]) for x in gradients]
        norm = functools.reduce(lambda a, b: op("maximum", [a, b]), parts)
    else:
        raise Unsupported(f"gradients are clipped by the norm 2 or inf, and not by {norm_type}")
    room = op("divide", [_core.scalar(norm, max_norm), op("add", [norm, _core.scalar(norm, 1e-6)])])
    factor = op("minimum", [room, _core.scalar(room, 1.0)])
    return [op("multiply", [x, factor]) for x in gradients], norm


def clip_value(gradients: Sequence[_core.Symbol], limit: float) -> list[_core.Symbol]:
    """What torch.nn.utils.clip_grad_value_ makes of the gradients."""
    return [_core.op("clip", [x], min=-limit, max=limit) for x in gradients]
