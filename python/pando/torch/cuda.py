# SPDX-License-Identifier: Apache-2.0
"""torch.cuda: there is no CUDA device for tensors; programs run on GPUs if PANDO_BACKEND says so."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando.core.nearest import attributes_of as _attributes_of
from pando.torch.devices import without_effect

manual_seed = manual_seed_all = synchronize = empty_cache = set_device = reset_peak_memory_stats = without_effect


def is_available() -> bool:
    """False: tensors are on the CPU; PANDO_BACKEND lets programs run on a GPU."""
    return False


def is_initialized() -> bool:
    """False: there is no CUDA of PyTorch here."""
    return False


def device_count() -> int:
    """0: there is no CUDA of PyTorch here."""
    return 0


def current_device() -> int:
    """0: there is no CUDA of PyTorch here."""
    return 0


def memory_allocated(device: Any = None) -> int:  # noqa: ARG001
    """0: there is no CUDA of PyTorch here."""
    return 0


max_memory_allocated = memory_reserved = memory_allocated

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
