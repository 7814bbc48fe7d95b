// All tiles run the same loop over steps, supersteps and kernels, each with its share of every kernel, and meet at a
// barrier after each superstep. Tile 0 alone begins and ends a step: it takes the feed, the counter and the variables.
#include "backends/cpu/tile_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

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

TileExecutor::TileExecutor(const Plan& plan, std::vector<std::vector<std::unique_ptr<Kernel>>> kernels,
                           std::shared_ptr<TileGroup> tiles, const BindVariable& bind)
    : plan_(plan),
      kernels_(std::move(kernels)),
      tiles_(std::move(tiles)),
      memory_(nullptr, nullptr),
      buffers_(plan.buffers.size(), nullptr) {
  for (const auto& superstep : kernels_)
    for (const auto& kernel : superstep) scratch_bytes_ = std::max(scratch_bytes_, align(kernel->scratch_bytes()));
  memory_ = allocate_host_memory(working_bytes(), "the arena of a device");
  arena_ = memory_.get() + (working_bytes() - plan.arena_bytes);

  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    const auto index = static_cast<std::size_t>(buffer.index);
    switch (buffer.kind) {
      case Buffer::Kind::arena: buffers_[i] = arena_ + buffer.offset; break;
      case Buffer::Kind::variable: {
        const std::shared_ptr<StoredVariable> variable = bind(plan.variables[index]);
        variables_.add(variable, plan.variables[index].assigned);
        buffers_[i] = variable->memory.get();
        break;
      }
      case Buffer::Kind::constant: buffers_[i] = plan_.constants[index].mutable_raw(); break;
      case Buffer::Kind::counter: buffers_[i] = reinterpret_cast<std::byte*>(counter_); break;
      case Buffer::Kind::feed: feed_offsets_.emplace_back(static_cast<std::int32_t>(i), buffer.offset); break;
    }
  }
  for (const Port& output : plan.outputs) {
    if (output.every_step)
      every_step_.push_back(
          {output.buffer, static_cast<std::size_t>(output.type.shape.elements()) * size_of(output.type.dtype)});
    const auto shares = std::count_if(plan.outputs.begin(), plan.outputs.end(),
                                      [&](const Port& other) { return other.buffer == output.buffer; });
    const Buffer& buffer = plan.buffers[static_cast<std::size_t>(output.buffer)];
    movable_.push_back(buffer.kind == Buffer::Kind::arena && shares == 1);
  }
}

void TileExecutor::step(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                        const Counter& counter) {
  // Kernels only read inputs.
  for (std::size_t i = 0; i < plan_.inputs.size(); ++i)
    buffers_[static_cast<std::size_t>(plan_.inputs[i].buffer)] = const_cast<std::byte*>(inputs[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (movable_[i] && outputs[i] != nullptr) buffers_[static_cast<std::size_t>(plan_.outputs[i].buffer)] = outputs[i];
  execution_ = {.steps = 1, .counter = counter, .is_fed = true};
  failure_.clear();
  tiles_->run([this](int first, int last) { run_tiles(first, last); });
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto buffer = static_cast<std::size_t>(plan_.outputs[i].buffer);
    if (movable_[i]) buffers_[buffer] = arena_ + plan_.buffers[buffer].offset;
    else if (outputs[i] != nullptr) read_output(i, outputs[i]);
  }
  if (!failure_.empty()) throw Error(failure_);
}

std::int64_t TileExecutor::run(std::int64_t steps, std::int64_t first_update, Feeds* feeds,
                               std::span<std::byte* const> every_step) {
  execution_ = {.steps = steps, .counter = {first_update, 0}, .feeds = feeds, .every_step = every_step};
  failure_.clear();
  tiles_->run([this](int first, int last) { run_tiles(first, last); });
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

void TileExecutor::run_tiles(int first, int last) {
  const int count = tiles_->count();
  const bool has_others = last - first < count;
  bool waits = has_others;
  const auto wait_for_others = [&] {
    if (waits && tiles_->barrier().arrive_and_wait() && first == 0) tiles_->crowding().judge();
  };
  using Kind = RecordedEvent::Kind;
  while (true) {
    if (first == 0) {
      // Waiting for data says nothing about the tiles.
      if (has_others && execution_.feeds != nullptr && execution_.feeds->is_late()) tiles_->crowding().forget();
      timed(0, Kind::feed, execution_.done, [&] { execution_.stopped = !begin_step(); });
      // If the machine is crowded, tile 0 does the work of all tiles while the others wait for the next shared step.
      waits = has_others && (execution_.stopped || !tiles_->crowding().is_crowded());
      if (has_others) last = waits ? 1 : count;
    }
    wait_for_others();
    if (execution_.stopped) return;
    std::int64_t number = 0;
    for (std::size_t s = 0; s < kernels_.size(); ++s) {
      for (const auto& kernel : kernels_[s])
        timed(first, Kind::kernel, number++, [&] {
          for (int tile = first; tile < last; ++tile) kernel->run({tile, count, scratch_of(tile), buffers_.data()});
        });
      timed(first, Kind::barrier, static_cast<std::int64_t>(s), wait_for_others);
      if (!plan_.check_numerics) continue;
      if (first == 0 && failure_.empty()) check_numerics(plan_.supersteps[s]);
      wait_for_others();
    }
    // Without a superstep, only this keeps tile 0 from beginning the next step before all tiles have seen this one.
    if (kernels_.empty()) wait_for_others();
    if (first == 0) end_step();
  }
}

bool TileExecutor::begin_step() {
  if (execution_.done == execution_.steps || !failure_.empty()) return false;
  if (!execution_.is_fed && execution_.feeds != nullptr) {
    std::byte* slot = execution_.feeds->acquire();
    if (slot == nullptr) return false;
    for (const auto& [buffer, offset] : feed_offsets_) buffers_[static_cast<std::size_t>(buffer)] = slot + offset;
  }
  counter_[0] = execution_.counter.update + execution_.done;
  counter_[1] = execution_.counter.sample;
  // Does not hold the variables while it waits for its feed, which may need them.
  variables_.begin();
  return true;
}

void TileExecutor::end_step() {
  for (std::size_t i = 0; !execution_.is_fed && i < every_step_.size(); ++i)
    std::memcpy(execution_.every_step[i] + static_cast<std::size_t>(execution_.done) * every_step_[i].bytes,
                buffers_[static_cast<std::size_t>(every_step_[i].buffer)], every_step_[i].bytes);
  variables_.end();
  if (execution_.feeds != nullptr) execution_.feeds->release();
  ++execution_.done;
}

void TileExecutor::check_numerics(const Superstep& superstep) {
  for (const KernelCall& call : superstep)
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      const Operand& output = call.outputs[i];
      if (output.buffer < 0 || is_finite(output.type, buffers_[static_cast<std::size_t>(output.buffer)])) continue;
      failure_ = fmt::format(
          "check_numerics: update {} made a NaN or an infinity in output {} of {}{}, {}; lower the learning rate or "
          "look "
          "at its inputs",
          counter_[0], i, call.op->name, call.name.empty() ? "" : fmt::format(" '{}'", call.name),
          to_string(output.type));
      return;
    }
}

void TileExecutor::read_output(std::size_t output, std::byte* to) const {
  const Port& port = plan_.outputs[output];
  std::memcpy(to, buffers_[static_cast<std::size_t>(port.buffer)],
              static_cast<std::size_t>(port.type.shape.elements()) * size_of(port.type.dtype));
}

}  // namespace pando
