# SPDX-License-Identifier: Apache-2.0
"""Notices about devices, and generators of random numbers: scripts that ask for a GPU run all the same."""
from __future__ import annotations

from typing import Any

import numpy as np

from pando.core.messages import notice_once


def tell_once(key: Any, message: str) -> Any:  # noqa: ARG001
    """A notice, once in a process."""
    notice_once("torch", message)


def tell_cuda() -> Any:
    """Says once that ``cuda()`` has no effect."""
    tell_once("cuda", "cuda: tensors stay where they are; Pando decides what programs run on (PANDO_BACKEND)")


def without_effect(*_: Any, **__: Any) -> Any:
    """What a GPU of PyTorch's would do, and nothing has to be done for here."""


class Generator:
    """A source of random numbers of its own."""

    def __init__(self, device: Any = "cpu") -> None:  # noqa: ARG002
        self.manual_seed(0)

    def manual_seed(self, seed: int) -> Any:
        """Everything drawn from the generator after it depends on this seed alone."""
        self._generator, self._seed = np.random.default_rng(abs(int(seed))), int(seed)
        return self

    def initial_seed(self) -> Any:
        """The seed that was set last."""
        return self._seed
