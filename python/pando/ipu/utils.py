# SPDX-License-Identifier: Apache-2.0
"""ipu.utils: the older way to say which IPUs are used."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando import _core
from pando.core.hints import ArrayLike
from pando.core.keywords import accepts as _accepts
from pando.core.messages import tell_once
from pando.ipu.config import IPUConfig, reset_ipu_configuration

__all__ = ["auto_select_ipus", "configure_ipu_system", "create_ipu_config", "get_num_of_ipus_in_device",
           "move_variable_initialization_to_cpu", "reset_ipu_configuration", "select_ipus", "set_compilation_options"]


@_accepts("profiling", "enable_ipu_events", "use_poplar_text_report", "use_poplar_cbor_report", "profile_execution",
          "enable_poplar_serialized_graph", "report_every_nth_execution", "max_report_size", "report_directory",
          "scheduler_selection", "always_rearrange_copies_on_the_host", "merge_infeed_io_copies",
          "disable_graph_convolution_caching", "disable_graph_outlining", "retain_control_dependencies",
          "max_cross_replica_sum_buffer_size", "max_reduce_scatter_buffer_size", "max_inter_ipu_copies_buffer_size",
          "max_send_recv_cluster_size", "minimum_remote_tensor_size", "max_scheduler_lookahead_depth",
          "max_scheduler_search_space_size", "prefetch_data_streams", "selection_order",
          "enable_experimental_remote_buffer_embedding")
def create_ipu_config() -> Any:
    """A configuration without IPUs."""
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


def _unchanged(name, *arguments):
    """A function of a configuration that returns it as it is, with the arguments of upstream's."""
    def option(opts, *values):
        if len(values) > len(arguments):
            raise TypeError(f"{name}() takes {len(arguments) + 1} arguments but {len(values) + 1} were given")
        tell_once(f"ipu.utils.{name} has no effect in Pando")
        return opts
    option.__name__ = option.__qualname__ = name
    option.__doc__ = "Accepted: it concerns real IPUs."
    return _accepts(*arguments)(option)


set_compilation_options = _unchanged("set_compilation_options", "compilation_options")
set_convolution_options = _unchanged("set_convolution_options", "convolution_options")
set_matmul_options = _unchanged("set_matmul_options", "matmul_options", "clear_pass_type")
set_optimization_options = _unchanged(
    "set_optimization_options", "combine_embedding_lookups", "combine_matmuls", "max_cross_replica_sum_buffer_size",
    "max_reduce_scatter_buffer_size", "max_inter_ipu_copies_buffer_size", "max_send_recv_cluster_size",
    "gather_simplifier", "triangular_solve_expander_block_size", "cholesky_block_size",
    "enable_fast_math")
set_norm_options = _unchanged("set_norm_options", "use_stable_statistics")
set_recomputation_options = _unchanged("set_recomputation_options", "allow_recompute", "allow_stateful_recompute")
set_floating_point_behaviour_options = _unchanged(
    "set_floating_point_behaviour_options", "inv", "div0", "oflo", "esr", "nanoo")
set_ipu_connection_type = _unchanged("set_ipu_connection_type", "connection_type", "ipu_version", "enable_remote_buffers")
set_ipu_model_options = _unchanged("set_ipu_model_options", "compile_ipu_code", "tiles_per_ipu", "ipu_model_version")


# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    def __getattr__(name):
        from pando.core.nearest import missing_attribute
        raise missing_attribute(__name__, name, __all__)
