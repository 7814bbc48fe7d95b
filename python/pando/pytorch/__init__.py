# SPDX-License-Identifier: Apache-2.0
"""Real PyTorch in front of Pando."""
from pando.core.needs import need as _need

_need("torch", "pando.torch")
