// SPDX-License-Identifier: Apache-2.0
// Feeder: from batches of samples to the feeds of a step.
#pragma once
#include <deque>
#include <mutex>

#include "model/batches.h"
#include "model/step.h"
#include "program/sample_feed.h"

namespace pando {

struct FeederOptions {
  // At most this many batches are taken; all if negative.
  std::int64_t most_batches = -1;
  // The scale of each batch: 1 over its samples, or 1 if the program divides by the samples of the update.
  bool scale_by_samples = true;
};

// How many samples each batch was given, 0 for those of spare replicas. The thread of the feed writes it.
class SampleCounts {
 public:
  void add(std::int64_t count);
  // Forgets the batches before that one.
  void forget_before(std::int64_t batch);
  std::int64_t of_batch(std::int64_t batch) const;

 private:
  mutable std::mutex mutex_;
  std::int64_t first_ = 0;
  std::deque<std::int64_t> of_batch_;
};

// Fills rows: a micro-batch for each replica. Workers read the same batches in the same order, and each fills those of
// its own replicas. If the step has a mask, batches that are not full are filled up, and spare replicas of the last row
// get batches without samples. Without a mask, a row that is not complete ends the data.
class Feeder {
 public:
  Feeder(const Step& step, std::shared_ptr<BatchSource> source, const FeederOptions& options);
  bool operator()(std::int64_t row, std::span<std::byte* const> feeds);

  // The samples that a device could gather itself; without a table if there are none.
  FeedSamples samples() const;
  // From now on it writes the numbers of those samples instead of their values.
  void leave_to_device(const FeedSamples& samples);

  std::shared_ptr<SampleCounts> counts() const { return counts_; }

 private:
  struct Column {
    // The index among the program's feeds, or -1.
    int feed = -1;
    // The bytes that it writes for a sample: its values or, if the device gathers them, its number.
    std::size_t sample_bytes = 0;
    bool is_gathered = false;
    // What it must be checked against.
    std::vector<FedIndices> indices = {};
  };
  std::vector<std::byte*> feeds_of(std::int64_t replica, std::span<std::byte* const> feeds);
  std::int64_t take_samples(std::span<std::byte* const> places, std::span<std::byte* const> feeds);
  std::int64_t take_batch(std::int64_t number, std::span<std::byte* const> feeds);
  void check_indices(std::int64_t count, std::span<std::byte* const> feeds) const;
  void fill_up(std::int64_t count, std::span<std::byte* const> feeds, std::span<std::byte* const> example) const;
  void mark_real(std::int64_t count, std::span<std::byte* const> feeds) const;

  std::shared_ptr<BatchSource> source_;
  FeederOptions options_;
  std::int64_t replicas_, batch_size_;
  // The replicas of this worker.
  std::int64_t first_replica_ = 0, replicas_here_;
  // A batch of replica 0, if another worker has that replica: other batches may be filled up from it.
  std::vector<std::vector<std::byte>> first_batch_;
  std::vector<Column> columns_;
  bool pads_;
  int mask_ = -1, scale_ = -1;
  std::size_t feeds_of_replica_;
  std::shared_ptr<SampleCounts> counts_;
};

}  // namespace pando
