# SPDX-License-Identifier: Apache-2.0
"""The methods of Model that upstream adds for IPUs: pipelines, stages, accumulation of gradients."""
from __future__ import annotations

import sys
from typing import Any, Sequence

from pando import _core
from pando.core.hints import Function
from pando.core.keywords import accepts
from pando.keras.arguments import tell_of


class LayerPipelineStageAssignment:
    """The stage of one call of a layer."""

    def __init__(self, layer: Any, pipeline_stage: int) -> None:
        self.layer, self.pipeline_stage = layer, pipeline_stage

    def __repr__(self):
        return f"Layer: {getattr(self.layer, 'name', self.layer)} - Pipeline stage: {self.pipeline_stage}"


_OF_PIPELINES = ("forward_propagation_stages_poplar_options", "backward_propagation_stages_poplar_options",
                 "weight_update_poplar_options", "offload_weight_update_variables", "offload_activations",
                 "replicated_optimizer_state_sharding", "offload_gradient_accumulation_buffers",
                 "replicated_weight_sharding", "offload_weights", "gradient_accumulation_dtype")


def _check_reduction(who, method):
    if "MEAN" in str(getattr(method, "name", method) or "").upper():
        raise NotImplementedError(f"{who}: gradient_accumulation_reduction_method={method} is not in Pando; give "
                                  "reduction='mean' to compile()")


class Stages:
    """How a model is divided over IPUs. Training derives from it."""

    @accepts(*_OF_PIPELINES, batch_serialization_iterations=1, continuous_weight_updates=False,
             experimental_normalize_gradients=False)
    def set_pipelining_options(self, gradient_accumulation_steps_per_replica: int | None = None,
                               device_mapping: Sequence[int] | None = None, accumulate_outfeed: bool | None = None,
                               gradient_accumulation_reduction_method: Any = None, pipeline_schedule: Any = None,
                               recomputation_mode: Any = None, recomputation: bool = False) -> Any:
        """Says how the stages of the model take turns."""
        _check_reduction("set_pipelining_options", gradient_accumulation_reduction_method)
        tell_of("set_pipelining_options", accumulate_outfeed=accumulate_outfeed)
        if gradient_accumulation_steps_per_replica is None:
            raise ValueError("set_pipelining_options: give gradient_accumulation_steps_per_replica")
        schedule = pipeline_schedule if pipeline_schedule is not None else _core.PipelineSchedule.Grouped
        recomputes = bool(recomputation) or "Recompute" in str(recomputation_mode or "")
        arguments = (int(gradient_accumulation_steps_per_replica), schedule, list(device_mapping or []), recomputes)
        self._with_layer(lambda layer: layer.set_pipelining(*arguments))

    @accepts("use_v2_gradient_accumulation_optimizer", "dtype", "offload_weight_update_variables",
             "replicated_optimizer_state_sharding", experimental_normalize_gradients=False)
    def set_gradient_accumulation_options(self, gradient_accumulation_steps_per_replica: int | None = None,
                                          gradient_accumulation_reduction_method: Any = None) -> Any:
        """Says how many micro-batches an update has."""
        _check_reduction("set_gradient_accumulation_options", gradient_accumulation_reduction_method)
        count = int(gradient_accumulation_steps_per_replica or 1)
        self._with_layer(lambda layer: layer.set_gradient_accumulation(count))

    def get_pipeline_stage_assignment(self) -> Any:
        """The stage of each call of a layer."""
        native = self._built("get_pipeline_stage_assignment").get_pipeline_stage_assignment()
        layers = {layer.name: layer for layer in self.layers}
        return [LayerPipelineStageAssignment(layers.get(name, name), stage) for name, stage in native]

    def set_pipeline_stage_assignment(self, stages: Any) -> Any:
        """Sets the stage of each call of a layer, by numbers or by what ``get_pipeline_stage_assignment`` returned."""
        numbers = [int(getattr(stage, "pipeline_stage", stage)) for stage in stages]
        self._with_layer(lambda layer: layer.set_pipeline_stage_assignment(numbers))

    def print_pipeline_stage_assignment_summary(self, line_length: int | None = None,
                                                print_fn: Function | None = None) -> Any:
        """Prints the stage of each layer."""
        tell_of("print_pipeline_stage_assignment_summary", line_length=line_length)
        text = self._built("print_pipeline_stage_assignment_summary").pipeline_stage_summary()
        (print_fn or sys.stdout.write)(text)

    @accepts("buffer_depth", "data_to_prefetch", "device_ordinal", "optimise_latency", "prefetch_depth")
    def set_infeed_queue_options(self) -> Any:
        """Accepted: Pando feeds ahead by itself."""

    @accepts("buffer_depth", "device_ordinal", "io_batch_size", "optimise_latency", "outfeed_mode")
    def set_outfeed_queue_options(self) -> Any:
        """Accepted: Pando decides by itself how results come back."""

    def explain(self, samples: int = 0, batch_size: int | None = 32) -> Any:
        """Says what training would do: IPUs, batches, updates, memory, the schedule, and hints."""
        return self._built("explain").explain(int(samples), int(batch_size))
