# SPDX-License-Identifier: Apache-2.0
"""A traced graph as one compiled program, whose variables are PyTorch's tensors, in their own memory."""
from __future__ import annotations

import functools
import time
from typing import Any, Callable, Sequence

import torch

from pando import _core
from pando.torch.unsupported import Unsupported
from pando.torch.lowering import lower
from pando.torch.weights import Variable, check_apart, check_memory, type_of

# PyTorch before 2.0 has none; there, autograd does not notice changes between a forward and a backward pass.
_increment_version = getattr(torch.autograd.graph, "increment_version", None)
Symbols = list[Any]
# What a program does beside the graph: from the outputs of the graph, what the graph assigns to tensors, the scalars and
# the variables to the outputs of the program and what it assigns to variables.
Finish = Callable[[Symbols, dict[int, Any], Symbols, Symbols], tuple[Symbols, dict[int, Any]]]


# What torch.set_float32_matmul_precision() says, in Pando's words.
PRECISIONS = {"highest": "float32", "high": "tf32", "medium": "mixed_bfloat16"}


def precision_or_pytorchs(precision: str | None) -> str:
    """The precision of products that is asked for; without one, what PyTorch is told to use."""
    return precision or PRECISIONS[torch.get_float32_matmul_precision()]


@functools.lru_cache(maxsize=None)
def has_backend(kind: str) -> bool:
    """Whether programs run on devices that PyTorch calls so, "cpu" or "cuda"."""
    return any(device["backend"] == kind for device in _core.devices())


class Program:
    """The placeholders of the graph are the first variables, then the tensors that a call feeds."""

    def __init__(self, name: str, graph: torch.fx.GraphModule, variables: Sequence[Variable], fed: Sequence[torch.Tensor],
                 scalars: Sequence[str], finish: Finish, precision: str | None, device: torch.device) -> None:
        self.graph, self.device, self._variables = graph, device, variables
        self._tensors = [v.tensor for v in variables]
        # Where the variables are, and those that a run changes.
        self._places: Any = None
        self._changed: list[torch.Tensor] = []
        for tensor in fed:
            if tensor.device != device:
                raise Unsupported(f"an argument is on {tensor.device} and the model on {device}")
        self._check()
        seed = int(torch.randint(2**31, ()))
        from_variables = sum(node.op == "placeholder" for node in graph.graph.nodes) - len(fed)

        def body(inputs: Symbols, held: Symbols, counter: Any) -> tuple[Symbols, list[tuple[int, Any]]]:
            outputs, assigned = lower(graph, [*held[:from_variables], *inputs[:len(fed)]], counter, seed)
            if any(place >= from_variables for place in assigned):
                raise Unsupported("the model writes to one of its arguments; let it write to a clone")
            outputs, assigned = finish(outputs, assigned, inputs[len(fed):], held)
            self._changed = [variables[place].tensor for place in assigned if variables[place].role != "slot"]
            return outputs, list(assigned.items())

        self._kinds = [type_of(v.tensor) for v in variables]
        begin = time.perf_counter()
        self._core = _core.steps.Step(name, [*map(type_of, fed), *((scalar, ()) for scalar in scalars)],
                                      [(v.name, kind, v.role) for v, kind in zip(variables, self._kinds)], body,
                                      "cuda" if device.type == "cuda" else "", precision_or_pytorchs(precision))
        self.types = [(getattr(torch, dtype), shape) for dtype, shape in self._core.outputs()]
        self.bind()
        self.seconds = time.perf_counter() - begin

    def bind(self) -> None:
        """Makes the program read and change the tensors where they are now; costs little if they have not moved. Raises
        Unsupported if they have become tensors that it does not take."""
        if self._places is None or not self._places.is_same():
            self._check()
            for variable, kind in zip(self._variables, self._kinds):
                if type_of(variable.tensor) != kind:
                    raise Unsupported(f"'{variable.name}' was {kind[0]} {list(kind[1])} when the program was made")
            # A view keeps the memory, wherever the tensor itself may move.
            self._core.hold([(tensor.data_ptr(), tensor.detach()) for tensor in self._tensors])
            self._places = _core.steps.Watch([], [], [], self._tensors)

    def _check(self) -> None:
        """Raises Unsupported if a program cannot change the variables where they are."""
        for name, tensor, _ in self._variables:
            check_memory(name, tensor)
            if tensor.device != self.device:
                raise Unsupported(f"'{name}' is on {tensor.device} and the model on {self.device}")
        check_apart((v.name, v.tensor) for v in self._variables)

    def _tell(self) -> None:
        """Tells autograd of the changes, so that it does not use what it has saved of the tensors."""
        if _increment_version is not None:
            _increment_version(self._changed)

    def run(self, fed: Sequence[torch.Tensor], scalars: Sequence[int], update: int) -> list[torch.Tensor]:
        """The outputs for these tensors and the scalars at these addresses."""
        self.bind()
        inputs, outputs = self._ready(fed)
        if self.device.type == "cuda":
            torch.cuda.current_stream(self.device).synchronize()
        self._core.run([*map(torch.Tensor.data_ptr, inputs), *scalars], list(map(torch.Tensor.data_ptr, outputs)), update)
        self._tell()
        return outputs

    def run_rows(self, rows: Sequence[Sequence[torch.Tensor]], scalars: Sequence[Sequence[int]],
                 first_update: int) -> list[list[torch.Tensor]]:
        """The outputs of several steps, one after the other; of fewer if a later one raises, which run() then does, too."""
        self.bind()
        ready = [self._ready(fed) for fed in rows]
        if self.device.type == "cuda":
            torch.cuda.current_stream(self.device).synchronize()
        pointers = torch.Tensor.data_ptr
        done = self._core.run_rows([[*map(pointers, inputs), *given] for (inputs, _), given in zip(ready, scalars)],
                                   [list(map(pointers, outputs)) for _, outputs in ready], first_update)
        self._tell()
        return [outputs for _, outputs in ready[:done]]

    def _ready(self, fed: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        inputs = [tensor if tensor.is_contiguous() else tensor.contiguous() for tensor in fed]
        return inputs, [torch.empty(shape, dtype=dtype, device=self.device) for dtype, shape in self.types]

    def kernels(self) -> list[tuple[str, str, float, float]]:
        """The op, the name, the operations and the bytes of each kernel, in the order in which they run."""
        return self._core.kernels()

    def description(self) -> str:
        """How large it is, for messages."""
        tiles = self._core.tiles()
        return (f"{len(self.kernels())} kernels on {tiles} tile{'s' if tiles > 1 else ''}, "
                f"{self._core.working_bytes() / 1e6:.1f} MB to work in")
