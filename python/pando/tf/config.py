# SPDX-License-Identifier: Apache-2.0
"""tf.config: the devices of this machine."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando import _core
from pando.core.messages import notice_once
from pando.core.nearest import attributes_of as _attributes_of


class _Device:
    def __init__(self, name: str | None, device_type: Any) -> None:
        self.name, self.device_type = name, device_type

    def __repr__(self):
        return f"PhysicalDevice(name={self.name!r}, device_type={self.device_type!r})"


def list_physical_devices(device_type: Any = None) -> Any:
    """The host, and the IPUs that are configured."""
    devices = [_Device(device["name"], "IPU" if "IPU" in device["name"] else "CPU") for device in _core.devices()]
    return [device for device in devices if device_type in (None, device.device_type)]


list_logical_devices = list_physical_devices


def run_functions_eagerly(run_eagerly: Any) -> Any:
    """Accepted: Pando compiles whole steps."""
    if run_eagerly:
        notice_once("tf", "run_functions_eagerly: run_eagerly has no effect in Pando, which compiles whole steps")


class experimental:
    """Older names."""
    list_physical_devices = staticmethod(list_physical_devices)

    @staticmethod
    def set_memory_growth(device: Any, enable: Any) -> Any:
        """Accepted."""

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
