# SPDX-License-Identifier: Apache-2.0
"""The parameters and buffers of a module: PyTorch owns their memory, and programs read and change it where it is."""
from __future__ import annotations

import numpy as np
import torch

from pando import _core
from pando.torch.unsupported import Unsupported
from pando.torch.weights import check_apart, check_memory

# Tells autograd that a tensor has changed; PyTorch before 2.0 has no way to say it.
_increment_version = getattr(torch.autograd.graph, "increment_version", None)


class Weights:
    """What a module holds, for the programs that are made of it."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        # By the tensor's id: the tensor, the parameter of C++, and the address of the memory that both have.
        self._known = {}
        # The tensors that programs change, by their ids.
        self.changed = {}

    def named(self) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        """The parameters and the buffers of the module, by their names; each once."""
        return dict(self._model.named_parameters()), dict(self._model.named_buffers())

    def parts(self) -> _core.poptorch.ModuleParts:
        """What the module holds now, for C++. Raises Unsupported for what a program cannot change where it is."""
        parameters, buffers = self.named()
        for name, tensor in (*parameters.items(), *buffers.items()):
            check_memory(name, tensor)
            if tensor.device.type != "cpu":
                raise Unsupported(f"'{name}' is on the device {tensor.device}; a model of PopTorch stays on the CPU")
        check_apart((*parameters.items(), *buffers.items()))
        for name, tensor in parameters.items():
            if tensor.dtype != torch.float32:
                raise Unsupported(f"the parameter '{name}' is {tensor.dtype}, and programs train torch.float32; use model.float()")
        return _core.poptorch.ModuleParts([(name, self.core(x)) for name, x in parameters.items()],
                                          [(name, self.core(x)) for name, x in buffers.items()])

    def core(self, tensor: torch.Tensor) -> _core.torch.Parameter:
        """The parameter of C++ that has the tensor's memory."""
        if id(tensor) not in self._known:
            made = _core.torch.Parameter(array_of(tensor), tensor.requires_grad)
            self._known[id(tensor)] = [tensor, made, None]
        known = self._known[id(tensor)]
        known[1].requires_grad = tensor.requires_grad
        self._follow(known)
        return known[1]

    def have_moved(self) -> bool:
        """Whether tensors have other memory than before, as after ``p.data = ...``: programs must be made again."""
        return any([self._follow(known) for known in self._known.values()])

    def _follow(self, known):
        tensor, core, address = known
        if tensor.data_ptr() == address:
            return False
        known[2] = tensor.data_ptr()
        if tensor.numel():
            # A view keeps the memory, wherever the tensor itself may move.
            core.adopt(tensor.data_ptr(), tensor.detach())
        return True

    def tell_changes(self) -> None:
        """To be called after a program has run, so that autograd does not use what it has saved of changed tensors."""
        if _increment_version is not None:
            for tensor in self.changed.values():
                _increment_version(tensor)


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """The memory of a tensor."""
    return tensor.detach().cpu().numpy()
