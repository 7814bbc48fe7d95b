// SPDX-License-Identifier: Apache-2.0
// How a DataLoader makes its batches.
#pragma once
#include <pando/data/loader.h>

#include <atomic>

namespace pando::torch::utils::data {

struct BatchLoader::Settings {
  std::int64_t samples = 0;
  Fetch fetch;
  DataLoaderOptions options;
  std::atomic<std::uint64_t> seed = 0;
  // The number of epochs that were begun.
  std::atomic<std::uint32_t> epochs = 0;
  // How many batches of the epoch that was begun last were taken; between epochs, which batch the next one begins with.
  std::atomic<std::int64_t> batches_taken = 0;
  std::atomic<bool> is_between_epochs = true;

  std::int64_t batches() const;
};

// The batches of an epoch by number, computed by any thread.
class EpochBatches {
 public:
  explicit EpochBatches(std::shared_ptr<BatchLoader::Settings> settings);
  // The batch that the epoch begins with.
  std::int64_t first() const { return first_; }
  std::int64_t count() const { return settings_->batches(); }
  Arrays fetch(std::int64_t number) const;
  const DataLoaderOptions& options() const { return settings_->options; }

 private:
  std::shared_ptr<BatchLoader::Settings> settings_;
  // If empty, the samples in their stored order.
  std::vector<std::int64_t> order_;
  std::uint64_t key_ = 0;
  std::int64_t first_ = 0;
};

class BatchLoader::Pass {
 public:
  virtual ~Pass() = default;
  virtual std::optional<Arrays> next() = 0;
};

}  // namespace pando::torch::utils::data
