// SPDX-License-Identifier: Apache-2.0
// Recorder: what the tiles of a device did when. Each tile writes to its own memory, which is allocated beforehand.
// When that is full for the first time, the run so far is cut into windows of equal length; from then on a tile keeps
// every second window, then every fourth and so on, so that what is recorded spans the whole run however long it is.
// Tiles need not agree meanwhile: the windows of the tile that kept the fewest are those that all tiles kept.
#pragma once
#include <algorithm>
#include <atomic>
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

// The windows of all recordings of a run.
class RecordingWindows {
 public:
  // The first event that a tile records begins the first window.
  void begin_at(std::int64_t time) {
    std::int64_t unset = not_begun;
    begin_.compare_exchange_strong(unset, time);
  }
  // Nanoseconds of the steady clock.
  std::int64_t begin() const { return begin_.load(std::memory_order_relaxed); }
  // 0 until a memory is full.
  std::int64_t length() const { return length_.load(std::memory_order_relaxed); }
  // Whether a moment is in a window that is kept if every `stride`-th one is.
  bool includes(std::int64_t time, std::int64_t stride) const {
    return stride == 1 || (time - begin()) / length() % stride == 0;
  }
  // A memory is full at this moment.
  void cut(std::int64_t now) {
    std::int64_t uncut = 0;
    length_.compare_exchange_strong(uncut, std::max<std::int64_t>(1, (now - begin()) / first_windows));
  }

 private:
  static constexpr std::int64_t first_windows = 16, not_begun = -1;

  std::atomic<std::int64_t> begin_ = not_begun;
  std::atomic<std::int64_t> length_ = 0;
};

class Recorder {
 public:
  Recorder(int tiles, std::size_t capacity, std::shared_ptr<RecordingWindows> windows)
      : lists_(static_cast<std::size_t>(tiles)), capacity_(capacity), windows_(std::move(windows)) {
    for (auto& list : lists_) list.events.reserve(capacity);
  }

  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void record(int tile, const RecordedEvent& event) {
    List& list = lists_[static_cast<std::size_t>(tile)];
    if (list.events.empty()) windows_->begin_at(event.begin);
    while (list.events.size() >= capacity_ && list.stride < widest_stride) thin_out(list, event.end);
    if (list.events.size() < capacity_ && windows_->includes(event.begin, list.stride)) list.events.push_back(event);
  }

  int tiles() const { return static_cast<int>(lists_.size()); }
  const std::vector<RecordedEvent>& events(int tile) const { return lists_[static_cast<std::size_t>(tile)].events; }
  // Every how many windows the tile kept; 1 if it kept all.
  std::int64_t stride(int tile) const { return lists_[static_cast<std::size_t>(tile)].stride; }

 private:
  static constexpr std::int64_t widest_stride = std::int64_t{1} << 40;

  // Each has its own cache line, so that tiles do not disturb each other.
  struct alignas(64) List {
    std::vector<RecordedEvent> events;
    std::int64_t stride = 1;
  };

  void thin_out(List& list, std::int64_t now) {
    windows_->cut(now);
    list.stride *= 2;
    std::erase_if(list.events,
                  [&](const RecordedEvent& event) { return !windows_->includes(event.begin, list.stride); });
  }

  std::vector<List> lists_;
  std::size_t capacity_;
  std::shared_ptr<RecordingWindows> windows_;
};

}  // namespace pando
