# SPDX-License-Identifier: Apache-2.0
"""torch.backends.mps: there is none."""
from __future__ import annotations

from typing import Any



def is_available() -> Any:
    """False: there is no Metal here."""
    return False


def is_built() -> Any:
    """False: there is no Metal here."""
    return False
