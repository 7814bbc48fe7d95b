# SPDX-License-Identifier: Apache-2.0
"""ipu.optimizers: gradients are summed over replicas and accumulated steps by Pando itself."""
from __future__ import annotations

import enum
import typing as _typing
from typing import Any

from pando.core.nearest import attributes_of as _attributes_of


class GradientAccumulationReductionMethod(enum.Enum):
    """How accumulated gradients are combined."""
    SUM = "SUM"
    MEAN = "MEAN"
    RUNNING_MEAN = "RUNNING_MEAN"


class CrossReplicaOptimizer:
    """The optimizer itself: Pando sums over replicas."""

    def __new__(cls, opt, name="CrossReplicaOptimizer"):
        return opt


def GradientAccumulationOptimizerV2(opt: Any, num_mini_batches: Any, offload_weight_update_variables: Any = None,
                                    replicated_optimizer_state_sharding: bool = False, dtype: Any = None,
                                    reduction_method: Any = "SUM", name: str | None = None) -> Any:
    """Not in Pando outside of pipelines; use a pipeline or Keras."""
    if num_mini_batches == 1:
        return opt
    raise NotImplementedError("GradientAccumulationOptimizerV2 is not in Pando: use pipelining_ops.pipeline with "
                              "gradient_accumulation_count, or Keras with set_gradient_accumulation_options")


CrossReplicaGradientAccumulationOptimizerV2 = GradientAccumulationOptimizerV2

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
