# SPDX-License-Identifier: Apache-2.0
"""What an optimizer of torch.optim does in a program: the rules of C++ that its class and options stand for."""
from __future__ import annotations

import torch

from pando import _core
from pando.poptorch.weights import Weights
from pando.torch.optimizers import Rules
from pando.torch.unsupported import Unsupported


class Updates:
    """An optimizer and the weights that it updates. Raises Unsupported if a program would not do the same."""

    def __init__(self, optimizer: torch.optim.Optimizer, weights: Weights) -> None:
        self._optimizer, self._weights, self._core = optimizer, weights, None
        try:
            rules = Rules(optimizer)
        except Unsupported as error:
            raise Unsupported(f"trainingModel: {str(error).replace(' stays eager', ' is not in Pando')}") from None
        self._rules = [rules.rule_of(group["params"][0]) for group in self._groups()]
        kinds = {rule.kind for rule in self._rules}
        if len(kinds) > 1:
            raise Unsupported(f"trainingModel: the groups are those of {' and '.join(sorted(kinds))}; give them one kind of "
                              "weight decay")
        # What tells its program from another's: not the rates.
        self.key = [(rule, [id(x) for x in group["params"]]) for rule, group in zip(self._rules, self._groups())]

    def _groups(self):
        return [group for group in self._optimizer.param_groups if group["params"]]

    def core(self) -> _core.torch.Optimizer:
        """The optimizer for C++."""
        if self._core is None:
            self._core = _core.poptorch.optimizer(self._rules[0].kind, [
                ([self._weights.core(x) for x in group["params"]], float(group["lr"]), rule.options)
                for rule, group in zip(self._rules, self._groups())])
        return self._core

    def keep(self, before: Updates) -> None:
        """Goes on with the optimizer for C++ of another one that does the same."""
        self._core = before.core()

    def set_rates(self) -> None:
        """The rates that the groups have now, which a scheduler may have changed, are those of the next updates."""
        for i, group in enumerate(self._groups()):
            self.core().set_lr(float(group["lr"]), i)
