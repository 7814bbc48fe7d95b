// SPDX-License-Identifier: Apache-2.0
// Graphs of several steps: one kernel fills their rows and counters, each step has its own places for what the host
// sees, and one kernel hands the results over and counts.
#include <algorithm>
#include <utility>

#include "backends/cuda/executor.h"
#include "backends/cuda/memory.h"

namespace pando::cuda {

namespace {

// More steps gain little, and a graph of many kernels takes long to make.
constexpr int most_steps_of_graph = 64;
constexpr std::size_t most_kernels_of_graph = 1024;
// Pinned memory for results that are kept, if that is enough for one step: more takes long to pin.
constexpr std::size_t kept_bytes = std::size_t{4} << 20;
constexpr std::int64_t most_kept = 4096;

}  // namespace

void Executor::prepare_loop() {
  if (steps_of_graph_ > 0) return;
  std::size_t bytes = 0;
  for (const Port& output : plan_.outputs)
    if (output.every_step) bytes += align(output.type.bytes());
  room_ = as_many(kept_bytes, bytes, most_kept);
  const std::int64_t most = std::min({as_many(rows_bytes, plan_.feed_bytes, most_steps_of_graph),
                                      as_many(most_kernels_of_graph, kernels_.size(), most_steps_of_graph), room_});
  int steps = 1;
  while (steps * 2 <= most) steps *= 2;
  const auto count = static_cast<std::size_t>(steps);

  const std::size_t row_bytes = align(plan_.feed_bytes), counter_bytes = align(sizeof(Counter));
  if (row_) {
    rows_ = fixed(row_bytes * count, "the feeds of a device");
    feed_ = fixed(sizeof(LoopFeed) + plan_.inputs.size() * sizeof(FeedField), "the feeds of a device");
  }
  if (counter_) counters_ = fixed(counter_bytes * count, "the counter of a device");
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    if (buffer.kind == Buffer::Kind::feed) step_places_.push_back({rows_ + buffer.offset, row_bytes});
    else if (buffer.kind == Buffer::Kind::counter) step_places_.push_back({counters_, counter_bytes});
    else step_places_.push_back({places_[i], 0});
  }
  place_kept_outputs(count);
  steps_of_graph_ = steps;
}

// Kernels make an output of the arena where the end of the graph finds it; that memory is its own, as no other buffer
// shares the bytes of a buffer while it is in use. A value that read_output() also reads stays where it is, and is
// copied.
void Executor::place_kept_outputs(std::size_t steps) {
  std::size_t bytes = 0;
  for (const Port& output : plan_.outputs)
    if (output.every_step) bytes += align(output.type.bytes() * static_cast<std::size_t>(room_));
  kept_memory_ = pinned_memory()->allocate(bytes, "the results of every step");
  std::byte* kept = host_pointer(kept_memory_.place());
  std::vector<bool> stays(places_.size());
  for (const Port& output : plan_.outputs)
    if (!output.every_step) stays[static_cast<std::size_t>(output.buffer)] = true;
  for (const Port& output : plan_.outputs) {
    if (!output.every_step) continue;
    const std::size_t stride = align(output.type.bytes());
    const Place made = fixed(stride * steps, "the results of every step");
    const auto buffer = static_cast<std::size_t>(output.buffer);
    if (plan_.buffers[buffer].kind == Buffer::Kind::arena && !stays[buffer]) {
      step_places_[buffer] = {made, stride};
      stays[buffer] = true;
    } else {
      copied_outputs_.emplace_back(kept_.size(), output.buffer);
    }
    kept_.push_back({static_cast<std::byte*>(raw(made)), stride, kept, output.type.bytes()});
    kept += align(output.type.bytes() * static_cast<std::size_t>(room_));
  }
}

void Executor::begin_graph(int steps) {
  std::size_t largest = 0;
  for (const Port& input : plan_.inputs) largest = std::max(largest, input.type.bytes());
  begin_steps(static_cast<const LoopFeed*>(raw(feed_)), static_cast<int>(plan_.inputs.size()), largest,
              {.rows = static_cast<std::byte*>(raw(rows_)),
               .row_bytes = align(plan_.feed_bytes),
               .counters = static_cast<std::byte*>(raw(counters_)),
               .counter_bytes = align(sizeof(Counter))},
              steps, state(), compute_.get());
}

std::byte* Executor::made_in(std::size_t kept, int step) const {
  return const_cast<std::byte*>(kept_[kept].made) + kept_[kept].stride * static_cast<std::size_t>(step);
}

void Executor::copy_output(std::size_t kept, std::int32_t buffer, int step) {
  check(cudaMemcpyAsync(made_in(kept, step), pointer(buffer, step), kept_[kept].bytes, cudaMemcpyDeviceToDevice,
                        compute_.get()),
        "to copy the outputs of a step");
}

void Executor::end_graph(int steps) {
  std::size_t kept = 0;
  do {
    std::array<KeptOutput, most_kept_at_once> outputs = {};
    const std::size_t count = std::min(most_kept_at_once, kept_.size() - kept);
    std::copy_n(kept_.begin() + static_cast<std::ptrdiff_t>(kept), count, outputs.begin());
    kept += count;
    keep_outputs(outputs, static_cast<int>(count), room_, steps, kept == kept_.size(), state(), compute_.get());
  } while (kept < kept_.size());
}

void Executor::capture_steps(int steps, StepGraph& graph) {
  const auto access = [](const void* data, std::size_t bytes, bool writes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    return Access{begin, begin + bytes, writes};
  };
  graph.capture(compute_, [&] {
    Branches branches(compute_);
    const auto count = static_cast<std::size_t>(steps);
    branches.add(std::array{access(raw(rows_), align(plan_.feed_bytes) * count, true),
                            access(raw(counters_), align(sizeof(Counter)) * count, true)},
                 [&](const auto&) { begin_graph(steps); });
    std::vector<std::size_t> pieces;
    for (int step = 0; step < steps; ++step) {
      pieces = enqueue_kernels(step, pieces, branches);
      for (const auto& [kept, buffer] : copied_outputs_)
        branches.add(std::array{access(pointer(buffer, step), kept_[kept].bytes, false),
                                access(made_in(kept, step), kept_[kept].bytes, true)},
                     [&, kept = kept, buffer = buffer](const auto&) { copy_output(kept, buffer, step); });
    }
    branches.join();
    end_graph(steps);
  });
}

}  // namespace pando::cuda
