// SPDX-License-Identifier: Apache-2.0
// Products by tiles, run on the host: each thread of a block reads, multiplies and writes what it should.
#include "tests/cuda/emulation.h"
// After the emulation.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cuda/kernels/tensor_cores.cuh"
#include "backends/cuda/kernels/tiles.cuh"

namespace pando::cuda {
namespace {

// Small whole numbers: all sums are exact, and so is their rounding to bfloat16.
std::vector<float> whole_numbers(std::int64_t count, std::int64_t seed) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(static_cast<float>((i * 37 + i / 7 * seed) % 13 - 6));
  return result;
}

// What is wrong with the product of two stored matrices: nothing if it is 0.
template <class Tile, class Sums, int width, bool a_by_depth, bool b_by_depth>
float worst_error(const ProductSizes& sizes, std::int32_t splits, bool update) {
  const std::vector<float> a_data = whole_numbers(sizes.rows * sizes.depth, 3);
  const std::vector<float> b_data = whole_numbers(sizes.columns * sizes.depth, 5);
  const std::int64_t results = sizes.rows * sizes.columns;
  const std::vector<float> parameter = whole_numbers(results, 11);
  const float rate = 0.5f;
  std::vector<float> out(static_cast<std::size_t>(results), 1e6f), partial(static_cast<std::size_t>(results * splits));
  const StoredFactor<a_by_depth> a = {a_by_depth ? sizes.depth : sizes.rows, {}};
  const StoredFactor<b_by_depth> b = {b_by_depth ? sizes.depth : sizes.columns, {}};
  ProductResult<float> result = {.out = out.data(), .row_step = sizes.columns, .partial = partial.data()};
  if (update) {
    result.parameter = parameter.data();
    result.rate = &rate;
  }
  const auto tiles = [](int size, int tile) { return static_cast<unsigned>((size + tile - 1) / tile); };
  const unsigned blocks =
      tiles(sizes.rows, Tile::rows) * tiles(sizes.columns, Tile::columns) * static_cast<unsigned>(splits);
  emulate(blocks, {Tile::threads, 1},
          [&] { multiply_tiles<float, Tile, Sums, width>(a, a_data.data(), b, b_data.data(), sizes, splits, result); });
  if (splits > 1)
    emulate(tiles(static_cast<int>(results), 32), {32, 8}, [&] { add_splits<float, 8>(sizes, splits, result); });
  float worst = 0;
  for (std::int32_t row = 0; row < sizes.rows; ++row)
    for (std::int32_t column = 0; column < sizes.columns; ++column) {
      float sum = 0;
      for (std::int32_t depth = 0; depth < sizes.depth; ++depth)
        sum += a_data[static_cast<std::size_t>(a.offset(a.line(row), a.depth(depth)))] *
               b_data[static_cast<std::size_t>(b.offset(b.line(column), b.depth(depth)))];
      const auto at = static_cast<std::size_t>(row * sizes.columns + column);
      worst = std::max(worst, std::abs((update ? parameter[at] - rate * sum : sum) - out[at]));
    }
  return worst;
}

TEST(CudaTileKernels, MultiplyMatricesThatFillNoTile) {
  using Sums = ThreadTile<float, SmallTile>;
  const ProductSizes sizes = {37, 35, 39, 1};
  EXPECT_EQ((worst_error<SmallTile, Sums, 1, true, false>(sizes, 1, false)), 0);
  EXPECT_EQ((worst_error<SmallTile, Sums, 1, false, true>(sizes, 1, false)), 0);
  EXPECT_EQ((worst_error<SmallTile, Sums, 1, true, true>(sizes, 2, false)), 0);
  EXPECT_EQ((worst_error<SmallTile, Sums, 1, false, false>(sizes, 3, true)), 0);
}

TEST(CudaTileKernels, ReadFourElementsAtATime) {
  using Sums = ThreadTile<float, SmallTile>;
  const ProductSizes sizes = {36, 40, 44, 1};
  EXPECT_EQ((worst_error<SmallTile, Sums, 4, true, false>(sizes, 1, false)), 0);
  EXPECT_EQ((worst_error<SmallTile, Sums, 4, false, true>(sizes, 2, true)), 0);
  EXPECT_EQ((worst_error<TallTile, ThreadTile<float, TallTile>, 4, true, false>({132, 36, 20, 1}, 1, false)), 0);
  EXPECT_EQ((worst_error<TallTile, ThreadTile<float, TallTile>, 4, false, true>({132, 36, 20, 1}, 1, false)), 0);
}

TEST(CudaTileKernels, MultiplyByTensorCores) {
  using Sums = WarpTile<MixedTile>;
  EXPECT_EQ((worst_error<MixedTile, Sums, 1, true, false>({67, 66, 35, 1}, 1, false)), 0);
  EXPECT_EQ((worst_error<MixedTile, Sums, 4, false, true>({68, 60, 36, 1}, 2, false)), 0);
}

}  // namespace
}  // namespace pando::cuda
