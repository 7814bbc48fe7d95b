# SPDX-License-Identifier: Apache-2.0
"""ipu.ipu_infeed_queue: data to the steps of loops."""
import typing as _typing

from pando.core.nearest import attributes_of as _attributes_of
from pando.ipu.queues import IPUInfeedQueue  # noqa: F401

__all__ = ["IPUInfeedQueue"]

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
