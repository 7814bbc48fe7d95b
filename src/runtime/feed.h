// Feeds: batches on their way to a device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/thread.h"
#include "plan/plan.h"
#include "runtime/memory.h"

namespace pando {

// The source of the feeds for the steps of an execution. acquire() and release() take turns, on one thread.
class Feeds {
 public:
  virtual ~Feeds() = default;
  // The slot of the next step, laid out as the Plan says, or null at the end.
  virtual std::byte* acquire() = 0;
  // Whether acquire() would have to wait.
  virtual bool is_late() const { return false; }
  // Gives the acquired slot back.
  virtual void release() = 0;
};

// One slot that the caller fills, for single steps.
class SingleFeed final : public Feeds {
 public:
  explicit SingleFeed(std::size_t bytes);
  std::byte* slot() { return memory_.get(); }
  std::byte* acquire() override { return memory_.get(); }
  void release() override {}

 private:
  HostMemory memory_;
};

// Writes the feeds of step number `step` into `feeds` (one pointer each, in the order of the offsets). Returns false
// when there are no more steps; may throw, and the exception reaches the caller that runs the program.
using Fill = std::function<bool(std::int64_t step, std::span<std::byte* const> feeds)>;

// A ring of slots that a host thread fills ahead. A full ring makes the filler wait. A device that finds the ring empty
// waits for a moment, then fills the next slot itself unless the filler is doing that: so only one thread at a time
// calls `fill`, but not always the same one.
class FeedRing final : public Feeds {
 public:
  // Slots of `slot_bytes` with a feed at each offset. Throws Error if there is not enough memory or no thread can be
  // started.
  FeedRing(std::vector<std::size_t> offsets, std::size_t slot_bytes, Fill fill, int slots);
  // Waits for a running call of `fill`, but not for the filler thread, which may get no core for a long time; it ends
  // by itself.
  ~FeedRing() override;
  FeedRing(const FeedRing&) = delete;
  FeedRing& operator=(const FeedRing&) = delete;

  std::byte* acquire() override;
  bool is_late() const override;
  void release() override;
  // For several readers, instead of acquire() and release(): the slot of step number `step`, or null if the feed ends
  // before it; and to say that the slots before `step` are no longer needed.
  const std::byte* wait_for(std::int64_t step);
  void release_before(std::int64_t step);
  // Whether wait_for() would return at once.
  bool has(std::int64_t step) const;
  // The first step that was not released.
  std::int64_t next() const;
  // Call these around an execution: only during one does the filler of a full ring look for room. Throws Error in a
  // child made by fork(), where the filler does not exist.
  void begin();
  void end();
  // Throws what the filler threw, if anything.
  void rethrow();

 private:
  // The filler's state: the filler may outlive the FeedRing.
  struct Ring;
  std::shared_ptr<Ring> ring_;
  const ProcessMark process_;
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
