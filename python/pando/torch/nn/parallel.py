# SPDX-License-Identifier: Apache-2.0
"""torch.nn.parallel: replicas are PopTorch's; outside of it a module is one."""
from pando.torch.nn.containers import DataParallel


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):  # noqa: ARG001
    """Calls the module."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))


__all__ = ["DataParallel", "data_parallel"]
