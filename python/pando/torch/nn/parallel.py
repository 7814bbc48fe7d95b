# SPDX-License-Identifier: Apache-2.0
"""torch.nn.parallel: replicas are PopTorch's; outside of it a module is one."""
from __future__ import annotations

from typing import Any

from pando.torch.nn.containers import DataParallel


def data_parallel(module: Any, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: Any = 0,
                  module_kwargs: Any = None) -> Any:  # noqa: ARG001
    """Calls the module."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))


__all__ = ["DataParallel", "data_parallel"]
