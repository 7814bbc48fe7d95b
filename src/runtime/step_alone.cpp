// SPDX-License-Identifier: Apache-2.0
// One thread that runs all devices: what a crowded machine does, with the bits of threads that run at the same time.
#include <algorithm>
#include <deque>

#include "runtime/step_stage.h"

namespace pando {

namespace {

void reduce_blocks(const std::vector<const HostBlocks*>& members, Workers* workers, SumDevice* device, int channel,
                   bool mean, SumScratch& scratch) {
  std::vector<std::span<const std::span<float>>> parts;
  if (device != nullptr) {
    for (const HostBlocks* blocks : members) parts.push_back(blocks->on_device());
    return reduce_on_device(*device, parts, mean);
  }
  for (const HostBlocks* blocks : members) {
    blocks->fetch();
    parts.push_back(blocks->numbers());
  }
  if (workers == nullptr) LocalGroup::reduce_all(parts, mean);
  else reduce_over_workers(*workers, channel, parts, mean, scratch);
  for (const HostBlocks* blocks : members) blocks->store();
}

}  // namespace

// Each stage goes as far as it can before it is the next one's turn.
void StepExecutor::run_alone() {
  for (auto& stage : stages_) begin_update(*stage);
  const auto is_over = [](const auto& stage) { return stage->is_over; };
  while (!std::all_of(stages_.begin(), stages_.end(), is_over)) {
    bool moved = false;
    for (auto& stage : stages_) moved = run_possible_actions(*stage) || moved;
    for (int index = 0; index < stages(); ++index) moved = reduce_alone(index) || moved;
    for (int index = 0; index < stages(); ++index) moved = update_alone(index) || moved;
    // Only data is missing, and no stage is ahead of the first stage of the first replica.
    if (!moved) fed(stages_.front()->rows + next_row(*stages_.front()));
  }
}

std::int64_t StepExecutor::next_row(const Stage& stage) const {
  return stage.next_action < stage.actions.size() ? stage.actions[stage.next_action].micro_batch : 0;
}

// Whether there was one.
bool StepExecutor::run_possible_actions(Stage& stage) {
  bool moved = false;
  for (; !stage.is_over && stage.next_action < stage.actions.size(); ++stage.next_action) {
    const PipelineAction& action = stage.actions[stage.next_action];
    if (action.micro_batch >= stage.rows_of_update) continue;
    const std::int64_t row = stage.rows + action.micro_batch;
    if (!can_run(stage, action, row)) return moved;
    if (!action.forward) run_backward(stage, row, action.micro_batch == 0);
    else if (!run_forward(stage, row)) {
      stage.rows_of_update = action.micro_batch;
      stage.is_last_update = true;
    }
    moved = true;
  }
  return moved;
}

bool StepExecutor::can_run(const Stage& stage, const PipelineAction& action, std::int64_t row) const {
  if (!action.forward) return stage.next == nullptr || stage.next->backward_done > row;
  if (launch_.feed != nullptr && (!has_room(row) || !launch_.feed->has(launch_.first_row + row))) return false;
  // If the feed has ended, the pass finds that out and does nothing else.
  if (!fed(row)) return true;
  if (stage.previous != nullptr && stage.previous->forward_done <= row) return false;
  if (stage.next == nullptr || row < stage.next->slots) return true;
  return rows_done(*stage.next) > row - stage.next->slots;
}

// A thread that waits for other workers can do nothing else, so all workers must add up their stages in one order: the
// last stage, which ends its actions first, comes first.
bool StepExecutor::is_turn_to_reduce(int index) const {
  if (!workers_) return true;
  const Stage& own = *stages_[static_cast<std::size_t>(index)];
  return std::all_of(stages_.begin() + index + 1, stages_.begin() + stages(), [&](const auto& later) {
    return later->is_over || later->is_reduced || later->update_number > own.update_number;
  });
}

// Adds up the sums of stage number `index` if all replicas have run its actions; returns whether they had.
bool StepExecutor::reduce_alone(int index) {
  if (!is_turn_to_reduce(index)) return false;
  std::vector<Stage*> members;
  std::vector<const HostBlocks*> sums, statistics;
  for (auto& stage : stages_) {
    if (stage->index != index) continue;
    if (stage->is_over || stage->is_reduced || stage->next_action < stage->actions.size()) return false;
    members.push_back(stage.get());
    sums.push_back(&stage->loaded.sums);
    statistics.push_back(&stage->loaded.statistics);
  }
  for (Stage* stage : members) stage->is_reduced = true;
  SumScratch& scratch = sum_scratch_[static_cast<std::size_t>(index)];
  SumDevice* const device = sum_devices_[static_cast<std::size_t>(index)].get();
  if (members.front()->rows_of_update == 0 || !training()) return true;
  {
    std::deque<Watch> watches;
    for (Stage* stage : members) watches.emplace_back(observer_, *stage, Activity::exchange, stage->update_number);
    if (buckets_ && buckets_->has(index)) {
      for (Stage* stage : members) buckets_->end_update(index, stage->replica);
      for (Stage* stage : members) buckets_->wait(index, stage->replica);
    } else {
      reduce_blocks(sums, workers_.get(), device, index, false, scratch);
    }
    for (Stage* stage : members) stage->loaded.statistics_use.begin();
    reduce_blocks(statistics, workers_.get(), device, index, true, scratch);
    for (Stage* stage : members) stage->loaded.statistics_use.end();
  }
  if (exchanges())
    for (Stage* stage : members) run_program(*stage, Program::update_values, {}, stage->rows);
  return true;
}

// Ends the update of stage number `index` if the sums that it needs are complete; returns whether they were.
bool StepExecutor::update_alone(int index) {
  const auto is_ready = [&](const auto& stage) { return !stage->is_over && stage->is_reduced; };
  const Stage& own = *stages_[static_cast<std::size_t>(index)];
  if (own.is_over || !own.is_reduced) return false;
  // The other stages must not be late, and are never ahead: they exchange values in every update.
  const auto is_waited_for = [&](const auto& stage) { return stage->update_number == own.update_number; };
  if (exchanges() && training() && own.rows_of_update > 0)
    for (const auto& stage : stages_)
      if (is_waited_for(stage) ? !is_ready(stage) : stage->update_number < own.update_number) return false;
  for (auto& stage : stages_) {
    if (stage->index != index) continue;
    if (stage->rows_of_update > 0 && training()) update_weights(*stage);
    end_update(*stage);
    if (stage->is_last_update) stage->is_over = true;
    else begin_update(*stage);
  }
  return true;
}

}  // namespace pando
