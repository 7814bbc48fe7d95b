// Devices talk by counters of finished rows: a device waits until the counters of its neighbours say that its input is
// there and that there is room for its output, then works and raises its own. On a crowded machine one thread runs the
// same actions in turn, in any order that the counters allow.
#include "runtime/step_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>

#include "base/waiting.h"

namespace pando {

// Where an input of a program comes from, or an output goes: `offset` bytes into that place, of the same micro-batch.
struct StepExecutor::Route {
  enum class Place : std::uint8_t {
    host,      // what the host fed for this replica
    own,       // the stage's slot: activations from the stage before, gradients from the next, and its stash
    next,      // the slot of the next stage
    previous,  // the slot of the stage before
    exchange,  // what the stages of this replica exchange with each other
    result,    // what the host receives for this micro-batch and replica
  };
  Place place = Place::host;
  std::size_t offset = 0;
};

// One device: its programs, its ring of slots, and how far it is in this launch.
struct StepExecutor::Stage {
  int replica, index, device;
  LoadedStage loaded;
  std::size_t slot_bytes;
  std::int64_t slots;
  HostMemory memory{nullptr, nullptr};
  // For each program.
  std::vector<std::vector<Route>> inputs = {}, outputs = {};
  // Rows of this launch whose forward, and backward, pass is done.
  std::atomic<std::int64_t> forward_done = 0, backward_done = 0;
  // Rows of the updates that are done.
  std::int64_t rows = 0;
  // The update that it is in: its number in this launch, and how many rows it has.
  std::int64_t update_number = 0, rows_of_update = 0;
  // Whether it is the last update of the launch.
  bool is_last_update = false;
  // What it does in an update, and how far it is if one thread runs all stages.
  std::vector<PipelineAction> actions = {};
  std::size_t next_action = 0;
  bool is_reduced = false, is_over = false;
  Stage *previous = nullptr, *next = nullptr;
  // Used by run_program().
  std::vector<const std::byte*> input_places = {};
  std::vector<std::byte*> output_places = {};

  std::byte* slot(std::int64_t row) const { return memory.get() + static_cast<std::size_t>(row % slots) * slot_bytes; }
};

// Tells the observer about an activity while it lives.
class StepExecutor::Watch {
 public:
  Watch(StepObserver* observer, const Stage& stage, Activity activity, std::int64_t number)
      : observer_(observer), device_(stage.device), activity_(activity), number_(number) {
    if (observer_ != nullptr) observer_->begin(device_, activity_, number_);
  }
  ~Watch() {
    if (observer_ != nullptr) observer_->end(device_, activity_, number_);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  StepObserver* observer_;
  const int device_;
  const Activity activity_;
  const std::int64_t number_;
};

namespace {

// More than any row: counters have this value when the devices are stopped.
constexpr std::int64_t past_all_rows = std::numeric_limits<std::int64_t>::max() / 2;

// Counters only grow, even if the devices are stopped meanwhile.
void publish(std::atomic<std::int64_t>& counter, std::int64_t rows) {
  std::int64_t known = counter.load(std::memory_order_relaxed);
  while (known < rows && !counter.compare_exchange_weak(known, rows)) {
  }
  counter.notify_all();
}

}  // namespace

StepExecutor::StepExecutor(const StepPlan& plan, std::vector<LoadedStage> devices) : plan_(plan) {
  verify(plan_.schedule);
  for (int device = 0; device < static_cast<int>(devices.size()); ++device)
    add_stage(device, std::move(devices[static_cast<std::size_t>(device)]));
  for (int i = 0; i < stages(); ++i) replicas_of_stage_.push_back(std::make_unique<LocalGroup>(plan_.replicas));
  for (int r = 0; r < plan_.replicas; ++r) {
    stages_of_replica_.push_back(std::make_unique<LocalGroup>(stages()));
    exchanged_.push_back(allocate_host_memory(plan_.exchange.bytes, "what the stages of a pipeline exchange"));
  }
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
  stage->memory = allocate_host_memory(stage->slot_bytes * static_cast<std::size_t>(stage->slots),
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
  using Place = Route::Place;
  const auto in_slot = [&](Place place, int of_stage) {
    return Route{place, plan_.stages[static_cast<std::size_t>(of_stage)].slot.of(port).offset};
  };
  switch (port.kind) {
    case PortKind::host: return {Place::host, plan_.host.of(port).offset};
    case PortKind::activation: return is_input ? in_slot(Place::own, stage) : in_slot(Place::next, stage + 1);
    case PortKind::gradient: return is_input ? in_slot(Place::own, stage) : in_slot(Place::previous, stage - 1);
    case PortKind::stash: return in_slot(Place::own, stage);
    case PortKind::exchange: return {Place::exchange, plan_.exchange.of(port).offset};
    default: return {Place::result, plan_.results.of(port).offset};
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
  return static_cast<int>(rows) / plan_.replicas + 2;
}

std::size_t StepExecutor::stash_bytes(int stage) const {
  const Stage& own = *stages_[static_cast<std::size_t>(stage)];
  return own.slot_bytes * static_cast<std::size_t>(own.slots);
}

std::size_t StepExecutor::working_bytes(int stage) const {
  std::size_t bytes = 0;
  for (const auto& program : stages_[static_cast<std::size_t>(stage)]->loaded.programs)
    if (program) bytes += program->working_bytes();
  return bytes;
}

void StepExecutor::set_recorders(const std::vector<Recorder*>& recorders) {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    auto& programs = stages_[i]->loaded.programs;
    for (std::size_t number = 0; number < programs.size(); ++number)
      if (programs[number])
        programs[number]->set_recorder(recorders.empty() ? nullptr : recorders[i], static_cast<std::int32_t>(number));
  }
}

std::int64_t StepExecutor::run(const Launch& launch) {
  process_.check("a program of several IPUs");
  if (launch.rows <= 0) return 0;
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
  rest.results += static_cast<std::size_t>(rows * plan_.replicas) * plan_.results.bytes;
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
  failure_ = nullptr;
  try {
    if (together) run_together();
    else run_alone();
  } catch (const Stopped&) {
    // What the failing device threw is already kept.
  } catch (...) {
    fail(std::current_exception());
  }
  if (failure_) {
    for (auto* groups : {&replicas_of_stage_, &stages_of_replica_})
      for (auto& group : *groups) group->restart();
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  return stages_.front()->rows;
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
}

void StepExecutor::wait_for(const std::atomic<std::int64_t>& rows, std::int64_t wanted) const {
  wait_until_at_least(rows, wanted);
  if (stopped_) throw Stopped();
}

const std::byte* StepExecutor::fed(std::int64_t row) const {
  static constexpr std::byte nothing{};
  return launch_.feed == nullptr ? &nothing : launch_.feed->wait_for(launch_.first_row + row);
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
      run_program(stage, Program::update_values, nullptr, first);
      stages_of_replica_[static_cast<std::size_t>(stage.replica)]->barrier();
    }
    update_weights(stage);
  }
  end_update(stage);
  return !has_ended;
}

void StepExecutor::reduce(Stage& stage) {
  LocalGroup& replicas = *replicas_of_stage_[static_cast<std::size_t>(stage.index)];
  const Watch watch(observer_, stage, Activity::exchange, stage.update_number);
  replicas.all_reduce(stage.replica, stage.loaded.sums, false);
  const HeldVariables held(stage.loaded.statistics_use);
  replicas.all_reduce(stage.replica, stage.loaded.statistics, true);
}

void StepExecutor::update_weights(Stage& stage) {
  const Watch watch(observer_, stage, Activity::update, stage.update_number);
  run_program(stage, Program::update, nullptr, stage.rows);
}

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
  if (launch_.feed != nullptr && !launch_.feed->has(launch_.first_row + row)) return false;
  // If the feed has ended, the pass finds that out and does nothing else.
  if (fed(row) == nullptr) return true;
  if (stage.previous != nullptr && stage.previous->forward_done <= row) return false;
  if (stage.next == nullptr || row < stage.next->slots) return true;
  return rows_done(*stage.next) > row - stage.next->slots;
}

// Adds up the sums of stage number `index` if all replicas have run its actions; returns whether they had.
bool StepExecutor::reduce_alone(int index) {
  std::vector<Stage*> members;
  std::vector<std::span<const std::span<float>>> sums, statistics;
  for (auto& stage : stages_) {
    if (stage->index != index) continue;
    if (stage->is_over || stage->is_reduced || stage->next_action < stage->actions.size()) return false;
    members.push_back(stage.get());
    sums.emplace_back(stage->loaded.sums);
    statistics.emplace_back(stage->loaded.statistics);
  }
  for (Stage* stage : members) stage->is_reduced = true;
  if (members.front()->rows_of_update == 0 || !training()) return true;
  {
    std::deque<Watch> watches;
    for (Stage* stage : members) watches.emplace_back(observer_, *stage, Activity::exchange, stage->update_number);
    LocalGroup::reduce_all(sums, false);
    for (Stage* stage : members) stage->loaded.statistics_use.begin();
    LocalGroup::reduce_all(statistics, true);
    for (Stage* stage : members) stage->loaded.statistics_use.end();
  }
  if (exchanges())
    for (Stage* stage : members) run_program(*stage, Program::update_values, nullptr, stage->rows);
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

// A replica that is ahead waits here until the others are done with a row, and not for the feed to find room: that does
// not hear when the devices are stopped.
void StepExecutor::wait_for_room(std::int64_t row) const {
  const std::int64_t wanted = row + 1 - rows_in_flight();
  if (launch_.feed == nullptr || wanted <= 0) return;
  for (const auto& other : stages_)
    if (is_last_user(*other)) wait_for(rows_done(*other), wanted);
}

bool StepExecutor::run_forward(Stage& stage, std::int64_t row) {
  wait_for_room(row);
  const std::byte* host = fed(row);
  if (stopped_) throw Stopped();
  if (host == nullptr) return false;
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
  const std::byte* host = fed(row);
  {
    const Watch watch(observer_, stage, Activity::backward, row);
    run_program(stage, first_of_update ? Program::backward_first : Program::backward_next, host, row);
  }
  publish(stage.backward_done, row + 1);
  finish_row(stage, row);
}

// Of the devices of a replica.
bool StepExecutor::is_last_user(const Stage& stage) const {
  return training() ? stage.previous == nullptr : stage.next == nullptr;
}

const std::atomic<std::int64_t>& StepExecutor::rows_done(const Stage& stage) const {
  return training() ? stage.backward_done : stage.forward_done;
}

// Gives a row of the feed back when all replicas are done with it. Of two that finish at once, one sees both.
void StepExecutor::finish_row(Stage& stage, std::int64_t row) {
  if (!is_last_user(stage) || launch_.feed == nullptr) return;
  std::int64_t done = row + 1;
  for (const auto& other : stages_)
    if (other->index == stage.index) done = std::min(done, rows_done(*other).load());
  launch_.feed->release_before(launch_.first_row + done);
}

std::byte* StepExecutor::find(const Stage& stage, const Route& route, const std::byte* host, std::int64_t row) const {
  const auto replica = static_cast<std::size_t>(stage.replica);
  switch (route.place) {
    // Programs only read it.
    case Route::Place::host: return const_cast<std::byte*>(host) + replica * plan_.host.bytes + route.offset;
    case Route::Place::own: return stage.slot(row) + route.offset;
    case Route::Place::next: return stage.next->slot(row) + route.offset;
    case Route::Place::previous: return stage.previous->slot(row) + route.offset;
    case Route::Place::exchange: return exchanged_[replica].get() + route.offset;
    case Route::Place::result: break;
  }
  const std::size_t place = static_cast<std::size_t>(row) * static_cast<std::size_t>(plan_.replicas) + replica;
  return launch_.results + place * plan_.results.bytes + route.offset;
}

// Without a backward pass every row counts as an update.
Counter StepExecutor::counter_of(const Stage& stage, std::int64_t row) const {
  const std::int64_t rows = training() ? plan_.rows_per_update : 1;
  return {launch_.first_update + row / rows, (row % rows * plan_.replicas + stage.replica) * plan_.batch_size};
}

void StepExecutor::run_program(Stage& stage, Program program, const std::byte* host, std::int64_t row) {
  if (!stage.loaded.programs[program]) return;
  stage.input_places.clear();
  stage.output_places.clear();
  for (const Route& route : stage.inputs[program]) stage.input_places.push_back(find(stage, route, host, row));
  for (const Route& route : stage.outputs[program]) stage.output_places.push_back(find(stage, route, host, row));
  Counter counter = counter_of(stage, row);
  // An update is the same on all replicas.
  if (program == Program::update_values || program == Program::update) counter.sample = 0;
  stage.loaded.programs[program]->step(stage.input_places, stage.output_places, counter);
}

}  // namespace pando
