// SPDX-License-Identifier: Apache-2.0
// A schedule is arithmetic: micro-batch m of a stage is a fixed number of slots after micro-batch m - 1, and stages are
// a fixed distance apart. Everything else, such as the bubble and the depth of stashes, follows from these offsets.
#include "plan/pipeline_schedule.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace pando {

namespace {

PipelineSchedule schedule_of(const std::string& name, int stages, bool training, std::int64_t period,
                             std::int64_t forward_distance, std::int64_t last_backward) {
  PipelineSchedule schedule{name, period, {}, {}};
  for (int i = 0; i < stages; ++i) schedule.forward.push_back(forward_distance * i);
  if (training)
    for (int i = 0; i < stages; ++i) schedule.backward.push_back(last_backward - forward_distance * i);
  return schedule;
}

[[noreturn]] void fail(const PipelineSchedule& schedule, int stage, const std::string& what) {
  throw Error(fmt::format("the schedule '{}' is wrong at stage {}: {}", schedule.name, stage, what));
}

}  // namespace

std::int64_t PipelineSchedule::stash_depth(int stage) const {
  const auto i = static_cast<std::size_t>(stage);
  return backward.empty() ? 0 : (backward[i] - forward[i] - 1) / period;
}

std::int64_t PipelineSchedule::slots(std::int64_t micro_batches) const {
  if (micro_batches == 0) return 0;
  std::int64_t last = 0;
  for (std::int64_t offset : forward) last = std::max(last, offset);
  for (std::int64_t offset : backward) last = std::max(last, offset);
  return period * (micro_batches - 1) + last + 1;
}

double PipelineSchedule::bubble(std::int64_t micro_batches) const {
  const auto passes = static_cast<double>(micro_batches) * (backward.empty() ? 1.0 : 2.0);
  return micro_batches == 0 ? 0.0 : 1.0 - passes / static_cast<double>(slots(micro_batches));
}

PipelineSchedule grouped_schedule(int stages, bool training) {
  // Slots alternate between forward and backward for all stages at once.
  if (!training) return schedule_of("Grouped", stages, false, 1, 1, 0);
  return schedule_of("Grouped", stages, true, 2, 2, 4 * (stages - 1) + 1);
}

PipelineSchedule interleaved_schedule(int stages, bool training) {
  if (!training) return schedule_of("Interleaved", stages, false, 1, 1, 0);
  return schedule_of("Interleaved", stages, true, 2, 1, 2 * stages - 1);
}

PipelineSchedule sequential_schedule(int stages, bool training) {
  return schedule_of("Sequential", stages, training, training ? 2 * stages : stages, 1, 2 * stages - 1);
}

PipelineSchedule schedule_of(PipelineOrder order, int stages, bool training) {
  switch (order) {
    case PipelineOrder::grouped: return grouped_schedule(stages, training);
    case PipelineOrder::interleaved: return interleaved_schedule(stages, training);
    case PipelineOrder::sequential: break;
  }
  return sequential_schedule(stages, training);
}

void verify(const PipelineSchedule& schedule) {
  const int stages = schedule.stages();
  const auto forward = [&](int i) { return schedule.forward[static_cast<std::size_t>(i)]; };
  const auto backward = [&](int i) { return schedule.backward[static_cast<std::size_t>(i)]; };
  if (stages == 0 || schedule.period < 1) fail(schedule, 0, "it has no stages, or a period below 1");
  const bool training = !schedule.backward.empty();
  if (training && schedule.backward.size() != schedule.forward.size())
    fail(schedule, 0, "some stages have no backward pass");
  for (int i = 0; i < stages; ++i) {
    if (forward(i) < 0) fail(schedule, i, "an offset is negative");
    if (i > 0 && forward(i) <= forward(i - 1)) fail(schedule, i, "its forward pass begins before its input is ready");
    if (!training) continue;
    if (backward(i) <= forward(i)) fail(schedule, i, "its backward pass begins before its forward pass has ended");
    if (i > 0 && backward(i - 1) <= backward(i))
      fail(schedule, i - 1, "its backward pass begins before its gradient is ready");
    if ((backward(i) - forward(i)) % schedule.period == 0) fail(schedule, i, "it does two passes in one slot");
  }
}

std::vector<PipelineAction> actions_of_stage(const PipelineSchedule& schedule, int stage, std::int64_t micro_batches) {
  const auto i = static_cast<std::size_t>(stage);
  std::vector<PipelineAction> actions;
  for (std::int64_t m = 0; m < micro_batches; ++m) {
    actions.push_back({true, m, schedule.period * m + schedule.forward[i]});
    if (!schedule.backward.empty()) actions.push_back({false, m, schedule.period * m + schedule.backward[i]});
  }
  std::sort(actions.begin(), actions.end(), [](const auto& a, const auto& b) { return a.slot < b.slot; });
  return actions;
}

}  // namespace pando
