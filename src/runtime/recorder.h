// SPDX-License-Identifier: Apache-2.0
// Recorder: what the tiles of a device did when. Each tile writes to its own memory, which is allocated beforehand.
#pragma once
#include <chrono>
#include <cstdint>
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

class Recorder {
 public:
  Recorder(int tiles, std::size_t capacity) : lists_(static_cast<std::size_t>(tiles)), capacity_(capacity) {
    for (auto& list : lists_) list.events.reserve(capacity);
  }

  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  // Once the memory is full nothing more is recorded.
  void record(int tile, const RecordedEvent& event) {
    List& list = lists_[static_cast<std::size_t>(tile)];
    if (list.events.size() < capacity_) list.events.push_back(event);
    else list.full = true;
  }

  int tiles() const { return static_cast<int>(lists_.size()); }
  const std::vector<RecordedEvent>& events(int tile) const { return lists_[static_cast<std::size_t>(tile)].events; }
  // Whether the tile's memory was too small to record everything.
  bool is_full(int tile) const { return lists_[static_cast<std::size_t>(tile)].full; }

 private:
  // Each has its own cache line, so that tiles do not disturb each other.
  struct alignas(64) List {
    std::vector<RecordedEvent> events;
    bool full = false;
  };
  std::vector<List> lists_;
  std::size_t capacity_;
};

}  // namespace pando
