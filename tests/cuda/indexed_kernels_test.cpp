// SPDX-License-Identifier: Apache-2.0
// Sorts, elements chosen along an axis and running totals, run on the host: few threads do what the blocks of a GPU do.
#include "tests/cuda/emulation.h"
// After the emulation.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cuda/kernels/cumulative.cuh"
#include "backends/cuda/kernels/indexed.cuh"
#include "backends/cuda/kernels/sorting.cuh"
#include "ops/scalar.h"

namespace pando::cuda {
namespace {

// Fewer than there are rows and elements, so that each takes several of them.
constexpr unsigned blocks = 2, threads = 8;

// Few different numbers, so that many are equal.
std::vector<std::int32_t> numbers_below(std::int64_t count, std::int32_t limit) {
  std::vector<std::int32_t> result;
  std::uint32_t state = 12345;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    result.push_back(static_cast<std::int32_t>((state >> 8) % static_cast<std::uint32_t>(limit)));
  }
  return result;
}

template <class Bits, class Read>
std::vector<Placed<Bits>> sorted_rows(const Read& read, std::int64_t rows, std::int64_t length) {
  std::vector<Placed<Bits>> sorted(static_cast<std::size_t>(rows * length)), other = sorted;
  const int run = run_length(length);
  emulate(blocks, {threads, 1}, [&] { sort_runs(read, sorted.data(), rows, length, run); });
  for (std::int64_t merged = run; merged < length; merged *= 2) {
    emulate(blocks, {threads, 1}, [&] { merge_runs(sorted.data(), other.data(), rows, length, merged); });
    std::swap(sorted, other);
  }
  return sorted;
}

template <class Bits>
void expect_to_sort(std::int64_t rows, std::int64_t length) {
  const std::vector<std::int32_t> numbers = numbers_below(rows * length, 50);
  const auto key_at = [&](std::int64_t row, std::int64_t index) {
    const auto number = static_cast<Bits>(numbers[static_cast<std::size_t>(row * length + index)]);
    return number == 49 ? ~Bits(0) : number;
  };
  const auto found = sorted_rows<Bits>(key_at, rows, length);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<Placed<Bits>> expected;
    for (std::int64_t i = 0; i < length; ++i) expected.push_back({key_at(row, i), static_cast<std::uint32_t>(i)});
    std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    for (std::int64_t i = 0; i < length; ++i) {
      const Placed<Bits>& item = found[static_cast<std::size_t>(row * length + i)];
      ASSERT_EQ(item.key, expected[static_cast<std::size_t>(i)].key) << length << ", row " << row << ", item " << i;
      ASSERT_EQ(item.place, expected[static_cast<std::size_t>(i)].place) << length << ", row " << row << ", item " << i;
    }
  }
}

TEST(CudaSort, SortsRowsOfAnyLengthAndKeepsTheOrderOfEqualOnes) {
  for (std::int64_t length : {1, 2, 5, 16, 300, 2048, 2049, 5000}) expect_to_sort<std::uint32_t>(3, length);
  expect_to_sort<std::uint32_t>(1500, 3);
  expect_to_sort<std::uint64_t>(2, 2500);
}

// What take_elements, apply_updates and set_updates make of x [outer, size, inner], against loops.
void expect_to_choose(const Shape& shape, const Shape& indices) {
  const IndexedAxis axis(shape, indices, 1);
  const IndexRows rows(axis);
  std::vector<std::int32_t> index = numbers_below(indices.elements(), static_cast<std::int32_t>(axis.size));
  const std::int64_t elements = axis.outer * axis.count * axis.inner;
  const std::vector<std::int32_t> x = numbers_below(shape.elements(), 1000), updates = numbers_below(elements, 999);
  const auto sorted =
      sorted_rows<std::uint32_t>(ReadIndices{index.data(), axis, rows}, rows.outer * rows.inner, axis.count);
  std::vector<std::int32_t> added = x, set = x, taken(updates.size());
  emulate(blocks, {threads, 1}, [&] { take_elements(x.data(), index.data(), taken.data(), axis, elements); });
  emulate(blocks, {threads, 1}, [&] {
    apply_updates<std::int32_t, scalar::subtract<std::int32_t>>(sorted.data(), updates.data(), added.data(), axis, rows,
                                                                elements);
  });
  emulate(blocks, {threads, 1}, [&] { set_updates(sorted.data(), updates.data(), set.data(), axis, rows, elements); });
  std::vector<std::int32_t> expected_added = x, expected_set = x, expected_taken;
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::int64_t inner = i % axis.inner, place = i / axis.inner % axis.count, outer = i / axis.inner / axis.count;
    const std::int64_t chosen =
        index[static_cast<std::size_t>(outer * axis.outer_step + place * axis.step + inner * axis.inner_step)];
    const auto at = static_cast<std::size_t>((outer * axis.size + chosen) * axis.inner + inner);
    expected_taken.push_back(x[at]);
    expected_added[at] -= updates[static_cast<std::size_t>(i)];
    expected_set[at] = updates[static_cast<std::size_t>(i)];
  }
  EXPECT_EQ(taken, expected_taken);
  EXPECT_EQ(added, expected_added);
  EXPECT_EQ(set, expected_set);
}

TEST(CudaIndexed, ReadsAndWritesWhereTheIndicesSay) {
  for (const Shape& indices : {Shape{3, 7, 4}, Shape{3, 7, 1}, Shape{1, 7, 4}, Shape{1, 7, 1}})
    expect_to_choose({3, 5, 4}, indices);
  expect_to_choose({2, 40, 1}, {2, 90, 1});
  expect_to_choose({1, 9, 3}, {1, 2100, 1});
}

TEST(CudaIndexed, LeavesIndicesOutOfRangeOut) {
  const IndexedAxis axis({1, 3, 1}, {1, 4, 1}, 1);
  const IndexRows rows(axis);
  const std::vector<std::int32_t> index = {-1, 3, 1, 1 << 30}, x = {5, 6, 7}, updates = {1, 2, 3, 4};
  const auto sorted = sorted_rows<std::uint32_t>(ReadIndices{index.data(), axis, rows}, 1, 4);
  std::vector<std::int32_t> added = x, set = x, taken(4);
  emulate(1, {threads, 1}, [&] { take_elements(x.data(), index.data(), taken.data(), axis, 4); });
  emulate(1, {threads, 1}, [&] {
    apply_updates<std::int32_t, scalar::add<std::int32_t>>(sorted.data(), updates.data(), added.data(), axis, rows, 4);
  });
  emulate(1, {threads, 1}, [&] { set_updates(sorted.data(), updates.data(), set.data(), axis, rows, 4); });
  EXPECT_EQ(taken, (std::vector<std::int32_t>{0, 0, 6, 0}));
  EXPECT_EQ(added, (std::vector<std::int32_t>{5, 9, 7}));
  EXPECT_EQ(set, (std::vector<std::int32_t>{5, 3, 7}));
}

TEST(CudaCumulative, BlocksAndThreadsComputeTheSameTotals) {
  for (const Shape& shape : {Shape{2, 1, 3}, Shape{2, 31, 3}, Shape{1, 32, 1}, Shape{3, 100, 2}, Shape{1, 131, 1}})
    for (bool reverse : {false, true}) {
      const RunningAxis axis(shape, {{"axis", std::int64_t{1}}, {"reverse", reverse}});
      const std::vector<std::int32_t> x = numbers_below(shape.elements(), 100);
      std::vector<std::int32_t> by_threads = x, by_blocks = x, expected = x;
      using Add = scalar::add<std::int32_t>;
      emulate(blocks, {threads, 1},
              [&] { run_in_threads<std::int32_t, std::int32_t, Add>(x.data(), by_threads.data(), axis); });
      emulate(blocks, {threads, 1},
              [&] { run_in_blocks<std::int32_t, std::int32_t, Add>(x.data(), by_blocks.data(), axis); });
      for (std::int64_t n = 0; n < shape.elements(); ++n) {
        const std::int64_t i = reverse ? shape.elements() - 1 - n : n, place = i / axis.inner % axis.size;
        const std::int64_t before = reverse ? i + axis.inner : i - axis.inner;
        if (place != (reverse ? axis.size - 1 : 0))
          expected[static_cast<std::size_t>(i)] += expected[static_cast<std::size_t>(before)];
      }
      EXPECT_EQ(by_threads, expected) << to_string(shape);
      EXPECT_EQ(by_blocks, expected) << to_string(shape);
    }
}

}  // namespace
}  // namespace pando::cuda
