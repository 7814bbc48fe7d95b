# SPDX-License-Identifier: Apache-2.0
"""The parts of graphs that are programs, and what is known about each graph."""
from __future__ import annotations

import collections
import dataclasses
import threading
from typing import Any

import torch
from torch.fx import GraphModule

from pando import _core
from pando.torch.program import Program
from pando.torch.unsupported import Unsupported

Tensor = torch.Tensor


class Part(torch.nn.Module):
    """A part of a graph as one program, made at the first call; PyTorch runs it if Pando refuses it after all."""

    def __init__(self, module: GraphModule, device: torch.device, precision: str) -> None:
        super().__init__()
        self._module, self._device, self._precision = module, device, precision
        self._program: Program | None = None
        output, = (node for node in module.graph.nodes if node.op == "output")
        self._one = not isinstance(output.args[0], (tuple, list))
        self._lock = threading.Lock()
        self._inputs = 0
        self.reason, self.calls = "", 0

    def forward(self, *fed: Tensor) -> Any:
        # A program works in memory of its own, so it serves one thread at a time.
        with self._lock:
            self.calls += 1
            if self._program is None and not self.reason:
                self._compile(fed)
            if self._program is not None:
                outputs = self._program.run(fed, [], self.calls)
                return outputs[0] if self._one else outputs
        return self._module(*fed)

    def _compile(self, fed: tuple[Tensor, ...]) -> None:
        self._inputs = len(fed)
        try:
            with torch.random.fork_rng([]):    # a program draws a seed, which is of no use here
                self._program = Program("a part of a graph", self._module, [], fed, [],
                                        lambda outputs, assigned, scalars, held: (outputs, assigned), self._precision,
                                        self._device)
        except (Unsupported, _core.Error) as error:
            self.reason = str(error)

    def description(self) -> str:
        """What it takes and how large it is, or why it is not compiled."""
        if self._program is None:
            return f"in PyTorch: {self.calls:,} calls: {self.reason}" if self.reason else "not called yet"
        return f"{self.calls:,} calls with {self._inputs} tensors: {self._program.description()}"


@dataclasses.dataclass(eq=False)
class Record:
    """What became of a graph: of the forward pass, of the backward pass, or of a forward pass without gradients. `stays`
    counts the reasons why ops stay in PyTorch."""
    kind: str
    line: str
    parts: list[Part]
    stays: collections.Counter[str]

    def description(self) -> list[str]:
        """A line for the graph, for each program, and for each reason."""
        programs, ops = sum(not part.reason for part in self.parts), sum(self.stays.values())
        lines = [f"{self.kind}{self.line and f' of {self.line}'}: {programs} program{'s' * (programs != 1)}, "
                 f"{ops} op{'s' * (ops != 1)} in PyTorch"]
        lines += [f"  program {number}: {part.description()}" for number, part in enumerate(self.parts, 1)]
        lines += [f"  in PyTorch{f', {count} times' if count > 1 else ''}: {reason}" for reason, count in self.stays.items()]
        return lines
