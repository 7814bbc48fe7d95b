# SPDX-License-Identifier: Apache-2.0
"""ipu.scopes: where computations run, and names that change nothing here."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando import _core
from pando.core.nearest import attributes_of as _attributes_of
from pando.ipu.ipu_strategy import CoreScope, ensure_configured


def ipu_scope(device: Any = "/device:IPU:0") -> Any:
    """What is compiled within it runs on the device."""
    ensure_configured()
    return CoreScope(_core.ipu_scope(device))


class _Nothing:
    """Accepted without effect: what it says of real IPUs means nothing for virtual ones."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self):
        return self

    def __exit__(self, *arguments):
        return None


ipu_shard = outside_compilation_scope = stochastic_rounding = ipu_jit_scope = frontend_attribute = _Nothing

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
