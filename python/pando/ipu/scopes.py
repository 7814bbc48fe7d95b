# SPDX-License-Identifier: Apache-2.0
"""ipu.scopes: where computations run, and names that change nothing here."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando.core.devices import device_scope
from pando.core.nearest import attributes_of as _attributes_of


def ipu_scope(device: Any = "/device:IPU:0") -> Any:
    """What is compiled within it runs on the device."""
    return device_scope(device)


class _Nothing:
    """Accepted without effect: what it says of real IPUs means nothing for virtual ones."""

    def __enter__(self):
        return self

    def __exit__(self, *arguments):
        return None


def ipu_shard(index: Any) -> Any:
    """Accepted: stages of pipelines say what runs on which IPU."""
    return _Nothing()


def outside_compilation_scope(name: str = "outside") -> Any:
    """Accepted: a whole computation runs on its device."""
    return _Nothing()


def stochastic_rounding(override: bool) -> Any:
    """Accepted: virtual IPUs compute in float32."""
    return _Nothing()


def ipu_jit_scope(ipu_scope: Any) -> Any:
    """Accepted: computations are always compiled."""
    return _Nothing()


def frontend_attribute(attribute_name: str, attribute_value: str, restore_to: str | None = None) -> Any:
    """Accepted: attributes speak to Graphcore's compiler."""
    return _Nothing()


# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
