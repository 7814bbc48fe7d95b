# SPDX-License-Identifier: Apache-2.0
"""The parameters and buffers of a module, which PyTorch holds, as the program has them."""
from __future__ import annotations

from typing import Any, Iterable

import numpy as np
import torch

from pando import _core


class Weights:
    """PyTorch's memory is what counts: it is copied into the program's where it has changed, and back after each call."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        # By the tensor's id: the tensor, the program's parameter, and what shows that PyTorch has changed it.
        self._known = {}
        # Those that the program changes.
        self.changed = set()

    def named(self) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        """The parameters and the buffers of the module, by their names; each once."""
        return dict(self._model.named_parameters()), dict(self._model.named_buffers())

    def parts(self) -> _core.poptorch.ModuleParts:
        """What the module holds now, as the program's."""
        parameters, buffers = self.named()
        for name, tensor in parameters.items():
            if tensor.dtype != torch.float32:
                raise TypeError(f"the parameter '{name}' is {tensor.dtype}, and programs compute in torch.float32; call "
                                "float() of the model")
        return _core.poptorch.ModuleParts([], [(name, self.core(x)) for name, x in parameters.items()],
                                          [(name, self.core(x)) for name, x in buffers.items()])

    def core(self, tensor: torch.Tensor) -> _core.torch.Parameter:
        """The program's parameter for a tensor."""
        if id(tensor) not in self._known:
            made = _core.torch.Parameter(array_of(tensor), tensor.requires_grad)
            self._known[id(tensor)] = [tensor, made, _state_of(tensor)]
        found = self._known[id(tensor)][1]
        found.requires_grad = tensor.requires_grad
        return found

    def take(self) -> None:
        """Gives the program what PyTorch has changed since it was last looked at."""
        for known in self._known.values():
            tensor, core, state = known
            now = _state_of(tensor)
            if now != state:
                core.set_value(array_of(tensor))
                known[2] = now

    def give(self) -> None:
        """Gives PyTorch what the program has changed."""
        self._give(self._known[key] for key in self.changed)

    def give_all(self) -> None:
        """The same for all, where not the program has changed them but a file was read."""
        self._give(self._known.values())

    def _give(self, chosen: Iterable[Any]) -> None:
        with torch.no_grad():
            for known in chosen:
                tensor, core, _ = known
                tensor.copy_(torch.from_numpy(core.value()))
                known[2] = _state_of(tensor)


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """The memory of a tensor."""
    return tensor.detach().cpu().numpy()


def _state_of(tensor):
    return tensor.data_ptr(), tensor._version
