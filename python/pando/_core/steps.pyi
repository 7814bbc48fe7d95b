# SPDX-License-Identifier: Apache-2.0
# Written by tools/python_stubs.py.
import numpy
import pando._core
import pando._core.poptorch
import pando._core.torch
import pando._core.torchvision
from typing import Any, Callable, ClassVar, Iterable, Optional, Union, overload


class UpdateCounts:
    def __init__(self, places: list[tuple[int, str]]) -> None: ...
    def add(self, updates: float) -> None: ...
    def read(self) -> list[float]: ...

def update(kind: str, options: dict, rate: pando._core.Symbol, step: pando._core.Symbol, parameter: pando._core.Symbol, gradient: pando._core.Symbol, states: list[pando._core.Symbol]) -> list[pando._core.Symbol]: ...
def update_states(kind: str, options: dict) -> list[tuple[str, float, bool]]: ...
