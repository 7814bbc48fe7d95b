// SPDX-License-Identifier: Apache-2.0
#include "data/loader/loader.h"

#include <pando/base/random.h>

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/philox.h"
#include "base/thread.h"
#include "data/pipeline/shuffled_order.h"

namespace pando::torch::utils::data {

namespace {

// Differs from the streams of random ops, which are numbered from 0, and from Dataset's, in case seeds are equal.
constexpr std::uint32_t epoch_stream = 0xfffffffeu;

std::uint64_t two_words(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32 | low; }

std::string array_text(const Array& array) {
  return fmt::format("{}{}", name(array.dtype()), to_string(array.shape()));
}

void check_at_least(std::int64_t least, std::int64_t value, std::string_view what) {
  if (value < least) throw Error(fmt::format("DataLoader: {} is {}; it must be at least {}", what, value, least));
}

// Computes batches in the thread that asks.
class DirectPass : public BatchLoader::Pass {
 public:
  explicit DirectPass(EpochBatches batches) : batches_(std::move(batches)), next_(batches_.first()) {}
  std::optional<Arrays> next() override {
    if (next_ == batches_.count()) return {};
    try {
      return batches_.fetch(next_++);
    } catch (...) {
      next_ = batches_.count();
      throw;
    }
  }

 private:
  EpochBatches batches_;
  std::int64_t next_;
};

// Workers take the numbers of batches one after the other and put what they have made into a ring of slots, where the
// consumer waits for them in order.
class WorkerPass : public BatchLoader::Pass {
 public:
  explicit WorkerPass(EpochBatches batches)
      : batches_(std::move(batches)), claimed_(batches_.first()), taken_(batches_.first()) {
    const std::int64_t count = batches_.count(), workers = std::min(batches_.options().num_workers, count);
    const std::int64_t ahead = workers * std::min(batches_.options().prefetch_factor, count);
    slots_.resize(static_cast<std::size_t>(std::min(ahead, count)));
    try {
      for (std::int64_t i = 0; i < workers; ++i)
        workers_.emplace_back("for a worker of a DataLoader", [this] { work(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~WorkerPass() override { stop(); }

  std::optional<Arrays> next() override {
    std::unique_lock lock(mutex_);
    if (taken_ == batches_.count()) return {};
    Slot& slot = slot_of(taken_);
    filled_.wait(lock, [&] { return slot.is_filled; });
    Slot made = std::exchange(slot, {});
    taken_ = made.failure ? batches_.count() : taken_ + 1;
    if (made.failure) claimed_ = batches_.count();
    lock.unlock();
    taken_one_.notify_all();
    if (made.failure) std::rethrow_exception(made.failure);
    return std::move(made.batch);
  }

 private:
  struct Slot {
    bool is_filled = false;
    Arrays batch = {};
    std::exception_ptr failure = {};
  };

  Slot& slot_of(std::int64_t number) { return slots_[static_cast<std::size_t>(number) % slots_.size()]; }

  void work() {
    while (const std::optional<std::int64_t> number = claim()) {
      Slot made{.is_filled = true};
      try {
        made.batch = batches_.fetch(*number);
      } catch (...) {
        made.failure = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      slot_of(*number) = std::move(made);
      filled_.notify_one();
    }
  }

  // The next batch that there is room for; nothing once the consumer will not ask for more.
  std::optional<std::int64_t> claim() {
    std::unique_lock lock(mutex_);
    const std::int64_t room = static_cast<std::int64_t>(slots_.size());
    taken_one_.wait(lock, [&] { return claimed_ == batches_.count() || claimed_ < taken_ + room; });
    if (claimed_ == batches_.count()) return {};
    return claimed_++;
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      claimed_ = batches_.count();
    }
    taken_one_.notify_all();
    workers_.clear();
  }

  const EpochBatches batches_;
  std::mutex mutex_;
  std::condition_variable filled_, taken_one_;
  std::vector<Slot> slots_;
  std::int64_t claimed_, taken_;
  std::vector<Thread> workers_;
};

}  // namespace

void check_rows(const std::string& who, const Arrays& columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].shape().rank() == 0)
      throw Error(
          fmt::format("{}: array {} is a scalar and has no rows; expand_dims makes it an array of one", who, i));
    if (columns[i].shape()[0] != columns[0].shape()[0])
      throw Error(fmt::format("{}: array {} is {} but array 0 is {}; the first sizes must be equal", who, i,
                              array_text(columns[i]), array_text(columns[0])));
  }
}

std::int64_t BatchLoader::Settings::batches() const {
  return options.drop_last ? samples / options.batch_size : (samples - 1) / options.batch_size + 1;
}

EpochBatches::EpochBatches(std::shared_ptr<BatchLoader::Settings> settings) : settings_(std::move(settings)) {
  // Only what load_state() set counts; the epoch before may have ended early.
  first_ = settings_->is_between_epochs.exchange(false) ? settings_->batches_taken.load() : 0;
  settings_->batches_taken = first_;
  const philox::Block block =
      philox::block({.seed = settings_->seed, .stream = epoch_stream, .update = settings_->epochs++, .sample = 0}, 0);
  if (options().shuffle) order_ = shuffled_order(settings_->samples, two_words(block.word[0], block.word[1]));
  key_ = two_words(block.word[2], block.word[3]);
}

Arrays EpochBatches::fetch(std::int64_t number) const {
  const std::int64_t first = number * options().batch_size;
  std::vector<std::int64_t> indices(
      static_cast<std::size_t>(std::min(options().batch_size, settings_->samples - first)));
  if (order_.empty()) std::iota(indices.begin(), indices.end(), first);
  else std::copy_n(order_.begin() + first, indices.size(), indices.begin());
  return settings_->fetch(indices, key_);
}

BatchLoader::BatchLoader(std::int64_t samples, Fetch fetch, const DataLoaderOptions& options)
    : settings_(std::make_shared<Settings>()) {
  check_at_least(1, options.batch_size, "batch_size");
  check_at_least(0, options.num_workers, "num_workers");
  check_at_least(1, options.prefetch_factor, "prefetch_factor");
  if (samples < 1) throw Error("DataLoader: the data set is empty; give one with at least one sample");
  if (options.drop_last && samples < options.batch_size)
    throw Error(
        fmt::format("DataLoader: drop_last leaves no batch, since the data set has {} samples and batch_size is {}; "
                    "take a batch_size of at most {}, or drop_last = false",
                    samples, options.batch_size, samples));
  settings_->samples = samples;
  settings_->fetch = std::move(fetch);
  settings_->options = options;
  settings_->seed = options.seed ? *options.seed : next_random_key();
}

std::int64_t BatchLoader::size() const { return settings_->batches(); }
std::int64_t BatchLoader::dataset_size() const { return settings_->samples; }
std::int64_t BatchLoader::batch_size() const { return settings_->options.batch_size; }

LoaderState BatchLoader::state() const {
  const std::int64_t epochs = settings_->epochs, taken = settings_->batches_taken;
  if (settings_->is_between_epochs) return {settings_->seed, epochs, taken};
  if (taken >= settings_->batches()) return {settings_->seed, epochs, 0};
  return {settings_->seed, epochs - 1, taken};
}

void BatchLoader::load_state(const LoaderState& state) {
  constexpr std::int64_t most_epochs = std::numeric_limits<std::uint32_t>::max();
  if (state.epoch < 0 || state.epoch > most_epochs || state.batches < 0 || state.batches >= settings_->batches())
    throw Error(
        fmt::format("DataLoader: the state is of batch {} of epoch {} but an epoch has {} batches; give it to a "
                    "loader of the same data and batch_size",
                    state.batches, state.epoch, settings_->batches()));
  settings_->seed = state.seed;
  settings_->epochs = static_cast<std::uint32_t>(state.epoch);
  settings_->batches_taken = state.batches;
  settings_->is_between_epochs = true;
}

BatchLoader::Epoch::Epoch(const BatchLoader& loader) : settings_(loader.settings_) {
  EpochBatches batches(loader.settings_);
  number_ = settings_->epochs;
  if (batches.options().num_workers == 0) pass_ = std::make_unique<DirectPass>(std::move(batches));
  else pass_ = std::make_unique<WorkerPass>(std::move(batches));
}
BatchLoader::Epoch::Epoch(Epoch&&) noexcept = default;
BatchLoader::Epoch& BatchLoader::Epoch::operator=(Epoch&&) noexcept = default;
BatchLoader::Epoch::~Epoch() = default;

std::optional<Arrays> BatchLoader::Epoch::next() {
  std::optional<Arrays> batch = pass_->next();
  if (batch && number_ == settings_->epochs) ++settings_->batches_taken;
  return batch;
}

}  // namespace pando::torch::utils::data
