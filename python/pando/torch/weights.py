# SPDX-License-Identifier: Apache-2.0
"""The tensors of a module: PyTorch owns their memory, and programs read and change it where it is."""
from __future__ import annotations

import itertools
from typing import Any, Iterable, NamedTuple

import torch

from pando import _core
import pando.torch.python_state as python_state
from pando.torch.symbols import dtype_name
from pando.torch.unsupported import Unsupported


# What a program depends on at a parameter: whether it is trained, and the tables of its hooks, which are None at first.
_OF_PARAMETERS = ("requires_grad", "_backward_hooks", "_post_accumulate_grad_hooks")
_MOST_STATES = 100


# Kernels of GPUs read this many bytes at once.
_GPU_ALIGNMENT = 16


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
    if tensor.is_cuda and tensor.data_ptr() % _GPU_ALIGNMENT:
        raise Unsupported(f"'{name}' begins in the middle of a piece of memory of the GPU; set its data to data.clone()")


def check_apart(tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Raises Unsupported if two tensors share memory: a program would change one behind the other."""
    pieces = sorted((t.data_ptr(), t.data_ptr() + t.numel() * t.element_size(), name) for name, t in tensors if t.numel())
    for (_, end, name), (begin, _, other) in zip(pieces, pieces[1:]):
        if begin < end:
            raise Unsupported(f"'{name}' and '{other}' share memory; make them one parameter, or clone one of them")


class Weights:
    """The parameters and buffers of a module, each once, and whether they are still the same."""

    def __init__(self, model: torch.nn.Module, loss: Any = None) -> None:
        if any(isinstance(module, torch.jit.ScriptModule) for module in model.modules()):
            raise Unsupported("the model has a ScriptModule, whose Python is not there to be traced; give it the module itself")
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
        if self.device.type not in ("cpu", "cuda") or self.device.index:
            raise Unsupported(f"the model is on {self.device}; programs run on the CPU and on the first GPU")
        self._first = next((tensor for _, tensor in self.named()), None)
        self._modules = list(model.modules())
        tables = [table for module in self._modules for table in (module._parameters, module._buffers, module._modules)]
        self._watch = _core.steps.Watch([(table, key, value) for table in tables for key, value in table.items()], tables, [], [])
        self._functions = [*dict.fromkeys(type(module).forward for module in self._modules), loss]
        # The attributes that programs write, which do not matter to them.
        self.written: set[tuple[int, str]] = set()
        self._numbers: dict[Any, int] = {}
        self._count = itertools.count()
        self.watch_state()

    def named(self) -> list[tuple[str, torch.Tensor]]:
        """The parameters, then the buffers, with their names."""
        return [*self.parameters.items(), *self.buffers.items()]

    def variables(self) -> list[Variable]:
        """The same for a program."""
        return [*(Variable(name, tensor, "weight") for name, tensor in self.parameters.items()),
                *(Variable(name, tensor, "statistic") for name, tensor in self.buffers.items())]

    def are_current(self) -> bool:
        """Whether the module still has these tensors and modules, and no other, on the same device."""
        return self._watch.is_same() and (self._first is None or self._first.device == self.device)

    def state(self) -> int:
        """A number for what may change without another tensor: attributes of modules, hooks, and which parameters are
        trained."""
        if not self._state.is_same():
            self.watch_state()
        return self._number

    def watch_state(self) -> None:
        """Looks again, as attributes are other ones or `written` has more."""
        entries, cells = python_state.surroundings_of(self._functions)
        entries += [entry for module in self._modules for entry in python_state.entries_of(module, self.written)]
        parameters = [(p, name, getattr(p, name)) for p in self.parameters.values() for name in _OF_PARAMETERS
                      if hasattr(p, name)]
        hooks = [*python_state.hooks_of(self._modules), *(table for _, _, table in parameters if isinstance(table, dict))]
        key = (python_state.key_of([*entries, *cells]), tuple(map(tuple, hooks)),
               tuple([flag for _, name, flag in parameters if name == "requires_grad"]))
        if len(self._numbers) >= _MOST_STATES and key not in self._numbers:
            self._numbers.clear()
        self._number = self._numbers.setdefault(key, next(self._count))
        entries += [(table, number, hook) for table in hooks for number, hook in table.items()]
        tables = [*(vars(module) for module in self._modules), *hooks]
        self._state = _core.steps.Watch(entries, tables, [*parameters, *cells], [])
