// SPDX-License-Identifier: Apache-2.0
// The loop over steps. Rows of the feed go to the device in groups, of which one is copied while
// the steps of the other run; a turn of many steps holds the variables, and ends when the feed has no further row or
// others may want them.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "backends/cuda/devices.h"
#include "backends/cuda/executor.h"
#include "backends/cuda/memory.h"

namespace pando::cuda {

namespace {

// How long the steps of a turn take together. Others who want the variables wait no longer than that.
constexpr double seconds_per_turn = 0.02;
constexpr std::int64_t least_steps_of_turn = 4, most_steps_of_turn = 4096;
// The host fills few whole rows ahead.
constexpr std::int64_t most_rows_of_group = 4;

}  // namespace

// The device knows where the fields of a row come from; that changes with the feed.
void Executor::use_feed(const FeedRing& feed) {
  const FeedSamples& samples = feed.samples();
  const std::int64_t most =
      samples.table ? steps_of_graph_ : std::min<std::int64_t>(steps_of_graph_, most_rows_of_group);
  rows_of_group_ = as_many(rows_bytes, feed.slot_bytes(), most);
  const std::size_t bytes = feed.slot_bytes() * static_cast<std::size_t>(2 * rows_of_group_);
  if (bytes > ring_bytes_) {
    ring_ = fixed(bytes, "the feeds of a device");
    ring_bytes_ = bytes;
  }
  std::vector<FeedField> fields;
  for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
    const Port& input = plan_.inputs[i];
    FeedField& field = fields.emplace_back();
    field = {.offset = plan_.buffers[static_cast<std::size_t>(input.buffer)].offset,
             .bytes = input.type.bytes(),
             .slot_offset = feed.offsets()[i]};
    if (!samples.table || samples.columns[i] < 0) continue;
    const auto column = static_cast<std::size_t>(samples.columns[i]);
    field.samples = static_cast<const std::byte*>(raw(samples.table->mirror_in(memory_, column)));
    field.sample_bytes = samples.table->sample_bytes(column);
  }
  const LoopFeed header{static_cast<const std::byte*>(raw(ring_)), 2 * rows_of_group_, feed.slot_bytes()};
  std::vector<std::byte> described(sizeof header + fields.size() * sizeof(FeedField));
  std::memcpy(described.data(), &header, sizeof header);
  std::memcpy(described.data() + sizeof header, fields.data(), fields.size() * sizeof(FeedField));
  if (described == described_) return;
  memory_->write(feed_, described.data(), described.size());
  described_ = std::move(described);
}

std::int64_t Executor::run(const LoopPorts& ports) {
  process_.check("a program on a GPU");
  use_gpu(gpu_);
  prepare_loop();
  if (ports.feed != nullptr) use_feed(*ports.feed);
  if (!is_state_known_ || next_.update != ports.first_update) {
    next_.update = ports.first_update;
    write_state(next_);
  }
  // Until the end of the run, where nothing has failed.
  is_state_known_ = false;
  groups_ = 0;
  const std::int64_t first_row = ports.feed == nullptr ? 0 : ports.feed->next(), base = next_.step;
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
      done += run_turn(ports, first_row + done, most);
    }
    if (done - fetched == room_) fetch_kept(ports, base, std::exchange(fetched, done), done);
    report_failures(ports.first_update + done - 1);
  }
  fetch_kept(ports, base, fetched, done);
  is_state_known_ = true;
  return done;
}

std::int64_t Executor::steps_of_turn() const {
  if (plan_.check_numerics || recorder_ != nullptr) return 1;
  if (seconds_per_step_ == 0) return least_steps_of_turn;
  return std::clamp(static_cast<std::int64_t>(seconds_per_turn / seconds_per_step_), least_steps_of_turn,
                    most_steps_of_turn);
}

std::int64_t Executor::run_turn(const LoopPorts& ports, std::int64_t row, std::int64_t most) {
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t count = 0;
  while (count < most) {
    std::int64_t group = std::min(most - count, ports.feed == nullptr ? steps_of_graph_ : rows_of_group_);
    if (ports.feed != nullptr) group = copy_rows(*ports.feed, row + count, group);
    if (group == 0) break;
    launch_steps(group);
    count += group;
  }
  done_.record(compute_);
  const auto work = static_cast<double>(count);
  const auto seconds = [&] { return ExpectedTime::Seconds(std::chrono::steady_clock::now() - begin); };
  const ExpectedTime::Seconds sleep = expected_.sleep(work, seconds());
  if (sleep.count() > 0) std::this_thread::sleep_for(sleep);
  const bool was_over = sleep.count() > 0 && done_.has_happened();
  if (!was_over) done_.wait(std::chrono::duration_cast<std::chrono::nanoseconds>(expected_.awake(work)));
  if (ports.feed != nullptr) ports.feed->release_before(row + count);
  const ExpectedTime::Seconds taken = seconds();
  seconds_per_step_ = taken.count() / work;
  expected_.learn(work, taken, was_over);
  // A turn that made a graph says nothing about the next one.
  if (std::exchange(made_graph_, false)) expected_.forget();
  return count;
}

std::int64_t Executor::copy_rows(FeedRing& feed, std::int64_t row, std::int64_t most) {
  if (!feed.has(row) || !feed.wait_for(row)) return 0;
  const auto own = static_cast<std::size_t>(groups_ % 2);
  if (groups_ > 0) {
    // The host is never more than two groups ahead.
    copied_[1 - own].wait();
    feed.release_before(row);
  }
  if (groups_ > 1) computed_[own].delay(copy_);
  // Slots that follow each other on both sides are copied together.
  const std::byte* from = nullptr;
  Place to;
  std::size_t bytes = 0;
  const auto copy = [&] {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(raw(to), from, bytes, cudaMemcpyHostToDevice, copy_.get()), "to copy the feed");
    bytes = 0;
  };
  std::int64_t count = 0;
  for (; count < most && feed.has(row + count); ++count) {
    const Place slot = feed.wait_for(row + count);
    if (!slot) break;
    const std::int64_t place = (next_.step + count) % (2 * rows_of_group_);
    if (host_pointer(slot) != from + bytes || place == 0) copy();
    if (bytes == 0) {
      from = host_pointer(slot);
      to = ring_ + feed.slot_bytes() * static_cast<std::size_t>(place);
    }
    bytes += feed.slot_bytes();
  }
  copy();
  copied_[own].record(copy_);
  copied_[own].delay(compute_);
  return count;
}

void Executor::launch_steps(std::int64_t count) {
  next_.step += count;
  next_.update += count;
  if (recorder_ != nullptr) {
    begin_graph(1);
    recorded_kernels(0);
    for (const auto& [kept, buffer] : copied_outputs_) copy_output(kept, buffer, 0);
    end_graph(1);
    count = 0;
  }
  while (count > 0) {
    std::size_t graph = 0;
    while (std::int64_t{2} << graph <= std::min<std::int64_t>(count, steps_of_graph_)) ++graph;
    while (loop_graphs_.size() <= graph) loop_graphs_.push_back(std::make_unique<StepGraph>());
    if (!*loop_graphs_[graph]) {
      capture_steps(1 << graph, *loop_graphs_[graph]);
      made_graph_ = true;
    }
    loop_graphs_[graph]->launch(compute_);
    count -= std::int64_t{1} << graph;
  }
  computed_[static_cast<std::size_t>(groups_++ % 2)].record(compute_);
}

void Executor::fetch_kept(const LoopPorts& ports, std::int64_t base, std::int64_t first, std::int64_t last) const {
  for (std::size_t i = 0; i < ports.every_step.size(); ++i) {
    const KeptOutput& output = kept_[i];
    for (std::int64_t step = first; step < last; ++step)
      std::memcpy(ports.every_step[i] + static_cast<std::size_t>(step) * output.bytes,
                  output.kept + static_cast<std::size_t>((base + step) % room_) * output.bytes, output.bytes);
  }
}

}  // namespace pando::cuda
