// SPDX-License-Identifier: Apache-2.0
// Recorder: what the tiles of a device did when. Each tile writes to its own memory, which is allocated beforehand.
// When that is full, the tile drops half of it and goes on: of a long run it keeps 8 to 16 windows of equal length at
// equal distances. So what is recorded spans the whole run, however long it is, and also if its steps become faster.
//
// Every tile thins its log by powers of two from a common start, without talking to the others. At the end the windows
// are kept that all tiles still have: those of the greatest distance and the smallest length.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace pando {

struct RecordedEvent {
  enum class Kind : std::uint8_t { kernel, barrier, feed, forward, backward, exchange, update };
  Kind kind = Kind::kernel;
  // Kernels: their number among those of the plan `plan`, in order. Passes: the micro-batch.
  std::int32_t plan = 0;
  std::int64_t number = 0;
  // Nanoseconds of the steady clock.
  std::int64_t begin = 0, end = 0;
};

// The moment from which all tiles of a program count their windows: the begin of the first event that any of them
// records. Nanoseconds of the steady clock.
class RecordingStart {
 public:
  void set_once(std::int64_t time) {
    std::int64_t unset = not_set;
    time_.compare_exchange_strong(unset, time);
  }
  std::int64_t time() const { return time_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::int64_t not_set = -1;

  std::atomic<std::int64_t> time_ = not_set;
};

// Windows that were kept: one of `length` nanoseconds every `distance` nanoseconds. If both are equal, all of the run
// was kept.
struct RecordingWindows {
  std::int64_t distance = 1, length = 1;

  bool all() const { return distance == length; }
  bool includes(std::int64_t since_start) const { return since_start % distance < length; }
  // The windows that both have kept whole.
  RecordingWindows common(const RecordingWindows& other) const {
    if (all()) return other;
    if (other.all()) return *this;
    return {std::max(distance, other.distance), std::min(length, other.length)};
  }
  // Drops half of what they include: every second window, or half of each window if few are left. Returns false if
  // nothing can be dropped.
  bool halve(std::int64_t elapsed) {
    if (all())
      distance = length = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(elapsed / most + 1)));
    if (elapsed / distance < most && length > 1) length /= 2;
    else if (distance < longest_distance) distance *= 2;
    else return false;
    return true;
  }

 private:
  static constexpr std::int64_t most = 16, longest_distance = std::int64_t{1} << 60;
};

class Recorder {
 public:
  Recorder(int tiles, std::size_t capacity, std::shared_ptr<RecordingStart> start)
      : lists_(static_cast<std::size_t>(tiles)), capacity_(capacity), start_(std::move(start)) {
    for (auto& list : lists_) list.events.reserve(capacity);
  }

  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void record(int tile, const RecordedEvent& event) {
    List& list = lists_[static_cast<std::size_t>(tile)];
    if (list.events.empty()) start_->set_once(event.begin);
    while (list.events.size() >= capacity_ && list.windows.halve(since_start(event))) drop_others(list);
    if (list.events.size() < capacity_ && list.windows.includes(since_start(event))) list.events.push_back(event);
    list.end = event.end;
  }

  int tiles() const { return static_cast<int>(lists_.size()); }
  const std::vector<RecordedEvent>& events(int tile) const { return lists_[static_cast<std::size_t>(tile)].events; }
  const RecordingWindows& windows(int tile) const { return lists_[static_cast<std::size_t>(tile)].windows; }
  // When the last event ended, which need not be in a window; 0 if the tile did nothing.
  std::int64_t end(int tile) const { return lists_[static_cast<std::size_t>(tile)].end; }

 private:
  // Each has its own cache line, so that tiles do not disturb each other.
  struct alignas(64) List {
    std::vector<RecordedEvent> events;
    RecordingWindows windows;
    std::int64_t end = 0;
  };

  // An event of another tile may have set the start a little later than this one begins.
  std::int64_t since_start(const RecordedEvent& event) const {
    return std::max<std::int64_t>(0, event.begin - start_->time());
  }
  void drop_others(List& list) {
    std::erase_if(list.events, [&](const RecordedEvent& event) { return !list.windows.includes(since_start(event)); });
  }

  std::vector<List> lists_;
  std::size_t capacity_;
  std::shared_ptr<RecordingStart> start_;
};

}  // namespace pando
