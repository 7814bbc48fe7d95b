# SPDX-License-Identifier: Apache-2.0
"""The arguments of a call: the tensors that a program is fed, and everything else, which is compiled into it."""
from __future__ import annotations

from typing import Any, Iterable

import torch
from torch.utils import _pytree as pytree

Tensor = torch.Tensor


class Call:
    """Arguments as a list of tensors, with a key that is equal for calls which one program can serve."""
    __slots__ = ("tensors", "key", "_leaves", "_structure")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if kwargs or not all([isinstance(argument, Tensor) for argument in args]):
            self._leaves, self._structure = pytree.tree_flatten((args, kwargs))
            self.tensors = [leaf for leaf in self._leaves if isinstance(leaf, Tensor)]
            rest = tuple(None if isinstance(leaf, Tensor) else leaf for leaf in self._leaves), str(self._structure)
        else:
            self.tensors, self._structure, rest = list(args), None, None
        self.key = (tuple([(t.shape, t.dtype, t.device, t.requires_grad) for t in self.tensors]), rest)

    def filled(self, tensors: Iterable[Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with these tensors in place of its own."""
        if self._structure is None:
            return tuple(tensors), {}
        fed = iter(tensors)
        leaves = [next(fed) if isinstance(leaf, Tensor) else leaf for leaf in self._leaves]
        return pytree.tree_unflatten(leaves, self._structure)

    def description(self) -> str:
        """The types of the tensors, for messages: "float32 [32, 784], int64 [32]"."""
        return ", ".join(f"{str(t.dtype)[6:]} {list(t.shape)}" for t in self.tensors) or "no tensor"
