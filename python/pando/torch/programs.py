# SPDX-License-Identifier: Apache-2.0
"""The programs of a module, one for each kind of call, and which calls PyTorch runs instead, and why."""
from __future__ import annotations

import collections
import warnings
from typing import Any, Callable

import torch

from pando.torch.calls import Call
from pando.torch.unsupported import Unsupported
from pando.torch.weights import Weights

# Calls of further kinds run in PyTorch.
MOST_PROGRAMS = 8
SEEN_ONCE = "its kind was seen once; a program is made when it comes again"
MOST_SEEN = 32


def _autocast() -> tuple[Any, ...]:
    """What torch.autocast says at the moment."""
    if hasattr(torch, "get_autocast_dtype"):    # since PyTorch 2.4, which warns of the others
        return (torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda"),
                torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
    return (torch.is_autocast_enabled(), torch.get_autocast_gpu_dtype(),
            torch.is_autocast_cpu_enabled(), torch.get_autocast_cpu_dtype())


class Programs:
    """`make(weights, call)` makes the program of a call, or raises Unsupported. With `strict` that reaches the caller;
    otherwise the call runs in PyTorch, which is told once."""

    def __init__(self, who: str, model: torch.nn.Module, make: Callable[[Weights, Call], Any], strict: bool,
                 loss: Any = None) -> None:
        self._who, self._model, self._make, self._strict, self._loss = who, model, make, strict, loss
        self._weights: Weights | None = None
        self._untold = ""
        self.made: dict[Any, Any] = {}
        self._seen: set[Any] = set()
        self._reasons: dict[Any, str] = {}
        # How many calls each program took, and PyTorch for each reason.
        self.counts: collections.Counter[Any] = collections.Counter()

    def find(self, call: Call, guard: Callable[[], Any] = lambda: None) -> Any:
        """The program for a call, made if it is new; None if PyTorch shall run the call. `guard` says what the program
        depends on beside the call and the module."""
        if call.fault:
            return self._refuse("a call", call.fault)
        weights = self._weights
        if weights is None or not weights.are_current():
            weights = self._begin()
            if weights is None:
                return None
        try:
            key = call.key, weights.state(), torch.get_float32_matmul_precision(), _autocast(), guard()
        except Unsupported as error:
            return self._refuse(call.description(), str(error), error)
        program = self.made.get(key)
        if program is None:
            program = self._new(key, weights, call)
        if program is not None:
            self.counts[program] += 1
        return program

    def _begin(self) -> Weights | None:
        """Forgets programs of tensors that the module no longer has."""
        self._weights = None
        for kept in (self.made, self._seen, self._reasons):
            kept.clear()
        try:
            self._weights = Weights(self._model, self._loss)
        except Unsupported as error:
            self._refuse("the model", str(error), error)
        return self._weights

    def _new(self, key: Any, weights: Weights, call: Call) -> Any:
        if key in self._reasons:
            self.counts[self._reasons[key]] += 1
            return None
        if self.made and key not in self._seen:
            if len(self._seen) >= MOST_SEEN:
                return self._refuse(call.description(), f"{MOST_SEEN} kinds of calls were seen once; give batches the same "
                                    "types, and change at every call neither attributes of the model nor options of the "
                                    "optimizer but the rate")
            self._seen.add(key)
            self.counts[SEEN_ONCE] += 1
            return None
        if len(self.made) >= MOST_PROGRAMS:
            self._reasons[key] = f"there are {MOST_PROGRAMS} programs already; give batches the same types"
            return self._refuse(call.description(), self._reasons[key])
        try:
            program = self._make(weights, call)
        except Unsupported as error:
            self._reasons[key] = str(error)
            return self._refuse(call.description(), str(error), error)
        # The program writes attributes that the key still has.
        weights.watch_state()
        self.made[call.key, weights.state(), *key[2:]] = program
        return program

    def _refuse(self, what: str, reason: str, error: Exception | None = None) -> None:
        self.counts[reason] += 1
        if self._strict:
            raise error or Unsupported(reason)
        if self.counts[reason] == 1:
            self._untold = f"{self._who}: {what} runs in PyTorch and is not compiled: {reason}"

    def fall_back(self, program: Any, call: Call, error: Unsupported) -> None:
        """PyTorch shall run a call that a program was found for, since tensors are no longer those that the program takes."""
        self.counts[program] -= 1
        self._weights = None    # the next call looks at all of them again
        self._refuse(call.description(), str(error), error)

    def tell(self) -> None:
        """Says what the last call was refused for, once. It is called after PyTorch has run the call: an error of the model
        itself is then all that its user sees."""
        text, self._untold = self._untold, ""
        if text:
            warnings.warn(text, stacklevel=4)

    def explain(self) -> str:
        """The programs, with the kernels that each runs."""
        lines = []
        for number, program in enumerate(self.made.values(), 1):
            lines.append(f"program {number}: {program.description()}")
            for op, name, operations, size in program.kernels():
                lines.append(f"  {op:32s} {operations / 1e6:10.3f} MFLOP {size / 1e6:9.3f} MB  {name}".rstrip())
        return "\n".join(lines) or "no program yet: call the step with a batch"

    def report(self) -> str:
        """Which calls ran where, and why."""
        lines = []
        for number, program in enumerate(self.made.values(), 1):
            lines.append(f"program {number}: {self.counts[program]:,} calls of {program.description()}")
        for reason, count in self.counts.items():
            if isinstance(reason, str):
                lines.append(f"in PyTorch: {count:,} calls: {reason}")
        return "\n".join(lines) or "no call yet"
