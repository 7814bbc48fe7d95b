# SPDX-License-Identifier: Apache-2.0
"""torch.optim.lr_scheduler: learning rates that change from epoch to epoch. They set the "lr" of the groups."""
from __future__ import annotations

import math
import typing as _typing
from typing import Any, Mapping, Sequence

from pando.core.nearest import attributes_of as _attributes_of


class LRScheduler:
    """Sets the rates when it is made, and at each step()."""

    def __init__(self, optimizer: Any, last_epoch: int = -1, verbose: bool = False) -> None:  # noqa: ARG002
        self.optimizer, self.last_epoch = optimizer, last_epoch
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()

    def step(self, epoch: int | None = None) -> None:
        """Ends an epoch: the groups of the optimizer get their next learning rates."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = lr
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_lr(self) -> list[float]:
        """The learning rates of the groups for the epoch that begins."""
        raise NotImplementedError("get_lr")

    def get_last_lr(self) -> list[float]:
        """The learning rates of the groups now."""
        return self._last_lr

    def _current(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """The epoch and the rates, as a dict."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer" and not callable(value)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Sets what ``state_dict`` returned."""
        self.__dict__.update(state_dict)


_LRScheduler = LRScheduler


class StepLR(LRScheduler):
    """Multiplies the rate by gamma every step_size epochs."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        if step_size < 1:
            raise ValueError(f"StepLR: step_size is {step_size} but must be positive")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self) -> Any:
        factor = self.gamma if self.last_epoch > 0 and self.last_epoch % self.step_size == 0 else 1
        return [lr * factor for lr in self._current()]


class MultiStepLR(LRScheduler):
    """Multiplies the rate by gamma at each of the milestones."""

    def __init__(self, optimizer: Any, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1,
                 verbose: bool = False) -> None:
        self.milestones, self.gamma = list(milestones), gamma
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self) -> Any:
        return [lr * self.gamma**self.milestones.count(self.last_epoch) for lr in self._current()]


class ExponentialLR(LRScheduler):
    """Multiplies the rate by gamma each epoch."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self) -> Any:
        return [lr * (self.gamma if self.last_epoch > 0 else 1) for lr in self._current()]


class LambdaLR(LRScheduler):
    """The first rate times what a function of the epoch returns."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1, verbose: bool = False) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self) -> Any:
        return [base * factor(self.last_epoch) for base, factor in zip(self.base_lrs, self.lr_lambdas)]


class LinearLR(LRScheduler):
    """Goes from start_factor to end_factor times the rate in total_iters epochs."""

    def __init__(self, optimizer: Any, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5,
                 last_epoch: int = -1, verbose: bool = False) -> None:
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self) -> Any:
        done = min(self.last_epoch, self.total_iters) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * done) for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Follows a cosine from the rate to eta_min in T_max epochs."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0, last_epoch: int = -1,
                 verbose: bool = False) -> None:  # noqa: N803
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self) -> Any:
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class ReduceLROnPlateau:
    """Multiplies the rate by a factor when a number has not improved for some epochs."""

    def __init__(self, optimizer: Any, mode: Any = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0,
                 eps: float = 1e-8, verbose: bool = False) -> None:  # noqa: ARG002
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.min_lr, self.best, self.num_bad_epochs, self.cooldown_counter = min_lr, None, 0, 0

    def _is_better(self, value):
        if self.best is None:
            return True
        margin = self.threshold * (abs(self.best) if self.threshold_mode == "rel" else 1)
        return value < self.best - margin if self.mode == "min" else value > self.best + margin

    def step(self, metrics: Any, epoch: int | None = None) -> Any:  # noqa: ARG002
        """Ends an epoch whose monitored value was ``metrics``."""
        value = float(metrics)
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            for group in self.optimizer.param_groups:
                group["lr"] = max(group["lr"] * self.factor, self.min_lr)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
