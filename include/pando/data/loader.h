// SPDX-License-Identifier: Apache-2.0
// DataLoader: the samples of a data set in batches, as torch.utils.data hands them out.
#pragma once
#include <pando/base/array_functions.h>
#include <pando/base/function.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace pando::torch::utils::data {

// What every data set has: `static constexpr std::size_t columns` and size(), the number of samples. The loader holds a
// copy of it, and calls it from several threads at once if there are workers.
template <class T>
concept SizedDataset = requires(const T& dataset) {
  { T::columns } -> std::convertible_to<std::size_t>;
  { dataset.size() } -> std::convertible_to<std::int64_t>;
};

// batch(indices, key) gives the columns of these samples, along axis 0. The random numbers of a sample may depend only
// on the key of the epoch and on the sample's index.
template <class T>
concept BatchDataset = SizedDataset<T> &&
    requires(const T& dataset, const std::vector<std::int64_t>& indices, std::uint64_t key) {
  { dataset.batch(indices, key) } -> std::same_as<std::array<Array, T::columns>>;
};

// get(index) gives the columns of one sample; the loader stacks them.
template <class T>
concept SampleDataset = SizedDataset<T> && requires(const T& dataset, std::int64_t index) {
  { dataset.get(index) } -> std::same_as<std::array<Array, T::columns>>;
};

template <class T>
concept MapDataset = BatchDataset<T> || SampleDataset<T>;

// Row i of every array is sample i.
template <std::size_t count>
class TensorDataset {
 public:
  static constexpr std::size_t columns = count;

  // Throws Error if the first sizes differ, or an array is a scalar.
  template <std::same_as<Array>... Rest>
  requires(1 + sizeof...(Rest) == count) explicit TensorDataset(const Array& first, const Rest&... rest);

  std::int64_t size() const { return tensors_.front().shape()[0]; }
  std::array<Array, count> get(std::int64_t index) const;
  std::array<Array, count> batch(const std::vector<std::int64_t>& indices, std::uint64_t key) const;
  const std::array<Array, count>& tensors() const { return tensors_; }

 private:
  std::array<Array, count> tensors_;
};

template <std::same_as<Array>... Rest>
TensorDataset(const Array&, const Rest&...) -> TensorDataset<1 + sizeof...(Rest)>;

struct DataLoaderOptions {
  std::int64_t batch_size = 1;
  // Whether every epoch has its own order.
  bool shuffle = false;
  // Drops the last batch if it is smaller.
  bool drop_last = false;
  // Decides the orders and what random transforms draw. If not given, next_random_key() draws it when the loader is
  // made.
  std::optional<std::uint64_t> seed = {};
  // Threads that compute batches ahead; with 0, the thread that asks for a batch computes it.
  std::int64_t num_workers = 0;
  // How many batches each worker computes ahead.
  std::int64_t prefetch_factor = 2;
};

// Where a loader is: the epoch that it is in, and how many batches of it were taken. Batches that workers have made
// ahead do not count.
struct LoaderState {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t batches = 0;
  friend bool operator==(const LoaderState&, const LoaderState&) = default;
};

// The part of DataLoader that does not depend on the number of columns: which samples make a batch, and the workers.
class PANDO_API BatchLoader {
 public:
  // The columns of the samples with these indices; the key is the epoch's.
  using Fetch = Function<Arrays(const std::vector<std::int64_t>& indices, std::uint64_t key)>;

  // Throws Error if an option is not valid, or there would be no batch.
  BatchLoader(std::int64_t samples, Fetch fetch, const DataLoaderOptions& options);

  std::int64_t size() const;
  std::int64_t dataset_size() const;
  std::int64_t batch_size() const;

  // The state of the epoch that was begun last.
  LoaderState state() const;
  // The next epoch goes on from there, with the orders of that loader. Throws Error if there is no such batch.
  void load_state(const LoaderState& state);

  struct Settings;
  class Pass;
  // One epoch. One thread at a time may use it. next() throws what fetching threw, and that ends the epoch.
  class PANDO_API Epoch {
   public:
    explicit Epoch(const BatchLoader& loader);
    Epoch(Epoch&&) noexcept;
    Epoch& operator=(Epoch&&) noexcept;
    // Stops the workers.
    ~Epoch();

    // Returns nothing at the end and from then on.
    std::optional<Arrays> next();

   private:
    std::shared_ptr<Settings> settings_;
    std::unique_ptr<Pass> pass_;
    // How many epochs were begun with it.
    std::int64_t number_ = 0;
  };

 private:
  // The epochs and the copies of the loader share it; copies count the epochs together.
  std::shared_ptr<Settings> settings_;
};

// for (auto [images, labels] : loader): a new epoch. Cheap to copy; size() is the number of batches.
template <std::size_t columns>
class DataLoader : public BatchLoader {
 public:
  using Batch = std::array<Array, columns>;

  template <MapDataset Dataset>
  requires(Dataset::columns == columns) explicit DataLoader(Dataset dataset, const DataLoaderOptions& options = {})
      : BatchLoader(dataset.size(), fetch_from(dataset), options) {}

  struct End {};
  class Iterator {
   public:
    explicit Iterator(const DataLoader& loader) : epoch_(loader) { ++*this; }

    const Batch& operator*() const { return batch_; }
    const Batch* operator->() const { return &batch_; }
    Iterator& operator++() {
      std::optional<Arrays> arrays = epoch_.next();
      is_end_ = !arrays;
      for (std::size_t i = 0; arrays && i < columns; ++i) batch_[i] = std::move((*arrays)[i]);
      return *this;
    }
    bool operator==(End) const { return is_end_; }

   private:
    Epoch epoch_;
    Batch batch_;
    bool is_end_ = false;
  };
  Iterator begin() const { return Iterator(*this); }
  End end() const { return {}; }

 private:
  template <class Dataset>
  static Fetch fetch_from(Dataset dataset);
};

template <MapDataset Dataset>
DataLoader(const Dataset&, const DataLoaderOptions& = {}) -> DataLoader<Dataset::columns>;

// Throws Error naming `who` unless all arrays have rows, and all the same number.
PANDO_API void check_rows(const std::string& who, const Arrays& columns);

template <std::size_t count>
template <std::same_as<Array>... Rest>
requires(1 + sizeof...(Rest) == count) TensorDataset<count>::TensorDataset(const Array& first, const Rest&... rest)
    : tensors_{first, rest...} {
  check_rows("TensorDataset", Arrays(tensors_.begin(), tensors_.end()));
}

template <std::size_t count>
std::array<Array, count> TensorDataset<count>::get(std::int64_t index) const {
  std::array<Array, count> sample = batch({index}, 0);
  for (Array& column : sample) column = squeeze(column, 0);
  return sample;
}

template <std::size_t count>
std::array<Array, count> TensorDataset<count>::batch(const std::vector<std::int64_t>& indices, std::uint64_t) const {
  std::array<Array, count> rows;
  for (std::size_t i = 0; i < count; ++i) rows[i] = take(tensors_[i], indices);
  return rows;
}

template <std::size_t columns>
template <class Dataset>
BatchLoader::Fetch DataLoader<columns>::fetch_from(Dataset dataset) {
  return [dataset = std::move(dataset)](const std::vector<std::int64_t>& indices, [[maybe_unused]] std::uint64_t key) {
    if constexpr (BatchDataset<Dataset>) {
      const Batch batch = dataset.batch(indices, key);
      return Arrays(batch.begin(), batch.end());
    } else {
      std::array<Arrays, columns> rows;
      for (const std::int64_t index : indices) {
        const Batch sample = dataset.get(index);
        for (std::size_t i = 0; i < columns; ++i) rows[i].push_back(sample[i]);
      }
      Arrays batch;
      for (const Arrays& column : rows) batch.push_back(stack(column));
      return batch;
    }
  };
}

}  // namespace pando::torch::utils::data
