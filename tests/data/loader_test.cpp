// SPDX-License-Identifier: Apache-2.0
// DataLoader hands out every sample once an epoch, in an order that the seed decides, whatever the workers do.
#include <pando/data/loader.h>
#include <pando/base/random.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/message.h"

namespace pando::torch::utils::data {
namespace {

using Numbers = std::vector<std::int64_t>;

// Sample i is i, and a number that the key and the sample decide.
struct Keyed {
  static constexpr std::size_t columns = 2;
  std::int64_t size() const { return count; }
  std::array<Array, 2> batch(const Numbers& indices, std::uint64_t key) const {
    Numbers drawn;
    for (const std::int64_t index : indices) drawn.push_back(static_cast<std::int64_t>(key >> 8) ^ index);
    const std::int64_t rows = static_cast<std::int64_t>(indices.size());
    return {Array::of(indices, {rows}), Array::of(drawn, {rows})};
  }

  std::int64_t count = 10;
};

// Gives one sample at a time.
struct Single {
  static constexpr std::size_t columns = 2;
  std::int64_t size() const { return 5; }
  std::array<Array, 2> get(std::int64_t index) const {
    const float value = static_cast<float>(index);
    return {Array::of<float>({value, value + 0.5f}, {2}), Array::scalar(static_cast<std::int32_t>(index))};
  }
};

// Takes its time, longer for some batches, and notes how many it has begun.
struct Slow {
  static constexpr std::size_t columns = 1;
  std::int64_t size() const { return 40; }
  std::array<Array, 1> batch(const Numbers& indices, std::uint64_t) const {
    ++*begun;
    if (indices[0] == failing) throw Error("sample " + std::to_string(failing) + " cannot be read");
    std::this_thread::sleep_for(std::chrono::milliseconds(indices[0] % 3));
    return {Array::of(indices, {static_cast<std::int64_t>(indices.size())})};
  }

  std::int64_t failing = -1;
  std::shared_ptr<std::atomic<int>> begun = std::make_shared<std::atomic<int>>(0);
};

template <std::size_t columns>
Numbers values(const DataLoader<columns>& loader, std::size_t column = 0) {
  Numbers result;
  for (const std::array<Array, columns>& batch : loader) {
    const std::int64_t* data = batch[column].template data<std::int64_t>();
    result.insert(result.end(), data, data + batch[column].elements());
  }
  return result;
}

Numbers counted(std::int64_t count) {
  Numbers numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

Numbers sorted(Numbers numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

TEST(DataLoader, GivesBatchesOfTensorsInOrder) {
  const Array x = Array::of<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {5, 2}),
              y = Array::of<std::uint8_t>({5, 6, 7, 8, 9}, {5});
  TensorDataset dataset(x, y);
  DataLoader loader(dataset, {.batch_size = 2});
  EXPECT_EQ(loader.size(), 3);
  EXPECT_EQ(loader.dataset_size(), 5);
  EXPECT_EQ(loader.batch_size(), 2);
  std::vector<std::string> shapes;
  std::int64_t row = 0;
  for (auto [data, labels] : loader) {
    shapes.push_back(to_string(data.shape()) + to_string(labels.shape()));
    EXPECT_TRUE(array_equal(data, x.slice(row, row + data.shape()[0])));
    EXPECT_TRUE(array_equal(labels, y.slice(row, row + data.shape()[0])));
    row += data.shape()[0];
  }
  EXPECT_EQ(shapes, (std::vector<std::string>{"[2, 2][2]", "[2, 2][2]", "[1, 2][1]"}));
  EXPECT_EQ(to_string(dataset.get(1)[0].shape()), "[2]");
  EXPECT_EQ(dataset.get(1)[1].item<int>(), 6);
}

TEST(DataLoader, DropsTheLastBatchIfItIsSmaller) {
  EXPECT_EQ(values(DataLoader(Keyed(), {.batch_size = 4, .drop_last = true})), counted(8));
  EXPECT_EQ(DataLoader(Keyed(), {.batch_size = 4, .drop_last = true}).size(), 2);
  EXPECT_EQ(DataLoader(Keyed(), {.batch_size = 5, .drop_last = true}).size(), 2);
  EXPECT_EQ(DataLoader(Keyed()).size(), 10);
}

TEST(DataLoader, StacksSamples) {
  DataLoader loader(Single(), {.batch_size = 3});
  auto first = loader.begin();
  EXPECT_TRUE(array_equal((*first)[0], Array::of<float>({0, 0.5f, 1, 1.5f, 2, 2.5f}, {3, 2})));
  EXPECT_TRUE(array_equal((*first)[1], Array::of<std::int32_t>({0, 1, 2}, {3})));
  EXPECT_EQ((*first)[1].dtype(), DType::int32);
}

TEST(DataLoader, EveryEpochHasAnOrderOfItsOwnThatTheSeedDecides) {
  const DataLoader loader(Keyed{100}, {.batch_size = 7, .shuffle = true, .seed = 3});
  const Numbers first = values(loader), second = values(loader);
  EXPECT_NE(first, counted(100));
  EXPECT_NE(first, second);
  EXPECT_EQ(sorted(first), counted(100));
  EXPECT_EQ(sorted(second), counted(100));
  EXPECT_EQ(values(DataLoader(Keyed{100}, {.batch_size = 100, .shuffle = true, .seed = 3})), first);
  EXPECT_NE(values(DataLoader(Keyed{100}, {.batch_size = 7, .shuffle = true, .seed = 4})), first);
}

TEST(DataLoader, SetRandomSeedDecidesTheOrderWithoutASeed) {
  const auto shuffled = [] { return values(DataLoader(Keyed{100}, {.shuffle = true})); };
  set_random_seed(1);
  const Numbers first = shuffled(), other = shuffled();
  set_random_seed(1);
  EXPECT_EQ(shuffled(), first);
  EXPECT_NE(other, first);
  set_random_seed(0);
}

TEST(DataLoader, WhatIsDrawnForASampleDependsOnSeedEpochAndSampleOnly) {
  const DataLoader plain(Keyed{20}, {.batch_size = 3, .seed = 3});
  const DataLoader workers(Keyed{20}, {.batch_size = 8, .seed = 3, .num_workers = 3});
  const Numbers first = values(plain, 1), second = values(plain, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(values(workers, 1), first);
  EXPECT_EQ(values(workers, 1), second);
}

TEST(DataLoader, WorkersDeliverInOrder) {
  for (const std::int64_t workers : {1, 2, 4, 100}) {
    const DataLoader loader(Slow(), {.batch_size = 3, .num_workers = workers});
    EXPECT_EQ(values(loader), counted(40));
    EXPECT_EQ(values(loader), counted(40));
  }
}

TEST(DataLoader, WorkersStayWithinTheirPrefetch) {
  Slow dataset;
  const DataLoader loader(dataset, {.num_workers = 2, .prefetch_factor = 3});
  {
    const auto first = loader.begin();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    // One was taken, and 2 x 3 are ahead at most.
    EXPECT_LE(*dataset.begun, 7);
  }
  const int begun = *dataset.begun;
  EXPECT_LE(begun, 7);
}

TEST(DataLoader, WhatADataSetThrowsReachesTheLoopInItsPlace) {
  for (const std::int64_t workers : {0, 3}) {
    Slow dataset;
    dataset.failing = 12;
    const DataLoader loader(dataset, {.batch_size = 4, .num_workers = workers});
    std::int64_t batches = 0;
    EXPECT_EQ(message([&] {
                for ([[maybe_unused]] const auto& batch : loader) ++batches;
              }),
              "sample 12 cannot be read");
    EXPECT_EQ(batches, 3);
  }
}

TEST(DataLoader, RefusesOptionsThatCannotWork) {
  EXPECT_EQ(message([] { DataLoader(Keyed(), {.batch_size = 0}); }),
            "DataLoader: batch_size is 0; it must be at least 1");
  EXPECT_EQ(message([] { DataLoader(Keyed(), {.num_workers = -1}); }),
            "DataLoader: num_workers is -1; it must be at least 0");
  EXPECT_EQ(message([] { DataLoader(Keyed(), {.prefetch_factor = 0}); }),
            "DataLoader: prefetch_factor is 0; it must be at least 1");
  EXPECT_EQ(message([] { DataLoader(Keyed{0}); }),
            "DataLoader: the data set is empty; give one with at least one sample");
  EXPECT_EQ(message([] { DataLoader(Keyed(), {.batch_size = 16, .drop_last = true}); }),
            "DataLoader: drop_last leaves no batch, since the data set has 10 samples and batch_size is 16; take a "
            "batch_size of at most 10, or drop_last = false");
}

TEST(DataLoader, TensorsNeedEqualFirstSizes) {
  EXPECT_EQ(message([] {
              TensorDataset(Array(DType::float32, {3, 2}), Array(DType::uint8, {4}));
            }),
            "TensorDataset: array 1 is uint8[4] but array 0 is float32[3, 2]; the first sizes must be equal");
  EXPECT_EQ(message([] { TensorDataset(Array::scalar(1.0f)); }),
            "TensorDataset: array 0 is a scalar and has no rows; expand_dims makes it an array of one");
}

}  // namespace
}  // namespace pando::torch::utils::data
