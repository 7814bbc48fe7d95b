# SPDX-License-Identifier: Apache-2.0
"""torch.backends: settings of PyTorch's backends, which have no effect here."""
import typing as _typing

from pando.core.nearest import attributes_of as _attributes_of
from pando.torch.backends import cudnn, mps

__all__ = ["cudnn", "mps"]

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
