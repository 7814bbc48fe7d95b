# SPDX-License-Identifier: Apache-2.0
"""The step as PyTorch runs it: what a compiled step stands for, and what runs where no program does."""
from __future__ import annotations

from typing import Any, Callable, Hashable, NamedTuple

import torch

import pando.torch.optimizers as optimizers
from pando.torch.calls import Call


class Objective:
    """The loss of a call: ``loss(model(*inputs), *targets)``, where the last arguments are the targets."""

    def __init__(self, model: torch.nn.Module, loss: Callable[..., torch.Tensor] | None, targets: int) -> None:
        self.model, self.loss, self.targets = model, loss, targets

    def modules(self) -> torch.nn.Module:
        """The model, and the module that computes the loss, if it is one: its weights of classes are buffers."""
        loss = getattr(self.loss, "__self__", self.loss)    # it may be a method
        return torch.nn.ModuleDict({"model": self.model, "loss": loss}) if isinstance(loss, torch.nn.Module) else self.model

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[torch.Tensor, Any]:
        """The loss, and what the model returned."""
        split = len(args) - self.targets
        if split < 0:
            raise TypeError(f"the step got {len(args)} arguments but its loss takes {self.targets} targets; "
                            "compile_step(targets=...) says how many of the last arguments are targets")
        output = self.model(*args[:split], **kwargs)
        loss = output if self.loss is None else self.loss(output, *args[split:])
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            found = f"a tensor of shape {list(loss.shape)}" if isinstance(loss, torch.Tensor) else f"a {type(loss).__name__}"
            raise TypeError(f"the loss is {found} but must be a tensor of one number; take its mean, or its sum")
        return loss, output


class Clipping(NamedTuple):
    """Limits on the gradients of an update, as torch.nn.utils has them: on the norm of all, and on each number."""
    norm: float | None
    value: float | None


class EagerStep:
    """Forward pass, backward pass and, after every `accumulate` calls, the update, by PyTorch."""

    def __init__(self, objective: Objective, optimizer: torch.optim.Optimizer, accumulate: int, clipping: Clipping) -> None:
        self.objective, self.optimizer = objective, optimizer
        self.accumulate, self.clipping = accumulate, clipping

    def __call__(self, call: Call, position: int) -> torch.Tensor:
        """The loss of a call; `position` counts the calls of an update."""
        if position == 0:
            self.forget_gradients()
        args, kwargs = call.filled(call.tensors)
        loss, _ = self.objective(args, kwargs)
        (loss / self.accumulate if self.accumulate > 1 else loss).backward()
        if position == self.accumulate - 1:
            self._clip([p for group in self.optimizer.param_groups for p in group["params"] if p.grad is not None])
            self.optimizer.step()
            self.forget_gradients()
        return loss.detach().reshape(())

    def guard(self) -> Hashable:
        """What the program of a step depends on beside the module and the arguments."""
        return optimizers.guard(self.optimizer)

    def forget_gradients(self) -> None:
        """Gradients that calls add to stay where they are, as zeros."""
        self.optimizer.zero_grad(set_to_none=self.accumulate == 1)

    def _clip(self, parameters: list[torch.nn.Parameter]) -> None:
        if self.clipping.value is not None:
            torch.nn.utils.clip_grad_value_(parameters, self.clipping.value)
        if self.clipping.norm is not None:
            torch.nn.utils.clip_grad_norm_(parameters, self.clipping.norm)
