# SPDX-License-Identifier: Apache-2.0
"""torch.utils."""
import typing as _typing

from pando.core.nearest import attributes_of as _attributes_of
from pando.torch.utils import data, dlpack

__all__ = ["data", "dlpack"]

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
