# SPDX-License-Identifier: Apache-2.0
"""Scopes of C++ in which models and computations are made for devices, and the virtual IPU that there is by default."""
from __future__ import annotations

from typing import Any

from pando import _core


class CoreScope:
    """A scope of C++ in a `with` statement."""

    def __init__(self, scope: Any, value: Any = None) -> None:
        self._scope, self._value = scope, value

    def __enter__(self):
        self._scope.enter()
        return self._value

    def __exit__(self, *arguments):
        self._scope.exit()


def ensure_configured() -> None:
    """As upstream: without a configuration there is one IPU."""
    if not any("IPU" in device["name"] for device in _core.devices()):
        config = _core.IPUConfig()
        config.set("auto_select_ipus", "1")
        config.configure_ipu_system()


def device_scope(device: Any) -> CoreScope:
    """What is compiled within it runs on the device."""
    ensure_configured()
    return CoreScope(_core.ipu_scope(device))
