# SPDX-License-Identifier: Apache-2.0
"""torch.backends.cudnn: may be set, without effect."""
from __future__ import annotations

from typing import Any

benchmark, deterministic, enabled = False, True, False


def is_available() -> Any:
    """False: Pando does not use cuDNN."""
    return False
