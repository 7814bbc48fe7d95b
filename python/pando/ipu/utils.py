# SPDX-License-Identifier: Apache-2.0
"""ipu.utils: the older way to say which IPUs are used."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando import _core
from pando.core.hints import ArrayLike
from pando.ipu.config import IPUConfig, reset_ipu_configuration
from pando.keras.arguments import tell_once

__all__ = ["auto_select_ipus", "configure_ipu_system", "create_ipu_config", "get_num_of_ipus_in_device",
           "move_variable_initialization_to_cpu", "reset_ipu_configuration", "select_ipus", "set_compilation_options"]


def create_ipu_config(**kwargs: Any) -> Any:
    """A configuration without IPUs."""
    for name, value in kwargs.items():
        if value:
            tell_once(f"create_ipu_config: {name} has no effect in Pando")
    return IPUConfig()


def _copy(opts):
    config = IPUConfig()
    config.__dict__.update(opts.__dict__)
    return config


def auto_select_ipus(opts: Any, num_ipus: int) -> Any:
    """The configuration with that many IPUs, or with a device for each number of a list."""
    config = _copy(opts)
    config.auto_select_ipus = num_ipus
    return config


def select_ipus(opts: Any, indices: ArrayLike) -> Any:
    """The configuration with the IPUs of these numbers, each a device of its own."""
    config = _copy(opts)
    config.select_ipus = indices
    return config


def configure_ipu_system(config: Any, device: Any = "cpu") -> Any:
    """Makes the devices of a configuration."""
    config.configure_ipu_system(device)


def get_num_of_ipus_in_device(ipu_device: str = "/device:IPU:0", device: Any = "cpu") -> Any:
    """The number of IPUs of a device."""
    for entry in _core.devices():
        if entry["name"] == ipu_device:
            return entry["ipus"]
    raise ValueError(f"unknown device {ipu_device}; configure an IPU system first")


def move_variable_initialization_to_cpu(graph: Any = None) -> Any:
    """Accepted: first values are always drawn on the host."""


def _unchanged(name):
    def option(opts, *args, **kwargs):
        tell_once(f"ipu.utils.{name} has no effect in Pando")
        return opts
    option.__name__ = name
    option.__doc__ = "Accepted: it concerns real IPUs."
    return option


set_compilation_options = _unchanged("set_compilation_options")
set_convolution_options = _unchanged("set_convolution_options")
set_matmul_options = _unchanged("set_matmul_options")
set_optimization_options = _unchanged("set_optimization_options")
set_norm_options = _unchanged("set_norm_options")
set_recomputation_options = _unchanged("set_recomputation_options")
set_floating_point_behaviour_options = _unchanged("set_floating_point_behaviour_options")
set_ipu_connection_type = _unchanged("set_ipu_connection_type")
set_ipu_model_options = _unchanged("set_ipu_model_options")


# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        from pando.core.nearest import missing_attribute
        raise missing_attribute(__name__, name, __all__)
