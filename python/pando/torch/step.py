# SPDX-License-Identifier: Apache-2.0
"""compile_step: forward pass, loss, gradients and update of a module of PyTorch as one program."""
from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator

import torch

from pando.torch.batches import grouped
from pando.torch.calls import Call
from pando.torch.check import agree, first_losses
from pando.torch.eager import Clipping, EagerStep, Objective
from pando.torch.programs import Programs
from pando.torch.training import TrainingProgram
from pando.torch.unsupported import Unsupported
from pando.torch.weights import Weights

WHO = "compile_step"


class CompiledStep:
    """A training step. A call changes the module's own parameters and buffers and the optimizer's own state."""

    def __init__(self, eager: EagerStep, check: str, precision: str | None, strict: bool) -> None:
        self._eager, self._check, self._precision = eager, check, precision
        self._programs = Programs(WHO, eager.objective.modules(), self._make, strict, eager.objective.loss)
        # The calls since the last update, and all calls, on which random numbers depend.
        self._position = self._calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Trains with a batch, and returns its loss: a tensor of one number without gradient."""
        return self._train(Call(args, kwargs))

    def run(self, loader: Iterable[Any], steps_per_execution: int = 1) -> Iterator[torch.Tensor]:
        """Trains with each batch of a loader, and yields the losses. Up to that many batches of the same types run without
        coming back to Python in between: they all are trained before the first of their losses is yielded, and a learning rate
        that changes meanwhile counts from the next execution on."""
        if steps_per_execution < 1:
            raise ValueError(f"run: steps_per_execution is {steps_per_execution} but must be at least 1")
        for calls in grouped(loader, steps_per_execution):
            yield from self._train_all(calls)

    def explain(self) -> str:
        """The programs that were made: what they take, and the kernels that they run."""
        return self._programs.explain()

    def report(self) -> str:
        """How many calls each program took, and how many PyTorch, and why."""
        return self._programs.report()

    def __reduce__(self) -> Any:
        raise TypeError(f"{WHO}: a step is neither copied nor saved; copy the model and the optimizer, and make another step")

    def _is_last(self) -> bool:
        return self._position == self._eager.accumulate - 1

    def _make(self, weights: Weights, call: Call) -> TrainingProgram:
        program = TrainingProgram(weights, self._eager, call, self._is_last(), self._precision)
        if self._check == "first":
            losses = first_losses(self._eager.objective, weights, call, self._precision)
            if losses is not None and not agree(*losses, self._precision):
                found, wanted = losses
                raise Unsupported(f"the loss of its first batch is {found.item():.6g}, and {wanted.item():.6g} in PyTorch; "
                                  "please report the model")
        return program

    def _find(self, call: Call) -> TrainingProgram | None:
        if not torch.is_grad_enabled():
            raise RuntimeError(f"{WHO}: a step needs gradients; call it outside of torch.no_grad()")
        return self._programs.find(call, lambda: (self._eager.guard(), self._is_last()))

    def _train(self, call: Call) -> torch.Tensor:
        return self._train_by(self._find(call), call)

    def _train_by(self, program: TrainingProgram | None, call: Call) -> torch.Tensor:
        """The loss by a program, or by PyTorch where it is None or does not fit any more."""
        loss = None
        if program is not None:
            if self._position == 0 and self._eager.accumulate > 1:
                self._eager.forget_gradients()
            try:
                loss = program.run(call, self._calls)
            except Unsupported as error:
                self._programs.fall_back(program, call, error)
        if loss is None:
            loss = self._eager(call, self._position)
            self._programs.tell()
        self._calls += 1
        self._position = (self._position + 1) % self._eager.accumulate
        return loss

    def _train_all(self, calls: list[Call]) -> Iterator[torch.Tensor]:
        """The same for calls of the same types, in one execution if a program takes them and each is an update."""
        while len(calls) > 1 and self._eager.accumulate == 1:
            program = self._find(calls[0])
            if program is not None:
                try:
                    losses = program.run_rows(calls, self._calls)
                except Unsupported as error:
                    self._programs.fall_back(program, calls[0], error)
                else:
                    self._programs.counts[program] += len(calls) - 1
                    self._calls += len(calls)
                    yield from losses
                    return
            yield self._train_by(None, calls.pop(0))
        for call in calls:
            yield self._train(call)


def compile_step(model: torch.nn.Module, loss: Callable[..., torch.Tensor] | None, optimizer: torch.optim.Optimizer, *,
                 targets: int | None = None, accumulate: int = 1, clip_norm: float | None = None,
                 clip_value: float | None = None, check: str = "first", precision: str | None = None,
                 strict: bool = False) -> CompiledStep:
    """Training of a module with a batch: forward pass, ``loss(model(*inputs), *targets)``, gradients and update as one
    program. The weights stay PyTorch's, in their memory.

    - ``targets``: how many of the last arguments of a call are targets, 1 if it is not given. With ``loss=None`` the module
      itself returns the loss, and all arguments are its own.
    - ``accumulate``: how many calls make one update, with the mean of their gradients.
    - ``clip_norm``, ``clip_value``: limits on the gradients of an update, as ``torch.nn.utils.clip_grad_norm_`` and
      ``clip_grad_value_`` have them.
    - ``check``: "first" compares the loss of the first batch of each program with PyTorch's; "never" does not.
    - ``precision``: "float32", or "mixed_bfloat16" or "tf32" for the factors of products; unless given, what
      ``torch.set_float32_matmul_precision`` says.
    - ``strict``: raises an error where a batch would run in PyTorch, instead of a warning.

    >>> import torch
    >>> from pando.torch import compile_step
    >>> model = torch.nn.Linear(3, 2)
    >>> step = compile_step(model, torch.nn.functional.cross_entropy, torch.optim.SGD(model.parameters(), lr=0.1))
    >>> step(torch.ones(4, 3), torch.tensor([0, 1, 0, 1])).shape
    torch.Size([])
    """
    _check_types(model, optimizer)
    if accumulate < 1:
        raise ValueError(f"{WHO}: accumulate is {accumulate} but must be at least 1")
    if check not in ("first", "never"):
        raise ValueError(f"{WHO}: check is {check!r} but must be 'first' or 'never'")
    for name, limit in (("clip_norm", clip_norm), ("clip_value", clip_value)):
        if limit is not None and not limit > 0:
            raise ValueError(f"{WHO}: {name} is {limit} but must be more than 0")
    if targets is None:
        targets = 0 if loss is None else 1
    eager = EagerStep(Objective(model, loss, targets), optimizer, accumulate, Clipping(clip_norm, clip_value))
    return CompiledStep(eager, check, precision, strict)


def _check_types(model: Any, optimizer: Any) -> None:
    for name, value, wanted in (("model", model, torch.nn.Module), ("optimizer", optimizer, torch.optim.Optimizer)):
        if not isinstance(value, wanted):
            raise TypeError(f"{WHO}: the {name} is a {type(value).__name__} but must be a torch."
                            f"{'nn.Module' if wanted is torch.nn.Module else 'optim.Optimizer'}")
