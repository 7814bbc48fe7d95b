# SPDX-License-Identifier: Apache-2.0
"""ipu.ipu_outfeed_queue: results from the steps of loops."""
import typing as _typing

from pando.core.nearest import attributes_of as _attributes_of
from pando.ipu.queues import IPUOutfeedMode, IPUOutfeedQueue  # noqa: F401

__all__ = ["IPUOutfeedQueue", "IPUOutfeedMode"]

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
