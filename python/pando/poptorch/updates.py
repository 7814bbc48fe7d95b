# SPDX-License-Identifier: Apache-2.0
"""What an optimizer of torch.optim does in a program: the rule of C++ that its class and options stand for."""
from __future__ import annotations

from typing import Any

import torch

from pando import _core
from pando.poptorch.weights import Weights

# The options of a group that C++ obeys, and those that change no result.
_OPTIONS = {"sgd": ("momentum", "dampening", "weight_decay", "nesterov"),
            "adam": ("betas", "eps", "weight_decay"), "adamw": ("betas", "eps", "weight_decay"),
            "rmsprop": ("alpha", "eps", "weight_decay", "momentum", "centered"),
            "adagrad": ("lr_decay", "weight_decay", "initial_accumulator_value", "eps"),
            "adadelta": ("rho", "eps", "weight_decay")}
_WITHOUT_EFFECT = ("params", "lr", "initial_lr", "foreign", "fused", "capturable", "differentiable", "decoupled_weight_decay")
_RULES = {torch.optim.SGD: "sgd", torch.optim.Adam: "adam", torch.optim.AdamW: "adamw", torch.optim.RMSprop: "rmsprop",
          torch.optim.Adagrad: "adagrad", torch.optim.Adadelta: "adadelta"}


class Updates:
    """An optimizer and the weights that it updates."""

    def __init__(self, optimizer: torch.optim.Optimizer, weights: Weights) -> None:
        self._optimizer, self._weights, self._core = optimizer, weights, None
        self._rule = _rule_of(optimizer)
        self.key = self._rule, tuple(self._group(group) for group in optimizer.param_groups)

    def _group(self, group):
        """What tells a group's program from another's: not its rate."""
        for name, value in group.items():
            if name not in _WITHOUT_EFFECT and name not in _OPTIONS[self._rule] and value not in (None, False):
                raise NotImplementedError(f"{type(self._optimizer).__name__}: {name}={value!r} is not in Pando")
        options = tuple((name, group[name]) for name in _OPTIONS[self._rule] if name in group)
        return tuple(id(x) for x in group["params"]), options

    def core(self) -> _core.torch.Optimizer:
        """The optimizer for C++."""
        if self._core is None:
            groups = [([self._weights.core(x) for x in group["params"]],
                       {"lr": float(group["lr"]), **dict(options)})
                      for group, (_, options) in zip(self._optimizer.param_groups, self.key[1])]
            self._core = getattr(_core.torch, self._rule)(groups)
        return self._core

    def keep(self, before: Updates) -> None:
        """Goes on with the optimizer for C++ of another one that does the same."""
        self._core = before.core()

    def set_rates(self) -> None:
        """The rates that the groups have now, which a scheduler may have changed, are those of the next updates."""
        for i, group in enumerate(self._optimizer.param_groups):
            self.core().set_lr(float(group["lr"]), i)


def _rule_of(optimizer):
    for cls in type(optimizer).__mro__:
        if cls in _RULES:
            if type(optimizer) is cls or type(optimizer).__module__ == "pando.poptorch.optim":
                return _RULES[cls]
            break
    raise NotImplementedError(f"the optimizer {type(optimizer).__name__} is not in Pando, which has "
                              f"{', '.join(known.__name__ for known in _RULES)} of torch.optim")
