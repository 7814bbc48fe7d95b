# SPDX-License-Identifier: Apache-2.0
"""torch.utils.dlpack: tensors and capsules that share their memory."""
from __future__ import annotations

from typing import Any

from pando.core.nearest import attributes_of as _attributes_of
from pando.torch.creation import from_dlpack
from pando.torch.tensor import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule over the memory of the tensor; it can be taken once."""
    return tensor.__dlpack__()


__getattr__ = _attributes_of(__name__)
