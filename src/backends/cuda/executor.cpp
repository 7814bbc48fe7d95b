// SPDX-License-Identifier: Apache-2.0
// What a step is made of, and single steps.
#include "backends/cuda/executor.h"

#include <fmt/format.h>

#include <cstring>

#include "backends/cuda/devices.h"
#include "backends/cuda/memory.h"
#include "graph/op_definition.h"

namespace pando::cuda {

namespace {

unsigned long long place_number(std::size_t superstep, std::size_t call, std::size_t output) {
  return static_cast<unsigned long long>(superstep) << 32 | static_cast<unsigned long long>(call) << 8 | output;
}

}  // namespace

Executor::Executor(const Plan& plan, PlanKernels kernels, std::shared_ptr<const WorkingMemory> working, int gpu,
                   const std::shared_ptr<Memory>& memory, const BindVariable& bind)
    : plan_(plan), kernels_(std::move(kernels)), working_(std::move(working)), gpu_(gpu), memory_(memory) {
  if (plan_.feed_bytes > 0) row_ = fixed(align(plan_.feed_bytes), "the feeds of a device");
  state_ = fixed(sizeof(LoopState), "the state of a device");
  pinned_ = pinned_memory()->allocate(sizeof(LoopState) + sizeof(Counter), "the state of a device");
  for (const Buffer& buffer : plan_.buffers) places_.push_back(place_of(buffer, bind));
  write_state({});
  checks_indices_ = std::any_of(kernels_.begin(), kernels_.end(),
                                [&](const PlanKernel& kernel) { return indices_of(kernel).has_value(); });
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

std::byte* Executor::pointer(std::int32_t buffer, int step) const {
  if (buffer < 0) return nullptr;
  const auto index = static_cast<std::size_t>(buffer);
  if (step == single_step) return memory_->kernel_pointer(places_[index]);
  const StepBuffer& place = step_places_[index];
  return memory_->kernel_pointer(place.first + place.stride * static_cast<std::size_t>(step));
}

void Executor::set_recorder(Recorder* recorder, std::int32_t plan) {
  if (recorder != nullptr) {
    process_.check("a program on a GPU");
    use_gpu(gpu_);
    for (const PlanKernel& kernel : kernels_) kernel.kernel->prepare_recording();
  }
  recorder_ = recorder;
  plan_number_ = plan;
}

void Executor::read_output(std::size_t output, std::byte* to) const {
  const Port& port = plan_.outputs[output];
  memory_->read(to, places_[static_cast<std::size_t>(port.buffer)], port.type.bytes());
}

void Executor::write_state(const LoopState& state) {
  std::byte* const pinned = host_pointer(pinned_.place());
  // The last one may still be on its way.
  done_.wait();
  std::memcpy(pinned, &state, sizeof state);
  check(cudaMemcpyAsync(raw(state_), pinned, sizeof state, cudaMemcpyHostToDevice, compute_.get()),
        "to copy from the host");
  done_.record(compute_);
}

void Executor::enqueue(const PlanKernel& kernel, int step, std::size_t lane, bool follows_itself,
                       std::optional<std::size_t> recorded_part) {
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (const Operand& operand : kernel.inputs) inputs.push_back(pointer(operand.buffer, step));
  for (const Operand& operand : kernel.outputs) outputs.push_back(pointer(operand.buffer, step));
  const Operands operands{inputs, outputs, working_->scratch(lane), follows_itself};
  if (recorded_part) kernel.kernel->launch_recorded(*recorded_part, operands, compute_.get());
  else kernel.kernel->launch(operands, compute_.get());
  if (plan_.check_numerics) enqueue_numerics(kernel, step);
  if (const std::optional<IndexRange> range = indices_of(kernel))
    check_indices(inputs[1], call_of(kernel).inputs[1].type.shape.elements(), range->size,
                  static_cast<std::size_t>(&kernel - kernels_.data()), state(), compute_.get());
}

const KernelCall& Executor::call_of(const PlanKernel& kernel) const {
  return plan_.supersteps[kernel.superstep][kernel.call];
}

std::optional<IndexRange> Executor::indices_of(const PlanKernel& kernel) const {
  const KernelCall& call = call_of(kernel);
  return index_range(*call.op, call.attributes, call.inputs[0].type.shape);
}

void Executor::enqueue_numerics(const PlanKernel& kernel, int step) {
  for (std::size_t i = 0; i < kernel.outputs.size(); ++i)
    if (const Operand& output = kernel.outputs[i]; output.buffer >= 0)
      check_finite(output.type, pointer(output.buffer, step), place_number(kernel.superstep, kernel.call, i), state(),
                   compute_.get());
}

std::vector<Access> Executor::accesses_of(const PlanKernel& kernel, int step, std::size_t lane) const {
  std::vector<Access> accesses;
  const auto add = [&](const std::byte* data, std::size_t bytes, bool writes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    if (data != nullptr && bytes > 0) accesses.push_back({begin, begin + bytes, writes});
  };
  for (const Operand& operand : kernel.inputs) add(pointer(operand.buffer, step), operand.type.bytes(), false);
  for (const Operand& operand : kernel.outputs) add(pointer(operand.buffer, step), operand.type.bytes(), true);
  add(working_->scratch(lane), kernel.kernel->scratch_bytes(), true);
  return accesses;
}

std::vector<std::size_t> Executor::enqueue_kernels(int step, std::span<const std::size_t> pieces_before,
                                                   Branches& branches) {
  std::vector<std::size_t> pieces;
  std::size_t lane = 0;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const PlanKernel& kernel = kernels_[i];
    if (kernel.kernel->scratch_bytes() > 0) lane = (lane + 1) % working_->lanes();
    pieces.push_back(branches.add(accesses_of(kernel, step, lane), [&](const std::vector<std::size_t>& before) {
      const bool follows_itself = !pieces_before.empty() && before == std::vector{pieces_before[i]};
      enqueue(kernel, step, lane, follows_itself);
    }));
  }
  return pieces;
}

void Executor::report_failures(std::int64_t update) {
  if (!plan_.check_numerics && !checks_indices_) return;
  LoopState state;
  memory_->read(reinterpret_cast<std::byte*>(&state), state_, sizeof state);
  if (state.not_finite == LoopState::finite && state.bad_index == LoopState::in_range) return;
  write_state({.step = state.step, .update = state.update});
  if (state.bad_index != LoopState::in_range) {
    const PlanKernel& kernel = kernels_[state.bad_index >> 32];
    const KernelCall& call = call_of(kernel);
    const auto index = static_cast<std::int32_t>(state.bad_index & 0xffffffff);
    throw Error(index_out_of_range(call.op->name, call.name, fmt::format("{}", index), *indices_of(kernel)));
  }
  const KernelCall& call = plan_.supersteps[state.not_finite >> 32][state.not_finite >> 8 & 0xffffff];
  const std::size_t output = state.not_finite & 0xff;
  throw Error(fmt::format(
      "check_numerics: update {} made a NaN or an infinity in output {} of {}{}, {}; lower the learning rate "
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
    const FinishedOnError computed(compute_);
    if (recorder_ != nullptr) {
      recorded_kernels(single_step);
    } else if (!kernels_.empty()) {
      if (!step_graph_)
        step_graph_.capture(compute_, [&] {
          Branches branches(compute_);
          enqueue_kernels(single_step, {}, branches);
          branches.join();
        });
      step_graph_.launch(compute_);
    }
    copy_out(ports);
    done_.record(compute_);
    done_.wait();
  }
  report_failures(ports.counter.update);
}

void Executor::recorded_kernels(int step) {
  // Each begins with the event of its number, and ends with the next.
  std::vector<std::pair<const PlanKernel*, std::size_t>> parts;
  const auto next_event = [&]() -> Event& {
    if (events_.size() <= parts.size()) events_.push_back(std::make_unique<Event>(true));
    return *events_[parts.size()];
  };
  for (const PlanKernel& kernel : kernels_)
    for (std::size_t part = 0; part < kernel.kernel->recorded_parts(); ++part) {
      next_event().record(compute_);
      enqueue(kernel, step, 0, false, part);
      parts.emplace_back(&kernel, part);
    }
  const Event& last = next_event();
  last.record(compute_);
  last.wait();
  const std::int64_t end = Recorder::now();
  const auto time_of = [&](std::size_t event) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events_[event]->get(), last.get()), "to measure a kernel");
    return end - static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [kernel, part] = parts[i];
    std::vector<CallCycles> calls = kernel->kernel->recorded_calls(part);
    if (calls.empty()) calls.push_back({kernel->number, 1});
    for (const CallTime& call : divide_time(time_of(i), time_of(i + 1), calls))
      recorder_->record(
          0, {RecordedEvent::Kind::kernel, plan_number_, static_cast<std::int64_t>(call.number), call.begin, call.end});
  }
}

}  // namespace pando::cuda
