// SPDX-License-Identifier: Apache-2.0
// Feeds: batches on their way to a device.
#pragma once
#include <pando/base/function.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread.h"
#include "plan/plan.h"
#include "runtime/memory.h"
#include "runtime/sample_table.h"

namespace pando {

// Writes the feeds of row number `row` into `feeds` (one pointer each, in the order of the offsets). Returns false when
// there are no more rows; may throw, and the exception reaches the caller that runs the program.
using Fill = Function<bool(std::int64_t row, std::span<std::byte* const> feeds)>;

// The samples from which a device gathers the rows of a ring itself.
struct FeedSamples {
  std::shared_ptr<const SampleTable> table;
  // For each feed, its column of the table: a slot then holds the numbers of its samples, 32 bits each. -1 for a feed
  // whose bytes are in the slot.
  std::vector<int> columns;
};

// A ring of slots, each for a row of the feed, that a host thread, the filler, fills ahead. A full ring makes the
// filler wait. A device that finds the ring empty waits for a moment, then fills the next slot itself unless the filler
// is doing that: so only one thread at a time calls `fill`, but not always the same one. A feed of which one row is
// taken has no filler: to start a thread would take longer than to fill a slot.
class FeedRing {
 public:
  // Slots of `slot_bytes` with a feed at each offset, in a memory that the host can reach. Throws Error if there is not
  // enough memory.
  FeedRing(std::vector<std::size_t> offsets, std::size_t slot_bytes, Fill fill, int slots,
           const std::shared_ptr<Memory>& memory, FeedSamples samples = {});
  // Waits for a running call of `fill`, but not for the filler thread, which may get no core for a long time; it ends
  // by itself.
  ~FeedRing();
  FeedRing(const FeedRing&) = delete;
  FeedRing& operator=(const FeedRing&) = delete;

  // Waits for that row; returns an empty Place if the feed ends before it. Rows that are not released yet are in
  // flight; any number of threads may read them.
  Place wait_for(std::int64_t row);
  // The rows before this one are no longer needed.
  void release_before(std::int64_t row);
  // Whether wait_for() would return at once.
  bool has(std::int64_t row) const;
  // The first row that was not released.
  std::int64_t next() const;
  // Call these around an execution: only during one does the filler of a full ring look for room. `takes_one` says that
  // the execution takes at most one row; the filler starts with an execution that takes more, or with the second one.
  // Throws Error if the thread cannot be started, and in a child made by fork(), where the filler does not exist.
  void begin(bool takes_one);
  void end();
  // Throws what the filler threw, if anything.
  void rethrow();

  // Without a table if slots hold all bytes of a row.
  const FeedSamples& samples() const;
  const std::vector<std::size_t>& offsets() const;
  std::size_t slot_bytes() const;

 private:
  // The filler's state: the filler may outlive the FeedRing.
  struct Ring;
  std::shared_ptr<Ring> ring_;
  // One execution at a time uses the ring.
  bool has_filler_ = false;
  const ProcessMark process_;
};

// While it lives an execution takes from the ring.
class FeedUse {
 public:
  FeedUse(FeedRing& ring, bool takes_one) : ring_(ring) { ring_.begin(takes_one); }
  ~FeedUse() { ring_.end(); }
  FeedUse(const FeedUse&) = delete;
  FeedUse& operator=(const FeedUse&) = delete;

 private:
  FeedRing& ring_;
};

}  // namespace pando
