// SPDX-License-Identifier: Apache-2.0
// Runs a program: all its rows or single steps, one caller at a time; and the outputs of the last run.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "base/waiting.h"
#include "program/state.h"

namespace pando {

namespace {

// The runs and steps of all programs that are going on; and whether the process lets none begin any more.
Awaited<int> active_runs = 0;
std::atomic<bool> runs_are_stopped = false;

void end_run() {
  if (active_runs.fetch_sub(1) == 1 && runs_are_stopped.load()) active_runs.notify_all();
}

// While it lives, the thread runs the program. Throws Error if another thread already does.
class ProgramUse {
 public:
  explicit ProgramUse(std::atomic<bool>& in_use) : in_use_(in_use) {
    // Counted before the question: stop_all_runs() either sees the run or is seen by it.
    active_runs.fetch_add(1);
    if (runs_are_stopped.load()) refuse("run: the process is ending, and no program runs any more");
    if (in_use_.exchange(true, std::memory_order_acquire))
      refuse("run: another thread is running this program; give each thread its own program");
  }
  ~ProgramUse() {
    in_use_.store(false, std::memory_order_release);
    end_run();
  }
  ProgramUse(const ProgramUse&) = delete;
  ProgramUse& operator=(const ProgramUse&) = delete;

 private:
  [[noreturn]] static void refuse(const char* text) {
    end_run();
    throw Error(text);
  }
  std::atomic<bool>& in_use_;
};

std::string message_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

// Runs with room for the outputs of every step, and then cuts the outputs to the steps that were run.
std::int64_t run_whole(auto& state, const Launch& launch, FeedRing* ring) {
  state.kept.clear();
  std::vector<std::byte*> memory;
  for (const Port& output : state.plan.stages[0].forward->outputs) {
    if (!output.every_step) continue;
    const Shape shape = joined({launch.rows}, output.type.shape);
    memory.push_back((state.kept[output.name] = Array(output.type.dtype, shape)).mutable_raw());
  }
  const std::int64_t done = state.executable().run(
      {.steps = launch.rows, .first_update = launch.first_update, .feed = ring, .every_step = memory});
  if (done < launch.rows)
    for (auto& [name, array] : state.kept) array = array.slice(0, done);
  return done;
}

// Makes `results`, which are those of this worker's replicas, those of all workers. Throws Error if another worker ran
// another number of rows.
void gather_results(Workers& workers, std::size_t bytes_of_row, std::int64_t rows, std::vector<std::byte>& results) {
  const std::vector<std::byte> all_rows =
      gather_from_workers(workers, result_channel, std::as_bytes(std::span(&rows, 1)));
  const auto count = static_cast<std::size_t>(workers.count());
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t other = 0;
    std::memcpy(&other, all_rows.data() + i * sizeof other, sizeof other);
    if (other != rows)
      throw Error(fmt::format("worker {} ran {} rows and worker {} ran {}; all workers must be given the same data",
                              workers.rank(), rows, i, other));
  }
  const std::size_t bytes = static_cast<std::size_t>(rows) * bytes_of_row;
  const std::vector<std::byte> all = gather_from_workers(workers, result_channel, {results.data(), bytes});
  results.resize(all.size());
  for (std::size_t worker = 0; worker < count; ++worker)
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
      std::copy_n(all.data() + worker * bytes + row * bytes_of_row, bytes_of_row,
                  results.data() + (row * count + worker) * bytes_of_row);
}

std::int64_t run_divided(auto& state, const Launch& launch, FeedRing* ring) {
  for (VariableCopies& copies : state.copies) copies.follow();
  const std::size_t bytes_of_row = state.replicas.size() * state.plan.results.bytes;
  state.results.resize(static_cast<std::size_t>(launch.rows) * bytes_of_row);
  try {
    const std::int64_t rows = state.executor->run({.rows = launch.rows,
                                                   .first_row = ring == nullptr ? 0 : ring->next(),
                                                   .first_update = launch.first_update,
                                                   .feed = ring,
                                                   .results = state.results.data()});
    if (!state.workers) return rows;
    if (rows < launch.rows && ring != nullptr) ring->rethrow();
    gather_results(*state.workers, bytes_of_row, rows, state.results);
    return rows;
  } catch (...) {
    if (state.workers) state.workers->give_up(message_of(std::current_exception()));
    for (VariableCopies& copies : state.copies) copies.distrust();
    state.rows_run = 0;
    throw;
  }
}

std::int64_t run_rows(auto& state, const Launch& launch, FeedRing* ring) {
  const ProgramUse use(state.in_use);
  if (launch.rows < 0) throw Error(fmt::format("run: the number of steps is {} but must not be negative", launch.rows));
  state.rows_run = state.executor ? run_divided(state, launch, ring) : run_whole(state, launch, ring);
  const std::int64_t rows = state.plan.rows_per_update;
  state.next_update = launch.first_update + (state.rows_run + rows - 1) / rows;
  return state.rows_run;
}

const Array& feed_for(const Port& port, const std::map<std::string, Array>& feeds) {
  const auto found = feeds.find(port.name);
  if (found == feeds.end())
    throw Error(fmt::format("step: the input '{}' was given no feed; add one of that name", port.name));
  const Type given = type_of(found->second);
  if (given != port.type)
    throw Error(fmt::format("step: the input '{}' is {} but the feed is {}; cast or reshape it", port.name,
                            to_string(port.type), to_string(given)));
  return found->second;
}

// The plan of a program that can run a single step.
const Plan& plan_of_step(const StepPlan& plan) {
  if (!plan.is_whole())
    throw Error("step: the program is divided over several devices or accumulates gradients, and only run() runs that");
  return *plan.stages.front().forward;
}

}  // namespace

void stop_all_runs() {
  runs_are_stopped = true;
  for (int runs = active_runs; runs > 0; runs = active_runs) active_runs.wait(runs);
}

std::int64_t Program::run(const Launch& launch, Feed& feed) {
  FeedRing& ring = feed.state_->ring;
  // The devices of a divided program look for their rows without taking them.
  const FeedUse use(ring, launch.rows == 1 && state_->plan.is_whole());
  const std::int64_t done = run_rows(*state_, launch, &ring);
  if (done < launch.rows) ring.rethrow();
  return done;
}

std::int64_t Program::run(const Launch& launch) {
  const std::vector<Field>& inputs = state_->plan.host.list;
  if (!inputs.empty())
    throw Error(fmt::format("run: the graph has {} inputs, the first is '{}'; give a Feed", inputs.size(),
                            inputs.front().name));
  return run_rows(*state_, launch, nullptr);
}

std::int64_t Program::run(std::int64_t rows, Feed& feed) {
  return run({.rows = rows, .first_update = state_->next_update}, feed);
}
std::int64_t Program::run(std::int64_t rows) { return run({.rows = rows, .first_update = state_->next_update}); }

namespace {

void run_step(auto& state, std::span<const std::byte* const> feeds, std::span<std::byte* const> outputs,
              std::int64_t update) {
  state.from.clear();
  state.to.clear();
  for (const std::byte* feed : feeds) state.from.push_back(host_place(feed));
  for (std::byte* output : outputs) state.to.push_back(output == nullptr ? Place() : host_place(output));
  state.executable().step({state.from, state.to, {update, 0}});
}

}  // namespace

void Program::step(std::span<const std::byte* const> feeds, std::span<std::byte* const> outputs, std::int64_t update) {
  const Plan& plan = plan_of_step(state_->plan);
  if (feeds.size() != plan.inputs.size() || outputs.size() != plan.outputs.size())
    throw Error(fmt::format("step: {} feeds and {} outputs were given but the program has {} and {}", feeds.size(),
                            outputs.size(), plan.inputs.size(), plan.outputs.size()));
  const ProgramUse use(state_->in_use);
  run_step(*state_, feeds, outputs, update);
}

std::map<std::string, Array> Program::step(const std::map<std::string, Array>& feeds) {
  const Plan& plan = plan_of_step(state_->plan);
  for (const auto& [name, value] : feeds) {
    std::vector<std::string> known;
    for (const Port& port : plan.inputs) known.push_back(port.name);
    if (std::find(known.begin(), known.end(), name) == known.end()) throw Error(unknown_name("input", name, known));
  }
  std::vector<const std::byte*> from;
  for (const Port& port : plan.inputs) from.push_back(feed_for(port, feeds).raw());
  std::vector<std::byte*> to;
  std::map<std::string, Array> outputs;
  for (const Port& port : plan.outputs) {
    const Shape shape = port.every_step ? joined({1}, port.type.shape) : port.type.shape;
    to.push_back((outputs[port.name] = Array(port.type.dtype, shape)).mutable_raw());
  }
  const ProgramUse use(state_->in_use);
  run_step(*state_, from, to, state_->next_update++);
  state_->kept = outputs;
  return outputs;
}

namespace {

// The values of the rows from `first` on: [micro-batches, ...].
Array results_of(const auto& state, const Field& field, std::int64_t first) {
  const std::int64_t replicas = state.plan.replicas, batches = (state.rows_run - first) * replicas;
  Array values(field.type.dtype, joined({batches}, field.type.shape));
  const std::size_t bytes = field.type.bytes(), stride = state.plan.results.bytes;
  const std::byte* from = state.results.data() + static_cast<std::size_t>(first * replicas) * stride + field.offset;
  for (std::size_t i = 0; i < static_cast<std::size_t>(batches); ++i)
    std::copy_n(from + i * stride, bytes, values.mutable_raw() + i * bytes);
  return values;
}

Array divided_output(const auto& state, const Field& field) {
  if (field.every_step) return results_of(state, field, 0);
  const std::int64_t replicas = state.plan.replicas;
  const Shape shape = replicas > 1 ? joined({replicas}, field.type.shape) : field.type.shape;
  if (state.rows_run == 0) return Array(field.type.dtype, shape);
  return results_of(state, field, state.rows_run - 1).reshape(shape);
}

}  // namespace

Array Program::output(const std::string& name) const {
  const State& state = *state_;
  if (const auto kept = state.kept.find(name); kept != state.kept.end()) return kept->second;
  std::vector<std::string> known;
  for (const Field& field : state.plan.results.list) {
    known.push_back(field.name);
    if (field.name != name) continue;
    if (state.executor) return divided_output(state, field);
    Array value(field.type.dtype, field.type.shape);
    state.executable().read_output(known.size() - 1, value.mutable_raw());
    return value;
  }
  throw Error(unknown_name("output", name, known));
}

Feed::Feed(const Program& program, FillFeeds fill, int slots) {
  if (slots < 1) throw Error(fmt::format("Feed: the number of slots is {} but must be at least 1", slots));
  const Program::State& state = *program.state_;
  const Fields& host = state.plan.host;
  std::vector<std::size_t> offsets;
  for (std::size_t r = 0; r < state.replicas.size(); ++r)
    for (const Field& field : host.list) offsets.push_back(r * host.bytes + field.offset);
  if (state.executor) slots = std::max(slots, state.executor->rows_in_flight());
  state_.reset(new State{FeedRing(std::move(offsets), host.bytes * state.replicas.size(), std::move(fill), slots,
                                  state.devices.front()->backend->staging())});
}
Feed::Feed() = default;
Feed::~Feed() = default;
Feed::Feed(Feed&&) noexcept = default;

}  // namespace pando
