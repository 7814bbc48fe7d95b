# SPDX-License-Identifier: Apache-2.0
"""IPUMultiWorkerStrategy: models made in its scope are trained by all processes that mpirun started together."""
from __future__ import annotations

import typing as _typing
from typing import Any

from pando import _core
from pando.core.keywords import accepts as _accepts
from pando.core.nearest import attributes_of as _attributes_of
from pando.ipu.ipu_strategy import IPUStrategy


class IPUMultiWorkerStrategy(IPUStrategy):
    """Where models run: on the IPUs of all processes that `mpirun` or `srun` started together, as one system.

    Every process runs the same program with the same data, and computes its share of each batch. Weights, losses and metrics are
    to the bit those of one process with as many replicas. The first process shows progress and writes checkpoints and logs.
    """
    _core_strategy = _core.IPUMultiWorkerStrategy

    @_accepts("add_ipu_cross_replica_reductions", "enable_dataset_iterators", "enable_keras_extensions")
    def __init__(self, cluster_resolver: Any = None, ipu_device: str = "/device:IPU:0") -> None:  # noqa: ARG002
        # mpirun knows the processes, so there is nothing to resolve.
        super().__init__(ipu_device)

    @property
    def worker_rank(self) -> int:
        """The number of this process, from 0."""
        return self._strategy.worker_rank

    @property
    def num_workers(self) -> int:
        """The number of processes that train together."""
        return self._strategy.num_workers

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of copies of a model that train together, in all processes."""
        return self._strategy.num_ipus * self._strategy.num_workers


IPUMultiWorkerStrategyV1 = IPUMultiWorkerStrategy

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
