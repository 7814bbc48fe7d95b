# SPDX-License-Identifier: Apache-2.0
"""IPUConfig: which virtual IPUs a program uses. Options of real IPUs that mean nothing here are accepted."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando import _core
from pando.core.messages import tell_once
from pando.core.nearest import missing_attribute
from pando.core.nearest import attributes_of as _attributes_of

_OWN = {"auto_select_ipus", "select_ipus", "tiles_per_ipu", "backend", "instruction_set"}
_FLOATS = {"inv", "div0", "oflo", "set_all", "esr", "nanoo"}
# Options of hardware and of Graphcore's compiler: accepted, without effect.
_CATEGORIES = {"allow_recompute", "compilation_poplar_options", "convolutions", "device_connection", "experimental",
               "floating_point_behaviour", "gcl_poplar_options", "io_tiles", "ipu_model", "matmuls", "norms",
               "optimizations", "pooling", "scheduling", "selection_order", "serialization_output_folder", "slices",
               "verification_options", "configure_ipu_strategy"}


class _Category:
    """A group of options that have no effect."""

    def __init__(self, path: str) -> None:
        self.__dict__["_path"] = path

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        child = _Category(f"{self._path}.{name}")
        self.__dict__[name] = child
        return child

    def __setattr__(self, name, value):
        tell_once(f"IPUConfig: {self._path}.{name} has no effect in Pando")
        self.__dict__[name] = value


class _FloatingPoint:
    """What happens where a computation gives a NaN or an infinity."""

    def __init__(self) -> None:
        for name in _FLOATS:
            self.__dict__[name] = False

    def __setattr__(self, name, value):
        if name not in _FLOATS:
            raise missing_attribute("IPUConfig.floating_point_behaviour", name, _FLOATS)
        if name in ("esr", "nanoo") and value:
            tell_once(f"IPUConfig: floating_point_behaviour.{name} has no effect in Pando")
        self.__dict__[name] = bool(value)


class IPUConfig:
    """Which virtual IPUs a program has; nothing takes effect before ``configure_ipu_system``.

    ``auto_select_ipus`` is their number, ``tiles_per_ipu`` the cores of each (0: as many as are fastest), ``backend`` "cpu" or
    "cuda". Options of real IPUs are accepted without effect.

    >>> from pando import ipu
    >>> config = ipu.config.IPUConfig()
    >>> config.auto_select_ipus = 2
    >>> config.configure_ipu_system()
    """

    def __init__(self) -> None:
        for name in _OWN:
            self.__dict__[name] = None
        self.__dict__["auto_select_ipus"] = []
        self.__dict__["select_ipus"] = []
        self.__dict__["floating_point_behaviour"] = _FloatingPoint()

    def __getattr__(self, name):
        if name in _CATEGORIES:
            category = _Category(name)
            self.__dict__[name] = category
            return category
        raise missing_attribute("IPUConfig", name, _OWN | _CATEGORIES)

    def __setattr__(self, name, value):
        if name in _CATEGORIES:
            tell_once(f"IPUConfig: {name} has no effect in Pando")
        elif name not in _OWN:
            raise missing_attribute("IPUConfig", name, _OWN | _CATEGORIES)
        self.__dict__[name] = value

    def configure_ipu_system(self, device: Any = "cpu") -> Any:
        """Makes the devices /device:IPU:0 and following."""
        native = _core.IPUConfig()
        for name in sorted(_OWN):
            value = self.__dict__[name]
            if value is None or value == []:
                continue
            native.set(name, str(list(value) if isinstance(value, (tuple, list)) else value))
        for name in ("inv", "div0", "oflo", "set_all"):
            if getattr(self.floating_point_behaviour, name):
                native.set(f"floating_point_behaviour.{name}", "true")
        native.configure_ipu_system()


def configure_ipu_system(config: Any, device: Any = "cpu") -> Any:
    """Makes the devices of a configuration."""
    config.configure_ipu_system(device)


def reset_ipu_configuration() -> Any:
    """Undoes ``configure_ipu_system``."""
    _core.reset_ipu_configuration()


class SelectionOrder:
    """Accepted: virtual IPUs have no order."""
    AUTO, ZIGZAG, SNAKE, HOOF = range(4)


class DeviceConnectionType:
    """Accepted: virtual IPUs are always attached."""
    ALWAYS, ON_DEMAND, PRE_COMPILE, NEVER = range(4)


class SchedulingAlgorithm:
    """Accepted: Pando has one order."""
    CHOOSE_BEST, CLUSTERING, POST_ORDER, LOOK_AHEAD, SHORTEST_PATH = range(5)


class MergeRemoteBuffersBehaviour:
    """Accepted."""
    NO_MERGING, MERGE, IF_BENEFICIAL = range(3)

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
