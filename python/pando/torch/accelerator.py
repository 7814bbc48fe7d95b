# SPDX-License-Identifier: Apache-2.0
"""torch.accelerator: there is none for tensors; Pando decides what programs run on (PANDO_BACKEND)."""
from pando.torch.devices import without_effect

synchronize = set_device_index = without_effect


def is_available():
    return False


def device_count():
    return 0


def current_accelerator(check_available=False):  # noqa: ARG001
    return None
