# SPDX-License-Identifier: Apache-2.0
"""torch.backends.cudnn: may be set, without effect."""
benchmark, deterministic, enabled = False, True, False


def is_available():
    return False
