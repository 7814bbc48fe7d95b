// SPDX-License-Identifier: Apache-2.0
// Batches come in the same order for the same key, and a position leads back to them.
#include <gtest/gtest.h>
#include <pando/base/array_functions.h>

#include "tests/message.h"
#include "model/batches.h"

using namespace pando;

namespace {

// The first sample of each of the next batches of at most 2 samples.
std::vector<float> take(BatchSource& batches, int most = 100) {
  std::vector<float> firsts;
  float memory[2];
  std::byte* const columns[] = {reinterpret_cast<std::byte*>(memory)};
  while (most-- > 0 && batches.next(2, columns) > 0) firsts.push_back(memory[0]);
  return firsts;
}

Array counted(std::int64_t count) {
  Array x(DType::float32, {count});
  for (std::int64_t i = 0; i < count; ++i) x.mutable_data<float>()[i] = static_cast<float>(i);
  return x;
}

data::Dataset shuffled(std::int64_t count) {
  return data::Dataset::from_tensor_slices({counted(count)}).shuffle(count, {.seed = 3}).batch(2);
}

TEST(Batches, OfArraysHaveAnOrderForEachKey) {
  const auto batches = array_batches({counted(20)}, 2, true);
  batches->begin(1);
  const std::vector<float> first = take(*batches);
  batches->begin(2);
  EXPECT_NE(take(*batches), first);
  batches->begin(1);
  EXPECT_EQ(take(*batches), first);
}

// The sizes of what `source` has as long as its batches have that many samples.
std::vector<std::int64_t> sizes_while(const std::shared_ptr<BatchSource>& source, std::int64_t size) {
  const auto batches = batches_of_size(source, size);
  std::vector<std::int64_t> sizes;
  float memory[4];
  std::byte* const columns[] = {reinterpret_cast<std::byte*>(memory)};
  while (const std::int64_t count = batches->next(size, columns)) sizes.push_back(count);
  return sizes;
}

TEST(Batches, OfOneSizeEndWhereAnotherSizeFollows) {
  const auto arrays = array_batches({counted(11)}, 4, false);
  arrays->begin(1);
  EXPECT_EQ(sizes_while(arrays, 4), (std::vector<std::int64_t>{4, 4}));
  EXPECT_EQ(arrays->upcoming(4), 3);
  EXPECT_EQ(sizes_while(arrays, 3), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(arrays->upcoming(4), 0);
  const Array x = counted(11);
  const auto dataset =
      std::make_shared<DatasetBatches>("fit",
                                       data::Dataset::from_tensor_slices({x}).take(7).batch(4).concatenate(
                                           data::Dataset::from_tensor_slices({x}).skip(7).batch(4)),
                                       false);
  dataset->begin(1);
  EXPECT_EQ(sizes_while(dataset, 4), (std::vector<std::int64_t>{4}));
  EXPECT_EQ(dataset->upcoming(4), 3);
  EXPECT_EQ(sizes_while(dataset, 3), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(sizes_while(dataset, 4), (std::vector<std::int64_t>{4}));
  EXPECT_EQ(dataset->upcoming(4), 0);
}

TEST(Batches, OfArraysHaveTheNumbersOfTheirSamples) {
  const auto numbered = array_batches({counted(7), counted(7)}, 2, true);
  const auto once = array_batches({counted(7)}, 2, true, false);
  numbered->begin(5);
  EXPECT_EQ(once->table_of(0), nullptr);
  ASSERT_NE(numbered->table_of(1), nullptr);
  const float* const column = numbered->table_of(1)->columns()[1].data<float>();
  float memory[2];
  std::int32_t numbers[2];
  // A column that the device gathers is not wanted.
  std::byte* const columns[] = {reinterpret_cast<std::byte*>(memory), nullptr};
  std::int64_t samples = 0;
  while (const std::int64_t count = numbered->next_numbered(2, columns, numbers)) {
    for (std::int64_t i = 0; i < count; ++i) EXPECT_EQ(column[numbers[i]], memory[i]);
    samples += count;
  }
  EXPECT_EQ(samples, 7);
}

TEST(Batches, TakeAsManyRowsOfEachArrayAsBelongToTheirSamples) {
  const Array twice = counted(8), half = counted(2);
  const auto batches = array_batches({counted(4), twice, half}, 2, false);
  float memory[3][4];
  std::byte* const columns[] = {reinterpret_cast<std::byte*>(memory[0]), reinterpret_cast<std::byte*>(memory[1]),
                                reinterpret_cast<std::byte*>(memory[2])};
  EXPECT_EQ(batches->next(2, columns), 2);
  EXPECT_EQ(batches->next(2, columns), 2);
  EXPECT_EQ(memory[0][0], 2);
  EXPECT_EQ(memory[1][0], 4);
  EXPECT_EQ(memory[1][3], 7);
  EXPECT_EQ(memory[2][0], 1);
}

TEST(Batches, GoOnAtAPosition) {
  const auto arrays = array_batches({counted(20)}, 2, true), again = array_batches({counted(20)}, 2, true);
  arrays->begin(1);
  take(*arrays, 3);
  again->restore(arrays->position(3));
  again->begin(1);
  EXPECT_EQ(take(*again), take(*arrays));
}

TEST(Batches, OfADataSetGoOnAtAPosition) {
  for (const bool goes_on : {false, true}) {
    DatasetBatches batches("fit", shuffled(20), goes_on), again("fit", shuffled(20), goes_on);
    batches.begin(0);
    take(batches, 3);
    batches.end(3);
    batches.begin(0);
    take(batches, 2);
    const DataPosition position = batches.position(2);
    again.restore(position);
    again.restore_now(position);
    again.begin(0);
    EXPECT_EQ(take(again), take(batches)) << goes_on;
  }
}

// Memory is laid out for the samples of the first pass.
TEST(Batches, OfLaterPassesMustBeLikeThoseOfTheFirst) {
  int passes = 0;
  DatasetBatches batches("fit", data::Dataset::from_generator([&passes] {
                           return [pass = passes++, left = 1]() mutable -> std::optional<data::Element> {
                             if (left-- == 0) return std::nullopt;
                             return data::Element{Array(DType::float32, pass == 0 ? Shape{2} : Shape{2, 1000})};
                           };
                         }),
                         false);
  batches.begin(0);
  EXPECT_EQ(take(batches).size(), 1u);
  batches.end(1);
  batches.begin(0);
  EXPECT_EQ(message([&] { take(batches); }),
            "fit: a batch of the data set has samples of float32[1000] but the first had float32[]; they must not "
            "change");
}

}  // namespace
