// SPDX-License-Identifier: Apache-2.0
// What a device does for a row: it waits for its neighbours, runs a program on what they left for it, and tells them.
#include <algorithm>

#include "base/waiting.h"
#include "runtime/step_stage.h"

namespace pando {

// A replica that is ahead waits here until the others are done with a row, and not for the feed to find room: that does
// not hear when the devices are stopped.
void StepExecutor::wait_for_room(std::int64_t row) const {
  const std::int64_t wanted = row + 1 - rows_in_flight();
  if (launch_.feed == nullptr || wanted <= 0) return;
  for (const auto& other : stages_)
    if (is_last_user(*other)) wait_for(rows_done(*other), wanted);
}

// Whether that wait would end at once.
bool StepExecutor::has_room(std::int64_t row) const {
  const std::int64_t wanted = row + 1 - rows_in_flight();
  return std::all_of(stages_.begin(), stages_.end(),
                     [&](const auto& other) { return !is_last_user(*other) || rows_done(*other) >= wanted; });
}

bool StepExecutor::run_forward(Stage& stage, std::int64_t row) {
  wait_for_room(row);
  const Place host = fed(row);
  if (stopped_) throw Stopped();
  if (!host) return false;
  if (stage.previous != nullptr) wait_for(stage.previous->forward_done, row + 1);
  if (stage.next != nullptr && row >= stage.next->slots) wait_for(rows_done(*stage.next), row + 1 - stage.next->slots);
  {
    const Watch watch(observer_, stage, Activity::forward, row);
    run_program(stage, Program::forward, host, row);
  }
  publish(stage.forward_done, row + 1);
  if (!training()) finish_row(stage, row);
  return true;
}

void StepExecutor::run_backward(Stage& stage, std::int64_t row, bool first_of_update) {
  if (stage.next != nullptr) wait_for(stage.next->backward_done, row + 1);
  const Place host = fed(row);
  Progress progress;
  const bool is_last = row + 1 == stage.rows + stage.rows_of_update;
  if (is_last && buckets_ && buckets_->has(stage.index))
    progress = buckets_->progress(stage.index, stage.replica, first_of_update);
  {
    const Watch watch(observer_, stage, Activity::backward, row);
    run_program(stage, first_of_update ? Program::backward_first : Program::backward_next, host, row, progress);
  }
  publish(stage.backward_done, row + 1);
  finish_row(stage, row);
}

// Of the devices of a replica.
bool StepExecutor::is_last_user(const Stage& stage) const {
  return training() ? stage.previous == nullptr : stage.next == nullptr;
}

const Awaited<std::int64_t>& StepExecutor::rows_done(const Stage& stage) const {
  return training() ? stage.backward_done : stage.forward_done;
}

// Gives a row of the feed back when all replicas are done with it. Of two that finish at once, one sees both.
void StepExecutor::finish_row(Stage& stage, std::int64_t row) {
  if (!is_last_user(stage) || launch_.feed == nullptr) return;
  std::int64_t done = row + 1;
  for (const auto& other : stages_)
    if (other->index == stage.index) done = std::min(done, rows_done(*other).load());
  // Counters of devices that are stopped say nothing about the rows that others still read.
  if (!stopped_) launch_.feed->release_before(launch_.first_row + done);
}

Place StepExecutor::find(const Stage& stage, const Route& route, const Place& host, std::int64_t row) const {
  using Block = Route::Block;
  const auto replica = static_cast<std::size_t>(stage.replica);
  switch (route.block) {
    case Block::host: return host + (replica * plan_.host.bytes + route.offset);
    case Block::own: return stage.slot(row) + route.offset;
    case Block::next: return stage.next->slot(row) + route.offset;
    case Block::previous: return stage.previous->slot(row) + route.offset;
    case Block::exchange: return exchanged_[replica].place() + route.offset;
    case Block::result: break;
  }
  const std::size_t result = static_cast<std::size_t>(row) * static_cast<std::size_t>(replicas()) + replica;
  return host_place(launch_.results + result * plan_.results.bytes + route.offset);
}

// Without a backward pass every row counts as an update.
Counter StepExecutor::counter_of(const Stage& stage, std::int64_t row) const {
  const std::int64_t rows = training() ? plan_.rows_per_update : 1;
  return {launch_.first_update + row / rows,
          (row % rows * plan_.replicas + first_replica() + stage.replica) * plan_.batch_size};
}

void StepExecutor::run_program(Stage& stage, Program program, const Place& host, std::int64_t row,
                               const Progress& progress) {
  const auto& executable = stage.loaded.programs.executables[program];
  if (!executable) return;
  stage.input_places.clear();
  stage.output_places.clear();
  for (const Route& route : stage.inputs[program]) stage.input_places.push_back(find(stage, route, host, row));
  for (const Route& route : stage.outputs[program]) stage.output_places.push_back(find(stage, route, host, row));
  Counter counter = counter_of(stage, row);
  // An update is the same on all replicas.
  if (program == Program::update_values || program == Program::update) counter.sample = 0;
  executable->step({stage.input_places, stage.output_places, counter, progress});
}

}  // namespace pando
