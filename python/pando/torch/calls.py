# SPDX-License-Identifier: Apache-2.0
"""The arguments of a call: the tensors that a program is fed, and everything else, which is compiled into it."""
from __future__ import annotations

import enum
import types
from typing import Any, Iterable

import torch
from torch.utils import _pytree as pytree

Tensor = torch.Tensor
# What a program may be made for beside tensors: values that do not change, and functions and classes.
_CONSTANTS = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.Size, enum.Enum, type,
              types.FunctionType, types.BuiltinFunctionType)


class Call:
    """Arguments as a list of tensors, with a key that is equal for calls which one program can serve. `fault` says why there
    is none for any program."""
    __slots__ = ("tensors", "key", "fault", "_leaves", "_structure")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.fault = ""
        if kwargs or not all([isinstance(argument, Tensor) for argument in args]):
            self._leaves, self._structure = pytree.tree_flatten((args, kwargs))
            self.tensors = [leaf for leaf in self._leaves if isinstance(leaf, Tensor)]
            others = [leaf for leaf in self._leaves if not isinstance(leaf, Tensor)]
            for leaf in others:
                if not isinstance(leaf, _CONSTANTS):
                    self.fault = (f"an argument has a {type(leaf).__name__}; programs take tensors, numbers and strings, and "
                                  "lists, tuples and dicts of them")
            rest = "" if self.fault else (tuple(map(_known, self._leaves)), str(self._structure))
        else:
            self.tensors, self._structure, rest = list(args), None, None
        self.key = (tuple([(type(t), t.shape, t.dtype, t.device, t.requires_grad) for t in self.tensors]), rest)

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


def _known(leaf: Any) -> Any:
    """Equal for the same value of the same type: 1, 1.0 and True are equal in Python, and 0.0 and -0.0."""
    return None if isinstance(leaf, Tensor) else (type(leaf), repr(leaf) if isinstance(leaf, (float, complex)) else leaf)
