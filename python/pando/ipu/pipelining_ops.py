# SPDX-License-Identifier: Apache-2.0
"""ipu.pipelining_ops: pipelines of stages within a computation that is compiled."""
from __future__ import annotations

import enum
import inspect
import typing as _typing
from typing import Any, Sequence

from pando import _core
from pando.core.hints import Function
from pando.core.keywords import accepts as _accepts
from pando.core.messages import tell_once
from pando.core.nearest import attributes_of as _attributes_of
from pando.ipu.ipu_compiler import change
from pando.tensors.tensor import wrap
from pando.tensors.tracing import traced_list

PipelineSchedule = _core.PipelineSchedule


class RecomputationMode(enum.Enum):
    """Whether a stage computes its forward pass again for its backward pass."""
    Auto = "Auto"
    RecomputeThenBackpropagate = "RecomputeThenBackpropagate"
    RecomputeAndBackpropagateInterleaved = "RecomputeAndBackpropagateInterleaved"


class OptimizerFunctionOutput:
    """What a pipeline minimises, and how."""

    @_accepts("gradient_capture_context", "captured_gradient_outfeed")
    def __init__(self, opt: Any, loss: Any, compute_gradients_args: Any = None, compute_gradients_kwargs: Any = None,
                 apply_gradients_args: Any = None, apply_gradients_kwargs: Any = None, variables: Any = None,
                 tape: Any = None) -> None:
        self.opt, self.loss = opt, loss


class PipelineStageOptions:
    """Accepted: options of Graphcore's compiler for a stage."""

    def __init__(self, convolution_options: Any = None, matmul_options: Any = None, slice_options: Any = None) -> None:
        tell_once("PipelineStageOptions have no effect in Pando")


@_accepts("forward_propagation_stages_poplar_options", "backward_propagation_stages_poplar_options",
          "weight_update_poplar_options", "offload_weight_update_variables", "replicated_optimizer_state_sharding",
          "offload_activations", "offload_gradient_accumulation_buffers", "replicated_weight_sharding",
          "offload_weights", "accumulate_outfeed_dtype", accumulate_outfeed=False, outfeed_loss=False,
          batch_serialization_iterations=1, continuous_weight_updates=False, outfeed_mask=None)
def pipeline(computational_stages: Sequence[Function], gradient_accumulation_count: int | None = None,
             gradient_accumulation_dtype: Any = None, repeat_count: int = 1, inputs: Any = None,
             infeed_queue: Any = None, outfeed_queue: Any = None, optimizer_function: Function | None = None,
             device_mapping: Sequence[int] | None = None, pipeline_schedule: Any = None, recomputation_mode: Any = None,
             reduction_method: str = "SUM", name: str | None = None) -> Any:
    """Each stage takes what the one before it returns; the first takes the columns of the infeed queue."""
    if inputs:
        raise NotImplementedError("pipeline: inputs are not in Pando; put them into the data set of the infeed queue")
    arguments = {"gradient_accumulation_count": int(gradient_accumulation_count or 1),
                 "repeat_count": int(repeat_count), "device_mapping": list(device_mapping or []),
                 "pipeline_schedule": pipeline_schedule or PipelineSchedule.Grouped,
                 "recomputation": "Recompute" in str(recomputation_mode or ""),
                 "sums_gradients": "MEAN" not in str(reduction_method).upper()}
    if infeed_queue is not None:
        arguments["infeed_queue"] = infeed_queue._queue
    if outfeed_queue is not None:
        arguments["outfeed_queue"] = outfeed_queue._queue
    structure = {}
    if optimizer_function is not None:
        def minimise(symbols):
            made = optimizer_function(*[wrap(symbol) for symbol in symbols])
            return made.opt._native, made.loss._value
        arguments["optimizer_function"] = minimise
    stages = [(_count(stage), traced_list(stage, structure)) for stage in computational_stages]
    operation = _core.pipeline(stages, arguments)
    if outfeed_queue is not None:
        change(outfeed_queue, "_structure", structure.get("made"))
    return _Pipeline(operation)


def _count(stage):
    """The number of tensors that a stage takes."""
    parameters = [p for p in inspect.signature(stage).parameters.values() if p.default is inspect.Parameter.empty]
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        raise TypeError("pipeline: a stage must name its arguments instead of taking *args")
    return len(parameters)


class _Pipeline:
    """What a computation returns to run the pipeline."""

    def __init__(self, operation: Any) -> None:
        self._operation = operation
        self.outputs = []

# A type checker knows what there is.
if not _typing.TYPE_CHECKING:
    __getattr__ = _attributes_of(__name__)
