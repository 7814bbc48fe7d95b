// SPDX-License-Identifier: Apache-2.0
// All tiles run the same loop over steps, supersteps and kernels, each with its share of every kernel, and meet at a
// barrier after each superstep, and after its first part if a kernel has two. Tile 0 alone begins and ends a step: it
// takes the feed, the counter and the variables.
#include "backends/cpu/tile_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/machine/subnormals.h"
#include "base/waiting.h"
#include "graph/op_definition.h"
#include "ops/index_range.h"
#include "ops/op_list.h"

namespace pando {

namespace {

template <class T>
bool all_finite(const std::byte* data, std::int64_t count) {
  const T* values = reinterpret_cast<const T*>(data);
  return std::all_of(values, values + count, [](T value) { return std::isfinite(value); });
}

bool is_finite(const Type& type, const std::byte* data) {
  if (type.dtype == DType::float32) return all_finite<float>(data, type.shape.elements());
  if (type.dtype == DType::float64) return all_finite<double>(data, type.shape.elements());
  return true;
}

}  // namespace

WorkingMemory::WorkingMemory(std::span<const Plan* const> plans, std::span<const PlanKernels> kernels, int tiles,
                             const std::shared_ptr<Memory>& memory) {
  std::size_t arena_bytes = 0, shared_bytes = 0;
  for (const Plan* plan : plans)
    if (plan != nullptr) arena_bytes = std::max(arena_bytes, plan->arena_bytes);
  for (const PlanKernels& supersteps : kernels)
    for (const auto& superstep : supersteps) {
      std::size_t shared = 0;
      for (const auto& kernel : superstep) {
        scratch_bytes_ = std::max(scratch_bytes_, align(kernel->scratch_bytes()));
        shared += align(kernel->shared_bytes(tiles));
      }
      shared_bytes = std::max(shared_bytes, shared);
    }
  const std::size_t all_scratch = scratch_bytes_ * static_cast<std::size_t>(tiles);
  bytes_ = all_scratch + shared_bytes + arena_bytes;
  allocation_ = memory->allocate(bytes_, "the arena of a device");
  scratch_ = memory->kernel_pointer(allocation_.place());
  shared_ = scratch_ + all_scratch;
  arena_ = allocation_.place() + all_scratch + shared_bytes;
}

TileExecutor::TileExecutor(const Plan& plan, PlanKernels kernels, std::shared_ptr<TileGroup> tiles, int tile_count,
                           std::shared_ptr<const WorkingMemory> working, const std::shared_ptr<Memory>& memory,
                           const BindVariable& bind)
    : plan_(plan),
      kernels_(std::move(kernels)),
      tiles_(std::move(tiles)),
      tile_count_(tile_count),
      working_(std::move(working)),
      memory_(memory),
      inputs_(memory, plan_.inputs) {
  for (const Buffer& buffer : plan_.buffers) {
    places_.push_back(place_of(buffer, bind));
    buffers_.push_back(places_.back() ? memory_->kernel_pointer(places_.back()) : nullptr);
  }
  for (const auto& superstep : kernels_) {
    std::byte* next = working_->shared();
    shared_.emplace_back();
    for (const auto& kernel : superstep) {
      const std::size_t bytes = align(kernel->shared_bytes(tile_count_));
      shared_.back().push_back(bytes == 0 ? nullptr : next);
      next += bytes;
    }
    has_second_part_.push_back(next != working_->shared());
  }
  for (const Port& output : plan_.outputs) {
    if (output.every_step) every_step_.push_back({output.buffer, output.type.bytes()});
    const auto shares = std::count_if(plan_.outputs.begin(), plan_.outputs.end(),
                                      [&](const Port& other) { return other.buffer == output.buffer; });
    const Buffer& buffer = plan_.buffers[static_cast<std::size_t>(output.buffer)];
    movable_.push_back(buffer.kind == Buffer::Kind::arena && shares == 1);
  }
}

Place TileExecutor::place_of(const Buffer& buffer, const BindVariable& bind) {
  const auto index = static_cast<std::size_t>(buffer.index);
  switch (buffer.kind) {
    case Buffer::Kind::arena: return working_->arena() + buffer.offset;
    case Buffer::Kind::variable: {
      const std::shared_ptr<StoredVariable> variable = bind(plan_.variables[index]);
      Mirror& mirror = variable->mirror_in(memory_);
      variables_.add(variable, plan_.variables[index].assigned, &mirror);
      return mirror.place();
    }
    case Buffer::Kind::constant: return constant_place(index);
    case Buffer::Kind::counter:
      counter_ = memory_->allocate(buffer.bytes, "the counter of a device");
      return counter_.place();
    case Buffer::Kind::feed: break;
  }
  // Each step has its own.
  return {};
}

Place TileExecutor::constant_place(std::size_t index) {
  const Array& value = plan_.constants[index];
  const Place on_host = host_place(value.raw());
  if (memory_->kernel_pointer(on_host) != nullptr) return on_host;
  constants_.push_back(memory_->allocate(value.bytes(), "the constants of a device"));
  memory_->write(constants_.back().place(), value.raw(), value.bytes());
  return constants_.back().place();
}

void TileExecutor::set_input(std::size_t input, const Place& place) {
  const std::int32_t buffer = plan_.inputs[input].buffer;
  Place& reached = places_[static_cast<std::size_t>(buffer)];
  reached = inputs_.reachable(input, place);
  pointer(buffer) = memory_->kernel_pointer(reached);
}

void TileExecutor::execute(const Execution& execution) {
  execution_ = execution;
  failure_.clear();
  failed_superstep_ = no_superstep;
  tiles_->run(tile_count_, [this](int first, int last) { run_tiles(first, last); });
}

void TileExecutor::step(const StepPorts& ports) {
  for (std::size_t i = 0; i < plan_.inputs.size(); ++i) set_input(i, ports.inputs[i]);
  const auto wanted = [&](std::size_t i) {
    return movable_[i] && ports.outputs[i] ? memory_->kernel_pointer(ports.outputs[i]) : nullptr;
  };
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i)
    if (std::byte* there = wanted(i)) pointer(plan_.outputs[i].buffer) = there;
  execute({.counter = ports.counter, .progress = ports.progress});
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    const Port& output = plan_.outputs[i];
    if (wanted(i) != nullptr) pointer(output.buffer) = memory_->kernel_pointer(place(output.buffer));
    else if (ports.outputs[i]) copy_bytes(ports.outputs[i], place(output.buffer), output.type.bytes());
  }
  if (!failure_.empty()) throw Error(failure_);
}

std::int64_t TileExecutor::run(const LoopPorts& ports) {
  execute({.ports = ports,
           .counter = {ports.first_update, 0},
           .first_row = ports.feed == nullptr ? 0 : ports.feed->next()});
  if (!failure_.empty()) throw Error(failure_);
  return execution_.done;
}

void TileExecutor::set_recorder(Recorder* recorder, std::int32_t plan) {
  recorder_ = recorder;
  plan_number_ = plan;
}

template <class Work>
void TileExecutor::timed(int tile, RecordedEvent::Kind kind, std::int64_t number, const Work& work) {
  if (recorder_ == nullptr) return work();
  const std::int64_t begin = Recorder::now();
  work();
  recorder_->record(tile, {kind, plan_number_, number, begin, Recorder::now()});
}

void TileExecutor::run_superstep(std::size_t superstep, std::int64_t number, int first, int last,
                                 const auto& wait_for_others) {
  using Kind = RecordedEvent::Kind;
  const auto& kernels = kernels_[superstep];
  const auto& shared = shared_[superstep];
  const int count = tile_count_;
  bool out_of_range = false;
  for (std::size_t k = 0; k < kernels.size(); ++k)
    timed(first, Kind::kernel, number + static_cast<std::int64_t>(k), [&] {
      for (int tile = first; tile < last; ++tile)
        kernels[k]->run({tile, count, working_->scratch_of(tile), buffers_.data(), shared[k], &out_of_range});
    });
  if (out_of_range) failed_superstep_ = superstep;
  timed(first, Kind::barrier, static_cast<std::int64_t>(superstep), wait_for_others);
  if (!has_second_part_[superstep]) return;
  for (std::size_t k = 0; k < kernels.size(); ++k)
    if (shared[k] != nullptr)
      timed(first, Kind::kernel, number + static_cast<std::int64_t>(k), [&] {
        for (int tile = first; tile < last; ++tile)
          kernels[k]->finish({tile, count, working_->scratch_of(tile), buffers_.data(), shared[k]});
      });
  timed(first, Kind::barrier, static_cast<std::int64_t>(superstep), wait_for_others);
}

void TileExecutor::prepare_step(int halvings, bool has_others) {
  Crowding& crowding = tiles_->crowding();
  // Waiting for data says nothing about the tiles.
  if (has_others && is_late()) crowding.forget();
  timed(0, RecordedEvent::Kind::feed, execution_.done, [&] { execution_.stopped = !begin_step(); });
  execution_.halvings = 0;
  if (!has_others || execution_.stopped) return;
  // Tiles that were left out all wait for the step that has none left out.
  const int wanted = crowding.halvings(most_halvings(tile_count_));
  execution_.halvings = wanted < halvings ? 0 : wanted;
}

void TileExecutor::run_tiles(int first, int last) {
  const int count = tile_count_, tile = first;
  const bool has_others = last - first < count;
  int halvings = 0;
  const auto meet = [&] { return has_others && tiles_->barrier(halvings).arrive_and_wait(); };
  // Waiting for tiles that were or will be left out says nothing about those that work.
  const auto wait_for_others = [&] {
    if (meet() && tile == 0 && execution_.halvings == halvings) tiles_->crowding().judge();
  };
  while (true) {
    if (tile == 0) prepare_step(halvings, has_others);
    wait_for_others();
    if (const int wanted = execution_.halvings; has_others && wanted != halvings) {
      // Tile 0 may change it again when all have read it.
      meet();
      // The tiles that are left out wait for the next step of all, and the others fetch them for it.
      halvings = tile < halved(count, wanted) ? wanted : 0;
      if (halvings == 0) meet();
    }
    if (execution_.stopped) return;
    if (has_others) {
      const int working = halved(count, halvings);
      first = count * tile / working;
      last = count * (tile + 1) / working;
    }
    // The thread that called run() is tile 0: between steps, when it takes data, it has its own mode again.
    const SubnormalsAreZero are_zero;
    std::int64_t number = 0;
    for (std::size_t s = 0; s < kernels_.size(); ++s) {
      run_superstep(s, number, first, last, wait_for_others);
      number += static_cast<std::int64_t>(kernels_[s].size());
      if (failed_superstep_ == s) {
        if (tile == 0) failure_ = index_failure(plan_.supersteps[s]);
        break;
      }
      if (first == 0 && execution_.progress.told != nullptr) tell_progress(s + 1);
      if (!plan_.check_numerics) continue;
      if (tile == 0 && failure_.empty()) check_numerics(plan_.supersteps[s]);
      wait_for_others();
    }
    // Without a superstep, only this keeps tile 0 from beginning the next step before all tiles have seen this one.
    if (kernels_.empty()) wait_for_others();
    if (tile == 0) end_step();
  }
}

bool TileExecutor::is_late() const {
  const FeedRing* feed = execution_.ports.feed;
  return feed != nullptr && !feed->has(execution_.first_row + execution_.done);
}

bool TileExecutor::begin_step() {
  if (execution_.done == execution_.ports.steps || !failure_.empty()) return false;
  if (FeedRing* feed = execution_.ports.feed) {
    const Place slot = feed->wait_for(execution_.first_row + execution_.done);
    if (!slot) return false;
    for (std::size_t i = 0; i < plan_.inputs.size(); ++i)
      set_input(i, slot + plan_.buffers[static_cast<std::size_t>(plan_.inputs[i].buffer)].offset);
  }
  const std::int64_t counter[] = {execution_.counter.update + execution_.done, execution_.counter.sample};
  if (counter_.place()) memory_->write(counter_.place(), reinterpret_cast<const std::byte*>(counter), sizeof counter);
  // Does not hold the variables while it waits for its feed, which may need them.
  variables_.begin();
  return true;
}

void TileExecutor::end_step() {
  const LoopPorts& ports = execution_.ports;
  for (std::size_t i = 0; i < ports.every_step.size(); ++i) {
    const auto& [buffer, bytes] = every_step_[i];
    copy_bytes(host_place(ports.every_step[i] + static_cast<std::size_t>(execution_.done) * bytes), place(buffer),
               bytes);
  }
  variables_.end();
  if (ports.feed != nullptr) ports.feed->release_before(execution_.first_row + execution_.done + 1);
  ++execution_.done;
}

void TileExecutor::tell_progress(std::size_t supersteps) {
  const Progress& progress = execution_.progress;
  for (const Progress::Mark& mark : progress.marks)
    if (static_cast<std::size_t>(mark.supersteps) == supersteps) publish(*progress.told, progress.base + mark.value);
}

void TileExecutor::check_numerics(const Superstep& superstep) {
  for (const KernelCall& call : superstep)
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      const Operand& output = call.outputs[i];
      if (output.buffer < 0 || is_finite(output.type, buffers_[static_cast<std::size_t>(output.buffer)])) continue;
      failure_ = fmt::format(
          "check_numerics: update {} made a NaN or an infinity in output {} of {}{}, {}; lower the learning rate or "
          "look at its inputs",
          execution_.counter.update + execution_.done, i, call.op->name,
          call.name.empty() ? "" : fmt::format(" '{}'", call.name), to_string(output.type));
      return;
    }
}

std::string TileExecutor::index_failure(const Superstep& superstep) const {
  for (const KernelCall& call : superstep) {
    const auto range = index_range(*call.op, call.attributes, call.inputs[0].type.shape);
    if (!range) continue;
    const std::int64_t count = call.inputs[1].type.shape.elements();
    const auto* indices =
        reinterpret_cast<const std::int32_t*>(buffers_[static_cast<std::size_t>(call.inputs[1].buffer)]);
    const auto* found =
        std::find_if(indices, indices + count, [&](std::int32_t index) { return index < 0 || index >= range->size; });
    if (found != indices + count)
      return index_out_of_range(call.op->name, call.name, fmt::format("{}", *found), *range);
  }
  throw InternalError("a kernel met an index out of range, which is not there");
}

void TileExecutor::read_output(std::size_t output, std::byte* to) const {
  const Port& port = plan_.outputs[output];
  copy_bytes(host_place(to), place(port.buffer), port.type.bytes());
}

}  // namespace pando
