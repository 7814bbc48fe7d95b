// How a DataLoader makes its batches.
#pragma once
#include <pando/data/loader.h>

#include <atomic>

namespace pando::torch::utils::data {

struct BatchLoader::Settings {
  std::int64_t samples = 0;
  Fetch fetch;
  DataLoaderOptions options;
  std::uint64_t seed = 0;
  // The number of epochs that were begun.
  std::atomic<std::uint32_t> epochs = 0;

  std::int64_t batches() const;
};

// The batches of an epoch by number, computed by any thread.
class EpochBatches {
 public:
  explicit EpochBatches(std::shared_ptr<BatchLoader::Settings> settings);
  std::int64_t count() const { return settings_->batches(); }
  Arrays fetch(std::int64_t number) const;
  const DataLoaderOptions& options() const { return settings_->options; }

 private:
  std::shared_ptr<BatchLoader::Settings> settings_;
  // If empty, the samples in their stored order.
  std::vector<std::int64_t> order_;
  std::uint64_t key_ = 0;
};

class BatchLoader::Pass {
 public:
  virtual ~Pass() = default;
  virtual std::optional<Arrays> next() = 0;
};

}  // namespace pando::torch::utils::data
