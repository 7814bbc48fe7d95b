// SPDX-License-Identifier: Apache-2.0
// The loop over steps. Rows of the feed go to the device in groups, of which one is copied while the steps of the other
// run; a turn of many steps holds the variables, and ends when the feed has no further row or others may want them.
#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/cuda/devices.h"
#include "backends/cuda/executor.h"

namespace pando::cuda {

namespace {

// How long the steps of a turn take together. Others who want the variables wait no longer than that.
constexpr double seconds_per_turn = 0.02;
constexpr std::int64_t least_steps_of_turn = 4, most_steps_of_turn = 4096;
// Memory for rows that are copied ahead, and for results that are kept, if that is enough for one step.
constexpr std::size_t ring_bytes = std::size_t{64} << 20, kept_bytes = std::size_t{16} << 20;
constexpr std::int64_t most_rows_of_group = 4, most_kept = 4096;

std::int64_t as_many(std::size_t room, std::size_t bytes, std::int64_t most) {
  return bytes == 0 ? most : std::clamp<std::int64_t>(static_cast<std::int64_t>(room / bytes), 1, most);
}

}  // namespace

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
  rows_of_group_ = as_many(ring_bytes / 2, plan_.feed_bytes, most_rows_of_group);
  if (row_)
    ring_ = fixed(align(plan_.feed_bytes) * static_cast<std::size_t>(2 * rows_of_group_), "the feeds of a device");
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
      const FinishedOnError copied(copy_), computed(compute_);
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

// Copies what was kept of the steps [first, last) to the host; step `first` is the first of the kept values.
void Executor::fetch_kept(const LoopPorts& ports, std::int64_t first, std::int64_t last) const {
  for (std::size_t i = 0; i < ports.every_step.size() && last > first; ++i) {
    const std::size_t bytes = kept_[i].bytes;
    const Place from{memory_.get(), reinterpret_cast<std::uintptr_t>(kept_[i].kept)};
    memory_->read(ports.every_step[i] + static_cast<std::size_t>(first) * bytes, from,
                  static_cast<std::size_t>(last - first) * bytes);
  }
}

}  // namespace pando::cuda
