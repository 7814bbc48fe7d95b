// SPDX-License-Identifier: Apache-2.0
// PipelineSchedule: when the stages of a pipeline work on which micro-batch, as a table of offsets.
#pragma once
#include <pando/graph/division.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pando {

// Stage i begins the forward pass of micro-batch m in slot period * m + forward[i], and the backward pass in slot
// period * m + backward[i]. A slot is as long as a stage needs for one of them; different stages work in the same slot.
struct PipelineSchedule {
  std::string name;
  std::int64_t period = 1;
  std::vector<std::int64_t> forward;
  // Empty where there is no backward pass: in evaluation and prediction.
  std::vector<std::int64_t> backward;

  int stages() const { return static_cast<int>(forward.size()); }
  // The number of other micro-batches whose activations stage i keeps while it begins the backward pass of one.
  std::int64_t stash_depth(int stage) const;
  // Slots from the first forward to the last backward pass of `micro_batches`.
  std::int64_t slots(std::int64_t micro_batches) const;
  // The part of all slots of all stages in which a stage has nothing to do.
  double bubble(std::int64_t micro_batches) const;
  friend bool operator==(const PipelineSchedule&, const PipelineSchedule&) = default;
};

// All forward, then all backward; one forward, one backward; one stage at a time. Without `training`, all but the
// sequential one are a pipeline of forward passes.
PipelineSchedule grouped_schedule(int stages, bool training);
PipelineSchedule interleaved_schedule(int stages, bool training);
PipelineSchedule sequential_schedule(int stages, bool training);
PipelineSchedule schedule_of(PipelineOrder order, int stages, bool training);

// Throws Error naming the schedule and the stage if a pass would begin before what it needs is ready, or a stage would
// do two at once.
void verify(const PipelineSchedule& schedule);

// What one stage does, in order.
struct PipelineAction {
  bool forward = true;
  std::int64_t micro_batch = 0;
  std::int64_t slot = 0;
};
std::vector<PipelineAction> actions_of_stage(const PipelineSchedule& schedule, int stage, std::int64_t micro_batches);

}  // namespace pando
