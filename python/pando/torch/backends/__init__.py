# SPDX-License-Identifier: Apache-2.0
"""torch.backends: settings of PyTorch's backends, which have no effect here."""
from pando.torch.backends import cudnn, mps

__all__ = ["cudnn", "mps"]
