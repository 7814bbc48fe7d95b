# SPDX-License-Identifier: Apache-2.0
"""The tensors of a module: PyTorch owns their memory, and programs read and change it where it is."""
from __future__ import annotations

from typing import Any, Iterable, NamedTuple

import torch

from pando import _core
from pando.torch.symbols import dtype_name
from pando.torch.unsupported import Unsupported


class Variable(NamedTuple):
    """A tensor that a program reads and may change. The role is "weight", "statistic" or "slot"."""
    name: str
    tensor: torch.Tensor
    role: str


def type_of(tensor: torch.Tensor) -> tuple[str, tuple[int, ...]]:
    """The type of a tensor as programs name it. Raises Unsupported for one that they cannot read."""
    if tensor.layout != torch.strided:
        raise Unsupported(f"a tensor is stored as {tensor.layout}; programs read dense tensors, as to_dense() makes them")
    return dtype_name(tensor.dtype), tuple(tensor.shape)


def check_memory(name: str, tensor: torch.Tensor) -> None:
    """Raises Unsupported for a weight that a program cannot change where it is."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.Tensor)):
        raise Unsupported(f"'{name}' is a {type(tensor).__name__}, whose memory is not that of a plain tensor")
    try:
        type_of(tensor)
    except Unsupported as error:
        raise Unsupported(f"'{name}': {error}") from None
    if not tensor.is_contiguous():
        raise Unsupported(f"'{name}' is not contiguous; set its data to data.contiguous()")


def check_apart(tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Raises Unsupported if two tensors share memory: a program would change one behind the other."""
    pieces = sorted((t.data_ptr(), t.data_ptr() + t.numel() * t.element_size(), name) for name, t in tensors if t.numel())
    for (_, end, name), (begin, _, other) in zip(pieces, pieces[1:]):
        if begin < end:
            raise Unsupported(f"'{name}' and '{other}' share memory; make them one parameter, or clone one of them")


class Weights:
    """The parameters and buffers of a module, each once, and whether they are still the same."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        self.parameters = dict(model.named_parameters())
        self.buffers = dict(model.named_buffers())
        for name, tensor in self.named():
            check_memory(name, tensor)
        check_apart(self.named())
        devices = {tensor.device for _, tensor in self.named()}
        if len(devices) > 1:
            raise Unsupported(f"the model is on several devices: {', '.join(sorted(map(str, devices)))}")
        self.device = devices.pop() if devices else torch.device("cpu")
        self._modules = list(model.modules())
        tables = [table for module in self._modules for table in (module._parameters, module._buffers, module._modules)]
        self._watch = _core.steps.Watch([(table, key, value) for table in tables for key, value in table.items()], tables, [], [])
        self._numbers: dict[Any, int] = {}
        self._watch_modes()

    def named(self) -> list[tuple[str, torch.Tensor]]:
        """The parameters, then the buffers, with their names."""
        return [*self.parameters.items(), *self.buffers.items()]

    def variables(self) -> list[Variable]:
        """The same for a program."""
        return [*(Variable(name, tensor, "weight") for name, tensor in self.parameters.items()),
                *(Variable(name, tensor, "statistic") for name, tensor in self.buffers.items())]

    def are_current(self) -> bool:
        """Whether the module still has these tensors and modules, and no other."""
        return self._watch.is_same()

    def mode(self) -> int:
        """A number for what may change without another tensor: which modules train, and which parameters are trained."""
        if not self._modes.is_same():
            self._watch_modes()
        return self._mode

    def _watch_modes(self) -> None:
        training = [(vars(module), "training", module.training) for module in self._modules]
        trained = [(parameter, "requires_grad", parameter.requires_grad) for parameter in self.parameters.values()]
        key = tuple([flag for *_, flag in training]), tuple([flag for *_, flag in trained])
        self._mode = self._numbers.setdefault(key, len(self._numbers))
        self._modes = _core.steps.Watch(training, [], trained, [])
