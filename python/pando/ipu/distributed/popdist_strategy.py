# SPDX-License-Identifier: Apache-2.0
"""PopDistStrategy, the newer name of IPUMultiWorkerStrategy."""
from __future__ import annotations

from pando.ipu.ipu_multi_worker_strategy import IPUMultiWorkerStrategy


class PopDistStrategy(IPUMultiWorkerStrategy):
    """IPUMultiWorkerStrategy, with the arguments of upstream's newer releases."""

    def __init__(self, ipu_device: str = "/device:IPU:0", add_ipu_cross_replica_reductions: bool = True,  # noqa: ARG002
                 enable_dataset_iterators: bool = True, enable_keras_extensions: bool = True) -> None:  # noqa: ARG002
        super().__init__(ipu_device=ipu_device)
