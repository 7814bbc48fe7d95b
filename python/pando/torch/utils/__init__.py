# SPDX-License-Identifier: Apache-2.0
"""torch.utils."""
from pando.torch.utils import data

__all__ = ["data"]
