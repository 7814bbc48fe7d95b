#include "runtime/pipeline_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/waiting.h"

namespace pando {

// One device: its programs, its ring of slots, and how far it is in this run.
struct PipelineExecutor::Stage {
  int replica, index, device;
  DeviceProgram programs;
  std::size_t slot_bytes;
  std::int64_t slots;
  HostMemory memory{nullptr, nullptr};
  // Rows of this run whose forward, and backward, pass is done.
  std::atomic<std::int64_t> forward_done = 0, backward_done = 0;
  std::int64_t counter[2] = {0, 0};
  std::int64_t rows = 0;
  // Of one update.
  std::vector<PipelineAction> actions = {};
  std::vector<const std::byte*> feeds = {};
  std::vector<std::byte*> outputs = {};
  // How far it is where one thread runs all stages.
  std::int64_t update = 0, rows_of_update = 0;
  std::size_t next_action = 0;
  Stage *before = nullptr, *behind = nullptr;

  std::byte* slot(std::int64_t row) const { return memory.get() + static_cast<std::size_t>(row % slots) * slot_bytes; }
};

namespace {

void publish(std::atomic<std::int64_t>& counter, std::int64_t row) {
  counter.store(row + 1);
  counter.notify_all();
}

}  // namespace

PipelineExecutor::PipelineExecutor(PipelineLayout layout, std::vector<DeviceProgram> devices)
    : layout_(std::move(layout)) {
  verify(layout_.schedule);
  for (int device = 0; device < static_cast<int>(devices.size()); ++device) {
    const int index = device % stages();
    std::unique_ptr<Stage> stage(new Stage{.replica = device / stages(),
                                           .index = index,
                                           .device = device,
                                           .programs = std::move(devices[static_cast<std::size_t>(device)]),
                                           .slot_bytes = layout_.slot_bytes[static_cast<std::size_t>(index)],
                                           // One in work, and one that the stage before may fill meanwhile.
                                           .slots = layout_.schedule.stash_depth(index) + 2});
    stage->memory = allocate_host_memory(stage->slot_bytes * static_cast<std::size_t>(stage->slots),
                                         "the activations of a pipeline stage");
    if (index > 0) {
      stage->before = stages_.back().get();
      stages_.back()->behind = stage.get();
    }
    stages_.push_back(std::move(stage));
  }
  for (int i = 0; i < stages(); ++i) groups_.push_back(std::make_unique<LocalGroup>(layout_.replicas));
  try {
    for (int device = 1; device < static_cast<int>(stages_.size()); ++device) {
      threads_.emplace_back(fmt::format("for IPU {} of {}", device + 1, stages_.size()),
                            [this, device] { serve(device); });
      crowding_.add_member(threads_.back().native_handle());
    }
  } catch (...) {
    stop();
    throw;
  }
}

PipelineExecutor::~PipelineExecutor() { stop(); }

void PipelineExecutor::stop() {
  stopping_ = true;
  launches_.fetch_add(1);
  launches_.notify_all();
}

int PipelineExecutor::rows_in_flight() const {
  std::int64_t rows = 0;
  for (const auto& stage : stages_) rows += stage->slots;
  return static_cast<int>(rows) / layout_.replicas + 2;
}

void PipelineExecutor::set_recorders(const std::vector<Recorder*>& recorders) {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    DeviceProgram& programs = stages_[i]->programs;
    std::int32_t number = 0;
    for (RoutedProgram* program :
         {&programs.forward, &programs.backward_first, &programs.backward_next, &programs.update}) {
      if (program->executable != nullptr)
        program->executable->set_recorder(recorders.empty() ? nullptr : recorders[i], number);
      ++number;
    }
  }
}

std::int64_t PipelineExecutor::run(const Run& run) {
  process_.check("a program of several IPUs");
  if (threads_.empty() || crowding_.is_crowded()) return run_part(run, false);
  // A few milliseconds show whether the devices get on together.
  const std::int64_t few = nanoseconds_of_update_ > 0 ? std::llround(5e6 / nanoseconds_of_update_) : 1;
  Run first = run;
  first.updates = std::clamp<std::int64_t>(few, 1, run.updates);
  const auto begin = std::chrono::steady_clock::now();
  const std::int64_t rows = run_part(first, true);
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  nanoseconds_of_update_ = taken.count() / static_cast<double>(first.updates);
  if (first.updates == run.updates || rows < first.updates * run.rows_per_update) return rows;
  Run rest = run;
  rest.updates -= first.updates;
  rest.first_row += rows;
  rest.first_update += first.updates;
  rest.results += static_cast<std::size_t>(rows * layout_.replicas) * layout_.result_bytes;
  return rows + run_part(rest, !crowding_.is_crowded());
}

std::int64_t PipelineExecutor::run_part(const Run& run, bool together) {
  for (auto& stage : stages_) {
    if (stage->actions.empty() || run.rows_per_update != run_.rows_per_update)
      stage->actions = actions_of_stage(layout_.schedule, stage->index, run.rows_per_update);
    stage->forward_done = 0;
    stage->backward_done = 0;
    stage->rows = 0;
  }
  run_ = run;
  if (together) run_together();
  else run_alone();
  return stages_.front()->rows;
}

void PipelineExecutor::run_together() {
  crowding_.forget();
  crowding_.judge();
  finished_ = 0;
  launches_.fetch_add(1);
  launches_.notify_all();
  run_device(0);
  wait_until_at_least(finished_, static_cast<std::int64_t>(threads_.size()));
  crowding_.judge();
}

void PipelineExecutor::serve(int device) {
  for (std::int64_t launch = 1;; ++launch) {
    wait_until_at_least(launches_, launch);
    if (stopping_) return;
    run_device(device);
    finished_.fetch_add(1);
    finished_.notify_all();
  }
}

void PipelineExecutor::run_device(int device) {
  Stage& stage = *stages_[static_cast<std::size_t>(device)];
  for (std::int64_t update = 0; update < run_.updates; ++update)
    if (!run_update(stage, update)) return;
}

// Returns false when the feed has ended.
bool PipelineExecutor::run_update(Stage& stage, std::int64_t update) {
  const std::int64_t first = stage.rows;
  std::int64_t rows = run_.rows_per_update;
  for (const PipelineAction& action : stage.actions) {
    if (action.micro_batch >= rows) continue;
    if (!action.forward) run_backward(stage, first + action.micro_batch, action.micro_batch == 0);
    // Every stage of every replica finds the end at the same row, which then ends the update.
    else if (!run_forward(stage, first + action.micro_batch)) rows = action.micro_batch;
  }
  stage.rows += rows;
  if (rows > 0 && training()) {
    LocalGroup& group = *groups_[static_cast<std::size_t>(stage.index)];
    if (observer_ != nullptr) observer_->begin(stage.device, PipelineObserver::Kind::exchange, update);
    group.all_reduce(stage.replica, stage.programs.gradients, false);
    stage.programs.statistics_use.begin();
    group.all_reduce(stage.replica, stage.programs.statistics, true);
    stage.programs.statistics_use.end();
    if (observer_ != nullptr) observer_->end(stage.device, PipelineObserver::Kind::exchange, update);
    update_weights(stage, update);
  }
  return rows == run_.rows_per_update;
}

void PipelineExecutor::update_weights(Stage& stage, std::int64_t update) {
  stage.counter[0] = run_.first_update + update;
  if (observer_ != nullptr) observer_->begin(stage.device, PipelineObserver::Kind::update, update);
  run_program(stage, stage.programs.update, nullptr, 0);
  if (observer_ != nullptr) observer_->end(stage.device, PipelineObserver::Kind::update, update);
}

// Each stage goes as far as it can before the next has its turn.
void PipelineExecutor::run_alone() {
  for (auto& stage : stages_) {
    stage->update = 0;
    begin_update(*stage);
  }
  const auto is_over = [&](const auto& stage) { return stage->update == run_.updates; };
  while (!std::all_of(stages_.begin(), stages_.end(), is_over)) {
    bool moved = false;
    for (auto& stage : stages_) moved = run_possible_actions(*stage) || moved;
    for (int index = 0; index < stages(); ++index) moved = end_update_alone(index) || moved;
    // Nothing but data is missing, and the first stage of the first replica is not behind the others.
    if (!moved) run_.feed->wait_for(run_.first_row + stages_.front()->rows + next_row(*stages_.front()));
  }
}

void PipelineExecutor::begin_update(Stage& stage) {
  stage.next_action = 0;
  stage.rows_of_update = run_.rows_per_update;
}

std::int64_t PipelineExecutor::next_row(const Stage& stage) const {
  return stage.next_action < stage.actions.size() ? stage.actions[stage.next_action].micro_batch : 0;
}

// Whether there was one.
bool PipelineExecutor::run_possible_actions(Stage& stage) {
  bool moved = false;
  for (; stage.update < run_.updates && stage.next_action < stage.actions.size(); ++stage.next_action) {
    const PipelineAction& action = stage.actions[stage.next_action];
    if (action.micro_batch >= stage.rows_of_update) continue;
    const std::int64_t row = stage.rows + action.micro_batch;
    if (!can_run(stage, action, row)) return moved;
    if (!action.forward) run_backward(stage, row, action.micro_batch == 0);
    else if (!run_forward(stage, row)) stage.rows_of_update = action.micro_batch;
    moved = true;
  }
  return moved;
}

bool PipelineExecutor::can_run(const Stage& stage, const PipelineAction& action, std::int64_t row) const {
  if (!action.forward) return stage.behind == nullptr || stage.behind->backward_done > row;
  if (!run_.feed->has(run_.first_row + row)) return false;
  // Where the feed has ended, the pass finds that out and does nothing else.
  if (run_.feed->wait_for(run_.first_row + row) == nullptr) return true;
  if (stage.before != nullptr && stage.before->forward_done <= row) return false;
  if (stage.behind == nullptr || row < stage.behind->slots) return true;
  return (training() ? stage.behind->backward_done : stage.behind->forward_done) > row - stage.behind->slots;
}

// Ends the update of stage number `index` if all replicas have run its actions; whether they had.
bool PipelineExecutor::end_update_alone(int index) {
  std::vector<Stage*> members;
  std::vector<std::span<const std::span<float>>> gradients, statistics;
  for (auto& stage : stages_) {
    if (stage->index != index) continue;
    if (stage->update == run_.updates || stage->next_action < stage->actions.size()) return false;
    members.push_back(stage.get());
    gradients.emplace_back(stage->programs.gradients);
    statistics.emplace_back(stage->programs.statistics);
  }
  const std::int64_t rows = members.front()->rows_of_update;
  if (rows > 0 && training()) {
    LocalGroup::reduce_all(gradients, false);
    for (Stage* stage : members) stage->programs.statistics_use.begin();
    LocalGroup::reduce_all(statistics, true);
    for (Stage* stage : members) stage->programs.statistics_use.end();
    for (Stage* stage : members) update_weights(*stage, stage->update);
  }
  for (Stage* stage : members) {
    stage->rows += rows;
    stage->update = rows == run_.rows_per_update ? stage->update + 1 : run_.updates;
    begin_update(*stage);
  }
  return true;
}

bool PipelineExecutor::run_forward(Stage& stage, std::int64_t row) {
  const std::byte* fed = run_.feed->wait_for(run_.first_row + row);
  if (fed == nullptr) return false;
  if (stage.before != nullptr) wait_until_at_least(stage.before->forward_done, row + 1);
  if (stage.behind != nullptr && row >= stage.behind->slots) {
    const auto& freed = training() ? stage.behind->backward_done : stage.behind->forward_done;
    wait_until_at_least(freed, row + 1 - stage.behind->slots);
  }
  const std::byte* host = fed + layout_.host_bytes * static_cast<std::size_t>(stage.replica);
  if (observer_ != nullptr) observer_->begin(stage.device, PipelineObserver::Kind::forward, row);
  run_program(stage, stage.programs.forward, host, row);
  if (observer_ != nullptr) observer_->end(stage.device, PipelineObserver::Kind::forward, row);
  publish(stage.forward_done, row);
  if (!training()) finish_row(stage, row);
  return true;
}

void PipelineExecutor::run_backward(Stage& stage, std::int64_t row, bool first_of_update) {
  if (stage.behind != nullptr) wait_until_at_least(stage.behind->backward_done, row + 1);
  const std::byte* fed = run_.feed->wait_for(run_.first_row + row);
  const std::byte* host = fed + layout_.host_bytes * static_cast<std::size_t>(stage.replica);
  if (observer_ != nullptr) observer_->begin(stage.device, PipelineObserver::Kind::backward, row);
  run_program(stage, first_of_update ? stage.programs.backward_first : stage.programs.backward_next, host, row);
  if (observer_ != nullptr) observer_->end(stage.device, PipelineObserver::Kind::backward, row);
  publish(stage.backward_done, row);
  finish_row(stage, row);
}

// Gives a row of the feed back when all replicas are done with it.
void PipelineExecutor::finish_row(Stage& stage, std::int64_t row) {
  const bool is_last_user = training() ? stage.before == nullptr : stage.behind == nullptr;
  if (!is_last_user) return;
  std::int64_t done = row + 1;
  for (const auto& other : stages_)
    if (other->index == stage.index)
      done = std::min(done, (training() ? other->backward_done : other->forward_done).load(std::memory_order_acquire));
  run_.feed->release_before(run_.first_row + done);
}

const std::byte* PipelineExecutor::find(const Stage& stage, const PortRoute& route, const std::byte* host,
                                        std::int64_t row) const {
  switch (route.place) {
    case PortRoute::Place::host: return host + route.offset;
    case PortRoute::Place::own: return stage.slot(row) + route.offset;
    case PortRoute::Place::next: return stage.behind->slot(row) + route.offset;
    case PortRoute::Place::previous: return stage.before->slot(row) + route.offset;
    case PortRoute::Place::counter: return reinterpret_cast<const std::byte*>(stage.counter);
    case PortRoute::Place::result: break;
  }
  const auto place = static_cast<std::size_t>(row) * static_cast<std::size_t>(layout_.replicas) +
                     static_cast<std::size_t>(stage.replica);
  return run_.results + place * layout_.result_bytes + route.offset;
}

void PipelineExecutor::run_program(Stage& stage, RoutedProgram& program, const std::byte* host, std::int64_t row) {
  if (program.executable == nullptr) return;
  stage.feeds.clear();
  stage.outputs.clear();
  for (const PortRoute& route : program.feeds) stage.feeds.push_back(find(stage, route, host, row));
  for (const PortRoute& route : program.outputs)
    stage.outputs.push_back(const_cast<std::byte*>(find(stage, route, host, row)));
  program.executable->step(stage.feeds, stage.outputs);
}

}  // namespace pando
