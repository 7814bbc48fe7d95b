# SPDX-License-Identifier: Apache-2.0
"""DLPack: arrays of other frameworks without copying, given as an object with ``__dlpack__`` or as its capsule."""
from __future__ import annotations

from typing import Any

import numpy as np

_CPU = (1, 0)


class _Capsule:
    """A capsule as an object that NumPy takes."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, stream: Any = None) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU


class _Memory:
    """The memory of an array, to be written to: NumPy protects what it takes by DLPack, and other frameworks do not."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def array_from(source: Any) -> np.ndarray:
    """An array over the memory of the source."""
    array = np.from_dlpack(source if hasattr(source, "__dlpack__") else _Capsule(source))
    return np.asarray(_Memory(array)) if array.size else array
