# SPDX-License-Identifier: Apache-2.0
"""torch.cuda: there is no CUDA device for tensors; programs run on GPUs if PANDO_BACKEND says so."""
from pando.torch.devices import without_effect

manual_seed = manual_seed_all = synchronize = empty_cache = set_device = reset_peak_memory_stats = without_effect


def is_available():
    return False


def is_initialized():
    return False


def device_count():
    return 0


def current_device():
    return 0


def memory_allocated(device=None):  # noqa: ARG001
    return 0


max_memory_allocated = memory_reserved = memory_allocated
