// SPDX-License-Identifier: Apache-2.0
// The loop over steps. Rows of the feed go to the device in groups, of which one is copied while the steps of the other
// run; a turn of many steps holds the variables, and ends when the feed has no further row or others may want them.
#include "backends/cuda/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "backends/cuda/devices.h"
#include "backends/cuda/memory.h"

namespace pando::cuda {

namespace {

// Steps of a turn take about this long together: others wait at most so long for the variables.
constexpr double seconds_per_turn = 0.02;
constexpr std::int64_t least_steps_of_turn = 4, most_steps_of_turn = 4096;
// Memory for rows that are copied ahead, and for results that are kept, if that is enough for one step.
constexpr std::size_t ring_bytes = std::size_t{64} << 20, kept_bytes = std::size_t{16} << 20;
constexpr std::int64_t most_rows_of_group = 4, most_kept = 4096;

std::int64_t as_many(std::size_t room, std::size_t bytes, std::int64_t most) {
  return bytes == 0 ? most : std::clamp<std::int64_t>(static_cast<std::int64_t>(room / bytes), 1, most);
}

unsigned long long place_number(std::size_t superstep, std::size_t call, std::size_t output) {
  return static_cast<unsigned long long>(superstep) << 32 | static_cast<unsigned long long>(call) << 8 | output;
}

void* raw(const Place& place) { return reinterpret_cast<void*>(place.address); }

}  // namespace

Executor::Executor(const Plan& plan, PlanKernels kernels, std::shared_ptr<const WorkingMemory> working, int gpu,
                   const std::shared_ptr<Memory>& memory, const BindVariable& bind)
    : plan_(plan), kernels_(std::move(kernels)), working_(std::move(working)), gpu_(gpu), memory_(memory) {
  if (plan_.feed_bytes > 0) row_ = fixed(align(plan_.feed_bytes), "the feeds of a device");
  state_ = fixed(sizeof(LoopState), "the state of a device");
  pinned_ = pinned_memory()->allocate(sizeof(LoopState) + sizeof(Counter), "the state of a device");
  rows_of_group_ = as_many(ring_bytes / 2, plan_.feed_bytes, most_rows_of_group);
  for (const Buffer& buffer : plan_.buffers) places_.push_back(place_of(buffer, bind));
  write_state({});
}

Place Executor::fixed(std::size_t bytes, const std::string& what) {
  allocations_.push_back(memory_->allocate(bytes, what));
  return allocations_.back().place();
}

Place Executor::place_of(const Buffer& buffer, const BindVariable& bind) {
  const auto index = static_cast<std::size_t>(buffer.index);
  switch (buffer.kind) {
    case Buffer::Kind::arena: return working_->arena() + buffer.offset;
    case Buffer::Kind::feed: return row_ + buffer.offset;
    case Buffer::Kind::variable: {
      const std::shared_ptr<StoredVariable> variable = bind(plan_.variables[index]);
      Mirror& mirror = variable->mirror_in(memory_);
      variables_.add(variable, plan_.variables[index].assigned, &mirror);
      return mirror.place();
    }
    case Buffer::Kind::constant: {
      const Array& value = plan_.constants[index];
      const Place place = fixed(value.bytes(), "the constants of a device");
      memory_->write(place, value.raw(), value.bytes());
      return place;
    }
    case Buffer::Kind::counter: break;
  }
  if (!counter_) counter_ = fixed(sizeof(Counter), "the counter of a device");
  return counter_;
}

std::byte* Executor::pointer(std::int32_t buffer) const {
  return buffer < 0 ? nullptr : memory_->kernel_pointer(places_[static_cast<std::size_t>(buffer)]);
}

void Executor::set_recorder(Recorder* recorder, std::int32_t plan) {
  recorder_ = recorder;
  plan_number_ = plan;
}

void Executor::read_output(std::size_t output, std::byte* to) const {
  const Port& port = plan_.outputs[output];
  memory_->read(to, places_[static_cast<std::size_t>(port.buffer)], port.type.bytes());
}

void Executor::write_state(const LoopState& state) {
  std::byte* const pinned = host_pointer(pinned_.place());
  std::memcpy(pinned, &state, sizeof state);
  check(cudaMemcpyAsync(raw(state_), pinned, sizeof state, cudaMemcpyHostToDevice, compute_.get()),
        "to copy from the host");
  done_.record(compute_);
  done_.wait();
}

void Executor::enqueue_kernels(const std::vector<std::unique_ptr<Event>>* events) {
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  std::size_t number = 0;
  for (std::size_t s = 0; s < kernels_.size(); ++s) {
    for (std::size_t k = 0; k < kernels_[s].size(); ++k) {
      const KernelCall& call = plan_.supersteps[s][k];
      inputs.clear();
      outputs.clear();
      for (const Operand& operand : call.inputs) inputs.push_back(pointer(operand.buffer));
      for (const Operand& operand : call.outputs) outputs.push_back(pointer(operand.buffer));
      if (events != nullptr) (*events)[number++]->record(compute_);
      kernels_[s][k]->launch({inputs, outputs, working_->scratch()}, compute_.get());
    }
    if (plan_.check_numerics) enqueue_numerics(s);
  }
  if (events != nullptr) (*events)[number]->record(compute_);
}

void Executor::enqueue_numerics(std::size_t superstep) {
  const Superstep& calls = plan_.supersteps[superstep];
  auto* const state = static_cast<LoopState*>(raw(state_));
  for (std::size_t k = 0; k < calls.size(); ++k)
    for (std::size_t i = 0; i < calls[k].outputs.size(); ++i)
      if (const Operand& output = calls[k].outputs[i]; output.buffer >= 0)
        check_finite(output.type, pointer(output.buffer), place_number(superstep, k, i), state, compute_.get());
}

void Executor::report_numerics(std::int64_t update) {
  if (!plan_.check_numerics) return;
  LoopState state;
  memory_->read(reinterpret_cast<std::byte*>(&state), state_, sizeof state);
  if (state.not_finite == LoopState::finite) return;
  write_state({});
  const KernelCall& call = plan_.supersteps[state.not_finite >> 32][state.not_finite >> 8 & 0xffffff];
  const std::size_t output = state.not_finite & 0xff;
  throw Error(
      fmt::format("check_numerics: update {} made a NaN or an infinity in output {} of {}{}, {}; lower the learning rate "
                  "or look at its inputs",
                  update, output, call.op->name, call.name.empty() ? "" : fmt::format(" '{}'", call.name),
                  to_string(call.outputs[output].type)));
}

void Executor::copy_in(const StepPorts& ports) {
  for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
    const Port& input = plan_.inputs[i];
    if (input.type.bytes() == 0) continue;
    const Place to = places_[static_cast<std::size_t>(input.buffer)], from = ports.inputs[i];
    const void* data = from.memory == memory_.get() ? raw(from) : host_pointer(from);
    if (data == nullptr) copy_bytes(to, from, input.type.bytes());
    else
      check(cudaMemcpyAsync(raw(to), data, input.type.bytes(), cudaMemcpyDefault, compute_.get()),
            "to copy the inputs of a step");
  }
  if (!counter_) return;
  std::byte* const pinned = host_pointer(pinned_.place()) + sizeof(LoopState);
  std::memcpy(pinned, &ports.counter, sizeof ports.counter);
  check(cudaMemcpyAsync(raw(counter_), pinned, sizeof ports.counter, cudaMemcpyHostToDevice, compute_.get()),
        "to copy the counter of a step");
}

void Executor::copy_out(const StepPorts& ports) {
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    const Port& output = plan_.outputs[i];
    if (!ports.outputs[i] || output.type.bytes() == 0) continue;
    const Place from = places_[static_cast<std::size_t>(output.buffer)], to = ports.outputs[i];
    void* const data = to.memory == memory_.get() ? raw(to) : host_pointer(to);
    if (data != nullptr) {
      check(cudaMemcpyAsync(data, raw(from), output.type.bytes(), cudaMemcpyDefault, compute_.get()),
            "to copy the outputs of a step");
      continue;
    }
    done_.record(compute_);
    done_.wait();
    copy_bytes(to, from, output.type.bytes());
  }
}

void Executor::step(const StepPorts& ports) {
  process_.check("a program on a GPU");
  use_gpu(gpu_);
  copy_in(ports);
  {
    const HeldVariables held(variables_);
    if (recorder_ != nullptr) {
      recorded_kernels();
    } else if (!kernels_.empty()) {
      if (!step_graph_) step_graph_.capture(compute_, [&] { enqueue_kernels(); });
      step_graph_.launch(compute_);
    }
    copy_out(ports);
    done_.record(compute_);
    done_.wait();
  }
  report_numerics(ports.counter.update);
}

void Executor::prepare_loop() {
  if (is_loop_ready_) return;
  std::size_t bytes = 0;
  for (const Port& output : plan_.outputs)
    if (output.every_step) bytes += output.type.bytes();
  room_ = as_many(kept_bytes, bytes, most_kept);
  for (const Port& output : plan_.outputs) {
    if (!output.every_step) continue;
    const Place kept = fixed(output.type.bytes() * static_cast<std::size_t>(room_), "the results of every step");
    kept_.push_back({pointer(output.buffer), static_cast<std::byte*>(raw(kept)), output.type.bytes()});
  }
  if (row_) ring_ = fixed(align(plan_.feed_bytes) * static_cast<std::size_t>(2 * rows_of_group_), "the feeds of a device");
  is_loop_ready_ = true;
}

void Executor::enqueue_loop_step(const Function<void()>& kernels) {
  auto* const state = static_cast<LoopState*>(raw(state_));
  FeedCopy feed;
  if (row_)
    feed = {static_cast<std::byte*>(raw(ring_)), 2 * rows_of_group_, align(plan_.feed_bytes),
            static_cast<std::byte*>(raw(row_))};
  begin_step(feed, static_cast<std::int64_t*>(raw(counter_)), state, compute_.get());
  kernels();
  std::size_t kept = 0;
  do {
    std::array<KeptOutput, most_kept_at_once> outputs = {};
    const std::size_t count = std::min(most_kept_at_once, kept_.size() - kept);
    std::copy_n(kept_.begin() + static_cast<std::ptrdiff_t>(kept), count, outputs.begin());
    kept += count;
    keep_outputs(outputs, static_cast<int>(count), room_, kept == kept_.size(), state, compute_.get());
  } while (kept < kept_.size());
}

std::int64_t Executor::run(const LoopPorts& ports) {
  process_.check("a program on a GPU");
  use_gpu(gpu_);
  prepare_loop();
  write_state({.update = ports.first_update});
  groups_ = 0;
  const std::int64_t first_row = ports.feed == nullptr ? 0 : ports.feed->next();
  std::int64_t done = 0, fetched = 0;
  while (done < ports.steps) {
    const std::int64_t begin = Recorder::now();
    // Does not hold the variables while it waits for its feed, which may need them.
    if (ports.feed != nullptr && !ports.feed->wait_for(first_row + done)) break;
    if (recorder_ != nullptr)
      recorder_->record(0, {RecordedEvent::Kind::feed, plan_number_, done, begin, Recorder::now()});
    const std::int64_t most = std::min({steps_of_turn(), ports.steps - done, fetched + room_ - done});
    {
      const HeldVariables held(variables_);
      done += run_turn(ports, first_row + done, done, most);
    }
    if (done - fetched == room_ || done == ports.steps) fetch_kept(ports, std::exchange(fetched, done), done);
    report_numerics(ports.first_update + done - 1);
  }
  fetch_kept(ports, fetched, done);
  return done;
}

std::int64_t Executor::steps_of_turn() const {
  if (plan_.check_numerics || recorder_ != nullptr) return 1;
  if (seconds_per_step_ == 0) return least_steps_of_turn;
  return std::clamp(static_cast<std::int64_t>(seconds_per_turn / seconds_per_step_), least_steps_of_turn,
                    most_steps_of_turn);
}

std::int64_t Executor::run_turn(const LoopPorts& ports, std::int64_t row, std::int64_t first, std::int64_t most) {
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t count = 0;
  while (count < most) {
    std::int64_t group = std::min(most - count, rows_of_group_);
    if (ports.feed != nullptr) group = copy_rows(*ports.feed, row + count, first + count, group);
    if (group == 0) break;
    launch_steps(group);
    count += group;
  }
  done_.record(compute_);
  done_.wait();
  if (ports.feed != nullptr) ports.feed->release_before(row + count);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  seconds_per_step_ = taken.count() / static_cast<double>(count);
  return count;
}

std::int64_t Executor::copy_rows(FeedRing& feed, std::int64_t row, std::int64_t step, std::int64_t most) {
  if (!feed.has(row) || !feed.wait_for(row)) return 0;
  const auto own = static_cast<std::size_t>(groups_ % 2);
  if (groups_ > 0) {
    // The host is never more than two groups ahead.
    copied_[1 - own].wait();
    feed.release_before(row);
  }
  if (groups_ > 1) computed_[own].delay(copy_);
  const std::size_t stride = align(plan_.feed_bytes);
  std::int64_t count = 0;
  for (; count < most && feed.has(row + count); ++count) {
    const Place slot = feed.wait_for(row + count);
    if (!slot) break;
    const Place to = ring_ + stride * static_cast<std::size_t>((step + count) % (2 * rows_of_group_));
    check(cudaMemcpyAsync(raw(to), host_pointer(slot), plan_.feed_bytes, cudaMemcpyHostToDevice, copy_.get()),
          "to copy the feed");
  }
  copied_[own].record(copy_);
  copied_[own].delay(compute_);
  return count;
}

void Executor::launch_steps(std::int64_t count) {
  if (recorder_ != nullptr) {
    enqueue_loop_step([&] { recorded_kernels(); });
  } else {
    if (!loop_graph_) loop_graph_.capture(compute_, [&] { enqueue_loop_step([&] { enqueue_kernels(); }); });
    for (std::int64_t i = 0; i < count; ++i) loop_graph_.launch(compute_);
  }
  computed_[static_cast<std::size_t>(groups_++ % 2)].record(compute_);
}

// Copies what was kept of the steps [first, last) to the host; step `first` is at the begin of the kept values.
void Executor::fetch_kept(const LoopPorts& ports, std::int64_t first, std::int64_t last) const {
  for (std::size_t i = 0; i < ports.every_step.size() && last > first; ++i) {
    const std::size_t bytes = kept_[i].bytes;
    const Place from{memory_.get(), reinterpret_cast<std::uintptr_t>(kept_[i].kept)};
    memory_->read(ports.every_step[i] + static_cast<std::size_t>(first) * bytes, from,
                  static_cast<std::size_t>(last - first) * bytes);
  }
}

void Executor::recorded_kernels() {
  std::size_t kernels = 0;
  for (const auto& superstep : kernels_) kernels += superstep.size();
  while (events_.size() < kernels + 1) events_.push_back(std::make_unique<Event>(true));
  enqueue_kernels(&events_);
  events_[kernels]->wait();
  const std::int64_t end = Recorder::now();
  const auto time_of = [&](std::size_t event) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events_[event]->get(), events_[kernels]->get()), "to measure a kernel");
    return end - static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
  };
  for (std::size_t i = 0; i < kernels; ++i)
    recorder_->record(0, {RecordedEvent::Kind::kernel, plan_number_, static_cast<std::int64_t>(i), time_of(i),
                          time_of(i + 1)});
}

}  // namespace pando::cuda
