// Feeds: batches on their way to a device.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <vector>

#include "base/thread.h"
#include "plan/plan.h"
#include "runtime/memory.h"

namespace pando {

// Where an execution gets the feeds of its steps from. acquire() and release() take turns, on one thread.
class Feeds {
 public:
  virtual ~Feeds() = default;
  // The slot of the next step, laid out as the Plan says, or null at the end.
  virtual std::byte* acquire() = 0;
  // Gives the acquired slot back.
  virtual void release() = 0;
};

// One slot that the caller fills: for single steps.
class SingleFeed final : public Feeds {
 public:
  explicit SingleFeed(const Plan& plan);
  std::byte* slot() { return memory_.get(); }
  std::byte* acquire() override { return memory_.get(); }
  void release() override {}

 private:
  HostMemory memory_;
};

// Writes the feeds of step number `step` into `feeds` (one pointer each, in the order of Plan::feeds). Returns false
// when there are no more steps; may throw, and the exception reaches who runs the program.
using Fill = std::function<bool(std::int64_t step, std::span<std::byte* const> feeds)>;

// A ring of slots that a host thread fills ahead. A full ring makes the filler wait, an empty one the device.
class FeedRing final : public Feeds {
 public:
  // Throws Error if the memory or the thread cannot be had.
  FeedRing(const Plan& plan, Fill fill, int slots);
  // Slots of `slot_bytes` with a feed at each offset.
  FeedRing(std::vector<std::size_t> offsets, std::size_t slot_bytes, Fill fill, int slots);
  ~FeedRing() override;
  FeedRing(const FeedRing&) = delete;
  FeedRing& operator=(const FeedRing&) = delete;

  std::byte* acquire() override;
  void release() override { taken_.fetch_add(1, std::memory_order_release); }
  // For several readers, instead of acquire() and release(): the slot of step number `step`, or null if the feed ends
  // before it; and that nobody needs the slots before `step` any more.
  const std::byte* wait_for(std::int64_t step);
  void release_before(std::int64_t step);
  // Around an execution: only then, with the ring full, the filler looks for room. Throws Error in a child made by
  // fork(), where the filler does not exist.
  void begin();
  void end() { running_ = false; }
  // Throws what the filler threw, if it did.
  void rethrow();

 private:
  void fill_all();
  // False when it is to stop.
  bool wait_for_room(std::int64_t step);

  std::vector<std::size_t> offsets_;
  std::size_t slot_bytes_;
  std::int64_t slots_;
  Fill fill_;
  HostMemory memory_;
  std::exception_ptr failure_;
  const ProcessMark process_;
  // The steps that are filled; with the mark when there will be no more.
  static constexpr std::int64_t end_mark = std::int64_t{1} << 62;
  alignas(64) std::atomic<std::int64_t> filled_ = 0;
  alignas(64) std::atomic<std::int64_t> taken_ = 0;
  std::atomic<bool> running_ = false, stopping_ = false;
  std::chrono::microseconds wait_{50};
  Thread thread_;
};

// While it lives an execution takes from the ring.
class FeedUse {
 public:
  explicit FeedUse(FeedRing& ring) : ring_(ring) { ring_.begin(); }
  ~FeedUse() { ring_.end(); }
  FeedUse(const FeedUse&) = delete;
  FeedUse& operator=(const FeedUse&) = delete;

 private:
  FeedRing& ring_;
};

}  // namespace pando
