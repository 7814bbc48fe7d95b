# SPDX-License-Identifier: Apache-2.0
"""torch.accelerator: there is none for tensors; Pando decides what programs run on (PANDO_BACKEND)."""
from __future__ import annotations

from typing import Any

from pando.torch.devices import without_effect

synchronize = set_device_index = without_effect


def is_available() -> Any:
    """False: Pando itself decides what programs run on."""
    return False


def device_count() -> Any:
    """0: no accelerator is seen through this interface."""
    return 0


def current_accelerator(check_available: bool = False) -> Any:  # noqa: ARG001
    """None: no accelerator is seen through this interface."""
    return None
