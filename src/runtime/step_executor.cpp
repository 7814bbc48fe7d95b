// SPDX-License-Identifier: Apache-2.0
// Devices talk by counters of finished rows: a device waits until the counters of its neighbours say that its input is
// there and that there is room for its output, then works and raises its own. On a crowded machine one thread runs the
// same actions in turn, in any order that the counters allow.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/waiting.h"
#include "runtime/step_stage.h"

namespace pando {

namespace {

// More than any row: counters have this value when the devices are stopped.
constexpr std::int64_t past_all_rows = std::numeric_limits<std::int64_t>::max() / 2;

}  // namespace

StepExecutor::StepExecutor(const StepPlan& plan, std::vector<LoadedStage> devices, std::shared_ptr<Workers> workers)
    : plan_(plan), workers_(std::move(workers)) {
  verify(plan_.schedule);
  for (int device = 0; device < static_cast<int>(devices.size()); ++device)
    add_stage(device, std::move(devices[static_cast<std::size_t>(device)]));
  for (int i = 0; i < stages(); ++i) replicas_of_stage_.push_back(std::make_unique<LocalGroup>(replicas()));
  sum_scratch_.resize(static_cast<std::size_t>(stages()));
  sum_devices_.resize(static_cast<std::size_t>(stages()));
  for (int r = 0; r < replicas(); ++r) {
    stages_of_replica_.push_back(std::make_unique<LocalGroup>(stages()));
    exchanged_.push_back(host_memory()->allocate(plan_.exchange.bytes, "what the stages of a pipeline exchange"));
  }
  if (workers_ && training()) make_buckets();
  try {
    for (int device = 1; device < static_cast<int>(stages_.size()); ++device) {
      threads_.emplace_back(fmt::format("for IPU {} of {}", device + 1, stages_.size()),
                            [this, device] { serve(device); });
      crowding_.add_member(threads_.back().native_handle());
    }
  } catch (...) {
    stop_threads();
    throw;
  }
}

StepExecutor::~StepExecutor() { stop_threads(); }

void StepExecutor::make_buckets() {
  std::vector<std::vector<const HostBlocks*>> sums(static_cast<std::size_t>(replicas()));
  for (const auto& stage : stages_) sums[static_cast<std::size_t>(stage->replica)].push_back(&stage->loaded.sums);
  buckets_ = std::make_unique<StepBuckets>(plan_, sums, workers_,
                                           [this](std::exception_ptr failure) { fail(std::move(failure)); });
}

// Done by the first run, where all workers are together. They agree for each stage whether its devices are connected.
void StepExecutor::connect_sums() {
  if (has_connected_) return;
  const auto is_summed = [](const auto& stage) {
    return !stage->loaded.sums.is_empty() || !stage->loaded.statistics.is_empty();
  };
  if (workers_ && training() && std::any_of(stages_.begin(), stages_.end(), is_summed)) {
    std::vector<SumLink*> links;
    for (int index = 0; index < stages(); ++index) {
      const bool all = std::all_of(stages_.begin(), stages_.end(), [&](const auto& stage) {
        return stage->index != index || stage->loaded.link != nullptr;
      });
      links.push_back(all ? stages_[static_cast<std::size_t>(index)]->loaded.link.get() : nullptr);
    }
    sum_devices_ = connect_devices(workers_, links);
  }
  for (auto& stage : stages_)
    if (sum_devices_[static_cast<std::size_t>(stage->index)] == nullptr) {
      stage->loaded.sums.make_copies();
      stage->loaded.statistics.make_copies();
    }
  has_connected_ = true;
}

void StepExecutor::add_stage(int device, LoadedStage loaded) {
  const int index = device % stages();
  const StagePlan& own = plan_.stages[static_cast<std::size_t>(index)];
  std::unique_ptr<Stage> stage(new Stage{.replica = device / stages(),
                                         .index = index,
                                         .device = device,
                                         .loaded = std::move(loaded),
                                         .slot_bytes = std::max(own.slot.bytes, buffer_alignment),
                                         // One slot in use, and one that the stage before may fill meanwhile.
                                         .slots = plan_.schedule.stash_depth(index) + 2});
  stage->memory = stage->loaded.memory->allocate(stage->slot_bytes * static_cast<std::size_t>(stage->slots),
                                                 "the activations of a pipeline stage");
  for (const Plan* program : own.all()) {
    std::vector<Route>&inputs = stage->inputs.emplace_back(), &outputs = stage->outputs.emplace_back();
    if (program == nullptr) continue;
    for (const Port& port : program->inputs) inputs.push_back(route_of(index, port, true));
    for (const Port& port : program->outputs) outputs.push_back(route_of(index, port, false));
  }
  if (index > 0) {
    stage->previous = stages_.back().get();
    stages_.back()->next = stage.get();
  }
  stages_.push_back(std::move(stage));
}

StepExecutor::Route StepExecutor::route_of(int stage, const Port& port, bool is_input) const {
  using Block = Route::Block;
  const auto in_slot = [&](Block block, int of_stage) {
    return Route{block, plan_.stages[static_cast<std::size_t>(of_stage)].slot.of(port).offset};
  };
  switch (port.kind) {
    case PortKind::host: return {Block::host, plan_.host.of(port).offset};
    case PortKind::activation: return is_input ? in_slot(Block::own, stage) : in_slot(Block::next, stage + 1);
    case PortKind::gradient: return is_input ? in_slot(Block::own, stage) : in_slot(Block::previous, stage - 1);
    case PortKind::stash: return in_slot(Block::own, stage);
    case PortKind::exchange: return {Block::exchange, plan_.exchange.of(port).offset};
    default: return {Block::result, plan_.results.of(port).offset};
  }
}

void StepExecutor::stop_threads() {
  ending_ = true;
  launches_.fetch_add(1);
  launches_.notify_all();
}

int StepExecutor::rows_in_flight() const {
  std::int64_t rows = 0;
  for (const auto& stage : stages_) rows += stage->slots;
  return static_cast<int>(rows) / replicas() + 2;
}

std::size_t StepExecutor::stash_bytes(int stage) const {
  const Stage& own = *stages_[static_cast<std::size_t>(stage)];
  return own.slot_bytes * static_cast<std::size_t>(own.slots);
}

int StepExecutor::tiles(int stage) const { return stages_[static_cast<std::size_t>(stage)]->loaded.programs.tiles; }

std::size_t StepExecutor::working_bytes(int stage) const {
  return stages_[static_cast<std::size_t>(stage)]->loaded.programs.working_bytes;
}

void StepExecutor::set_recorders(const std::vector<Recorder*>& recorders) {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    auto& programs = stages_[i]->loaded.programs.executables;
    for (std::size_t number = 0; number < programs.size(); ++number)
      if (programs[number])
        programs[number]->set_recorder(recorders.empty() ? nullptr : recorders[i], static_cast<std::int32_t>(number));
  }
}

std::int64_t StepExecutor::run(const Launch& launch) {
  process_.check("a program of several IPUs");
  if (launch.rows <= 0) return 0;
  if (buckets_ && buckets_->is_stopped())
    throw Error("run: the program failed before, and the workers that run it together cannot go on");
  connect_sums();
  if (threads_.empty() || crowding_.is_crowded()) return run_part(launch, false);
  // A few milliseconds show whether the devices get on together.
  const std::int64_t group = training() ? plan_.rows_per_update : launch.rows;
  const std::int64_t few = nanoseconds_of_group_ > 0 ? std::llround(5e6 / nanoseconds_of_group_) : 1;
  const std::int64_t groups = std::clamp<std::int64_t>(few, 1, (launch.rows + group - 1) / group);
  Launch first = launch;
  first.rows = std::min(launch.rows, groups * group);
  const auto begin = std::chrono::steady_clock::now();
  const std::int64_t rows = run_part(first, true);
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  nanoseconds_of_group_ = taken.count() / static_cast<double>(groups);
  if (first.rows == launch.rows || rows < first.rows) return rows;
  Launch rest = launch;
  rest.rows -= rows;
  rest.first_row += rows;
  rest.first_update += groups;
  rest.results += static_cast<std::size_t>(rows * replicas()) * plan_.results.bytes;
  return rows + run_part(rest, !crowding_.is_crowded());
}

std::int64_t StepExecutor::run_part(const Launch& launch, bool together) {
  launch_ = launch;
  for (auto& stage : stages_) {
    if (actions_for_ != group()) stage->actions = actions_of_stage(plan_.schedule, stage->index, group());
    stage->forward_done = 0;
    stage->backward_done = 0;
    stage->rows = 0;
    stage->update_number = 0;
    stage->is_over = false;
  }
  actions_for_ = group();
  stopped_ = false;
  take_failure();
  try {
    if (together) run_together();
    else run_alone();
  } catch (const Stopped&) {
    // What the failing device threw is already kept.
  } catch (...) {
    fail(std::current_exception());
  }
  if (std::exception_ptr failure = take_failure()) {
    for (auto* groups : {&replicas_of_stage_, &stages_of_replica_})
      for (auto& group : *groups) group->restart();
    std::rethrow_exception(failure);
  }
  return stages_.front()->rows;
}

std::exception_ptr StepExecutor::take_failure() {
  const std::lock_guard lock(failure_mutex_);
  return std::exchange(failure_, nullptr);
}

void StepExecutor::run_together() {
  crowding_.forget();
  crowding_.judge();
  finished_ = 0;
  launches_.fetch_add(1);
  launches_.notify_all();
  run_device(0);
  wait_until_at_least(finished_, static_cast<std::int64_t>(threads_.size()));
  crowding_.judge();
}

void StepExecutor::serve(int device) {
  for (std::int64_t launch = 1;; ++launch) {
    wait_until_at_least(launches_, launch);
    if (ending_) return;
    run_device(device);
    finished_.fetch_add(1);
    finished_.notify_all();
  }
}

void StepExecutor::run_device(int device) {
  Stage& stage = *stages_[static_cast<std::size_t>(device)];
  try {
    while (run_update(stage)) {
    }
  } catch (const Stopped&) {
    // Another device failed.
  } catch (...) {
    fail(std::current_exception());
  }
}

// Keeps the first failure, and ends the waiting of all devices.
void StepExecutor::fail(std::exception_ptr failure) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::move(failure);
  }
  stopped_ = true;
  for (auto& stage : stages_) {
    publish(stage->forward_done, past_all_rows);
    publish(stage->backward_done, past_all_rows);
  }
  for (auto* groups : {&replicas_of_stage_, &stages_of_replica_})
    for (auto& group : *groups) group->stop();
  if (buckets_) buckets_->stop();
}

void StepExecutor::wait_for(const Awaited<std::int64_t>& rows, std::int64_t wanted) const {
  wait_until_at_least(rows, wanted);
  if (stopped_) throw Stopped();
}

Place StepExecutor::fed(std::int64_t row) const {
  static constexpr std::byte nothing{};
  return launch_.feed == nullptr ? host_place(&nothing) : launch_.feed->wait_for(launch_.first_row + row);
}

void StepExecutor::begin_update(Stage& stage) const {
  stage.rows_of_update = std::min(group(), launch_.rows - stage.rows);
  stage.is_last_update = stage.rows + stage.rows_of_update == launch_.rows;
  stage.next_action = 0;
  stage.is_reduced = false;
}

void StepExecutor::end_update(Stage& stage) const {
  stage.rows += stage.rows_of_update;
  ++stage.update_number;
}

// Returns whether there is another update.
bool StepExecutor::run_update(Stage& stage) {
  begin_update(stage);
  const std::int64_t first = stage.rows;
  bool has_ended = stage.is_last_update;
  for (const PipelineAction& action : stage.actions) {
    if (action.micro_batch >= stage.rows_of_update) continue;
    if (!action.forward) run_backward(stage, first + action.micro_batch, action.micro_batch == 0);
    else if (!run_forward(stage, first + action.micro_batch)) {
      // Every stage of every replica finds the end at the same row, which then ends the update.
      stage.rows_of_update = action.micro_batch;
      has_ended = true;
    }
  }
  if (stage.rows_of_update > 0 && training()) {
    reduce(stage);
    if (exchanges()) {
      run_program(stage, Program::update_values, {}, first);
      stages_of_replica_[static_cast<std::size_t>(stage.replica)]->barrier();
    }
    update_weights(stage);
  }
  end_update(stage);
  return !has_ended;
}

void StepExecutor::reduce(Stage& stage) {
  LocalGroup& group = *replicas_of_stage_[static_cast<std::size_t>(stage.index)];
  SumScratch& scratch = sum_scratch_[static_cast<std::size_t>(stage.index)];
  const Watch watch(observer_, stage, Activity::exchange, stage.update_number);
  SumDevice* const device = sum_devices_[static_cast<std::size_t>(stage.index)].get();
  const auto reduce = [&](const HostBlocks& blocks, bool mean) {
    if (device != nullptr)
      return group.all_reduce_by(stage.replica, blocks.on_device(),
                                 [&](auto parts) { reduce_on_device(*device, parts, mean); });
    blocks.fetch();
    if (!workers_) group.all_reduce(stage.replica, blocks.numbers(), mean);
    else
      group.all_reduce_by(stage.replica, blocks.numbers(),
                          [&](auto parts) { reduce_over_workers(*workers_, stage.index, parts, mean, scratch); });
    blocks.store();
  };
  if (buckets_ && buckets_->has(stage.index)) {
    buckets_->end_update(stage.index, stage.replica);
    buckets_->wait(stage.index, stage.replica);
  } else {
    reduce(stage.loaded.sums, false);
  }
  const HeldVariables held(stage.loaded.statistics_use);
  reduce(stage.loaded.statistics, true);
}

void StepExecutor::update_weights(Stage& stage) {
  const Watch watch(observer_, stage, Activity::update, stage.update_number);
  run_program(stage, Program::update, {}, stage.rows);
}

}  // namespace pando
