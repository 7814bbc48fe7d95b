# SPDX-License-Identifier: Apache-2.0
"""torch.optim: what is done with gradients, with PyTorch's names, defaults and arithmetic. An optimizer runs in C++, as part
of a compiled step; Python keeps its groups."""
from __future__ import annotations

import typing as _typing
from typing import Any, Iterable, Mapping

import numpy as np

from pando import _core
from pando.core.hints import Function, Pair
from pando.core.nearest import check_keywords
from pando.core.nearest import missing_attribute as _missing_attribute
from pando.torch import lazy
from pando.torch.nn.parameter import Parameter
from pando.torch.optim import lr_scheduler
from pando.torch.tensor import gradient_not_kept

_torch = _core.torch
# The number of elements of all parameters up to which gradients are always kept.
_SMALL = 65536
# How PyTorch computes, which changes no result.
_WITHOUT_EFFECT = ("foreach", "fused", "capturable", "differentiable")


class _Compiled:
    """The optimizer of C++ that programs are compiled with, and what identifies it."""

    def __init__(self, core: Any, states: Any, key: Any) -> None:
        self.core, self.states, self.key = core, states, key


class _Use:
    """That a step has used gradients, and whether they were looked at after it."""
    __slots__ = ("is_looked_at",)

    def __init__(self):
        self.is_looked_at = False


class Optimizer:
    """Groups of parameters, each with its own options."""
    # The name of what makes it in C++, and the options that it has.
    _make = None

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = dict(defaults)
        self.param_groups = []
        self._states = _core.poptorch.OptimizerStates()
        self._compiled = None
        self._use, self._keeps = None, False
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters with options of their own; those that are not given are the defaults."""
        group = {**self.defaults, **param_group}
        given = param_group["params"]
        group["params"] = [given] if isinstance(given, Parameter) else list(given)
        known = {id(p) for other in self.param_groups for p in other["params"]}
        for p in group["params"]:
            p = p[1] if isinstance(p, tuple) else p
            if not isinstance(p, Parameter):
                raise TypeError(f"optimizer can only optimize parameters of modules, but one of the params is "
                                f"{type(p).__name__}; make it torch.nn.Parameter(...)")
            if id(p) in known:
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)
        self._compiled = None

    def zero_grad(self, set_to_none: bool = True) -> None:  # noqa: ARG002
        """Forgets the gradients of all parameters; call it before ``backward``."""
        for group in self.param_groups:
            for p in group["params"]:
                p._grad = None

    def core(self) -> Any:
        """C++'s optimizer with the options that the groups have now; a new learning rate needs no new one."""
        options = [name for name in self.defaults if name != "lr"]
        key = (id(self), tuple([(*map(id, g["params"]), *[g.get(name) for name in options]) for g in self.param_groups]))
        if self._compiled is None or self._compiled.key != key:
            plain = [([p._value.core for p in g["params"]],
                      {k: v for k, v in g.items() if k in self.defaults and k not in self._ignored})
                     for g in self.param_groups]
            self._compiled = _Compiled(getattr(_torch, self._make)(plain), self._states, key)
        self.set_rates()
        return self._compiled

    def set_rates(self) -> Any:
        """Gives C++ the learning rates that the groups have now."""
        for i, group in enumerate(self.param_groups):
            if self._compiled.core.lr(i) != group["lr"]:
                self._compiled.core.set_lr(float(group["lr"]), i)

    _ignored = ()

    def step(self, closure: Function | None = None) -> Any:
        """Runs the recorded step: everything that was asked for since the last one, and the update, as one program."""
        loss = closure() if closure is not None else None
        updates, owned = [], []
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is None or not p.requires_grad:
                    continue
                gradient = p._grad
                value = gradient._value
                if value is None:
                    raise gradient_not_kept()
                if isinstance(value, np.ndarray):
                    value = lazy.leaf(value)
                updates.append((p._value, value))
                owned.append(gradient)
        if not updates:
            return loss
        mine = {id(gradient) for gradient in owned}
        # Other gradients depend on the values before the update.
        others = [t._value for t in lazy.gradients_alive
                  if id(t) not in mine and isinstance(t._value, lazy.Node) and t._value.value is None]
        kept = [node for _, node in updates] if self._keeps_gradients() else []
        lazy.run(others + kept, self.core(), updates)
        self._use = _Use()
        for gradient in owned:
            value = gradient._value
            if isinstance(value, lazy.Node):
                gradient._value = value.value
            gradient._use = self._use
        return loss

    def _keeps_gradients(self):
        """Whether gradients can be looked at after the step. For large models that costs time, so they are kept by the first
        step, and from then on if a program has looked at them."""
        if self._use is None:
            self._keeps = sum(p.numel() for group in self.param_groups for p in group["params"]) <= _SMALL
        self._keeps = self._keeps or (self._use is not None and self._use.is_looked_at)
        return self._keeps or self._use is None

    def state_dict(self) -> dict[str, Any]:
        """What is kept for the parameters, by name, and the options of the groups."""
        numbers = {id(p): i for i, p in enumerate(p for g in self.param_groups for p in g["params"])}
        return {"state": {"updates": self._states.updates,
                          **{name: self._states.get(name) for name in self._states.names()}},
                "param_groups": [{**{k: v for k, v in g.items() if k != "params"},
                                  "params": [numbers[id(p)] for p in g["params"]]} for g in self.param_groups]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Sets what ``state_dict`` returned."""
        if len(state_dict["param_groups"]) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for group, loaded in zip(self.param_groups, state_dict["param_groups"]):
            if len(loaded["params"]) != len(group["params"]):
                raise ValueError("loaded state dict contains a parameter group that doesn't match the size of "
                                 "optimizer's group")
            group.update({k: v for k, v in loaded.items() if k != "params"})
        for name, value in state_dict["state"].items():
            if name == "updates":
                self._states.updates = value
            else:
                self._states.set(name, value)

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def _check_keywords(who, keywords):
    if keywords.pop("maximize", False):
        raise ValueError(f"{who}: maximize=True is not in Pando; minimise the negative of the loss")
    check_keywords(who, keywords, _WITHOUT_EFFECT)


def _check(value, name, low=0.0):
    if not value >= low:
        raise ValueError(f"Invalid {name}: {value}")


class SGD(Optimizer):
    """Gradient descent, with momentum if it is given."""
    _make, _ignored = "sgd", ("maximize", "foreach", "differentiable")

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False, **keywords: Any) -> None:
        _check_keywords("SGD", keywords)
        _check(lr, "learning rate")
        _check(momentum, "momentum value")
        _check(weight_decay, "weight_decay value")
        if maximize:
            raise ValueError("SGD: maximize=True is not in Pando; minimise the negative of the loss")
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
                                  "differentiable": differentiable})


class Adam(Optimizer):
    """Adam; weight_decay is added to the gradient."""
    _make, _ignored = "adam", ("amsgrad",)

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: Pair = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, **keywords: Any) -> None:
        _check_keywords("Adam", keywords)
        _check(lr, "learning rate")
        _check(eps, "epsilon value")
        if amsgrad:
            raise ValueError(f"{type(self).__name__}: amsgrad=True is not in Pando; leave it out")
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay,
                                  "amsgrad": amsgrad})


class AdamW(Adam):
    """Adam with weight decay that does not go through the gradient."""
    _make = "adamw"

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: Pair = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2, amsgrad: bool = False, **keywords: Any) -> None:
        _check_keywords("AdamW", keywords)
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)


class RMSprop(Optimizer):
    """Divides the gradient by a running root mean square."""
    _make = "rmsprop"

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0, momentum: float = 0, centered: bool = False, **keywords: Any) -> None:
        _check_keywords("RMSprop", keywords)
        _check(lr, "learning rate")
        super().__init__(params, {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay,
                                  "momentum": momentum, "centered": centered})


class Adadelta(Optimizer):
    """Divides the gradient by its running root mean square, and multiplies it by that of the changes so far."""
    _make = "adadelta"

    def __init__(self, params: Iterable[Any], lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0, **keywords: Any) -> None:
        _check_keywords("Adadelta", keywords)
        _check(lr, "learning rate")
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay})


class Adagrad(Optimizer):
    """Divides the gradient by the root of the sum of all squares so far."""
    _make = "adagrad"

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, **keywords: Any) -> None:
        _check_keywords("Adagrad", keywords)
        _check(lr, "learning rate")
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "eps": eps})


__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]


# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        raise _missing_attribute("torch.optim", name, __all__)
