# SPDX-License-Identifier: Apache-2.0
"""Regularizers: penalties on the size of weights."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando import _core
from pando.core import ops
from pando.core.hints import Samples
from pando.core.nearest import attributes_of as _attributes_of


class Regularizer:
    """l1 * sum |w| + l2 * sum w^2."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = float(l1 or 0.0), float(l2 or 0.0)

    def _native(self):
        return _core.Regularizer(self.l1, self.l2)

    def __call__(self, x: Samples) -> Any:
        """The penalty of a tensor: one number."""
        return self.l1 * ops.sum(ops.abs(x)) + self.l2 * ops.sum(ops.square(x))

    def get_config(self) -> Any:
        """The arguments that the regularizer was made with."""
        return {"l1": self.l1, "l2": self.l2}


class L1(Regularizer):
    """l1 * sum |w|."""

    def __init__(self, l1: float = 0.01, *, l: float | None = None) -> None:
        super().__init__(l1=l1 if l is None else l)


class L2(Regularizer):
    """l2 * sum w^2."""

    def __init__(self, l2: float = 0.01, *, l: float | None = None) -> None:
        super().__init__(l2=l2 if l is None else l)


class L1L2(Regularizer):
    """Both penalties."""


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> Any:
    """Both penalties."""
    return L1L2(l1=l1, l2=l2)


l1, l2 = L1, L2


def get(identifier: Any) -> Any:
    """A regularizer from its name, its configuration or an object; None stays None."""
    if identifier is None or isinstance(identifier, Regularizer):
        return identifier
    if isinstance(identifier, dict):
        return Regularizer(**(identifier.get("config") or {}))
    if isinstance(identifier, str):
        native = _core.Regularizer(identifier.lower() if identifier in ("L1", "L2") else identifier)
        return Regularizer(native.l1, native.l2)
    raise TypeError(f"{identifier!r} is not a regularizer: use l1(), l2() or l1_l2()")


def native(identifier: Any) -> Any:
    """What C++ takes."""
    found = get(identifier)
    return None if found is None else found._native()

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
