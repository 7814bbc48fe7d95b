# SPDX-License-Identifier: Apache-2.0
"""tf.experimental.dlpack: tensors and capsules that share their memory."""
from __future__ import annotations

from typing import Any

from pando.core.dlpack import array_from as _array_from
from pando.core.nearest import attributes_of as _attributes_of
from pando.tensors.tensor import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def from_dlpack(dlcapsule: Any) -> Tensor:
    """A tensor over the memory of a capsule, or of an object with ``__dlpack__``."""
    return Tensor(_array_from(dlcapsule))


def to_dlpack(tf_tensor: Tensor) -> Any:
    """A capsule over the memory of the tensor; it can be taken once."""
    return tf_tensor.__dlpack__()


__getattr__ = _attributes_of(__name__)
