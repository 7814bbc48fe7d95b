// SPDX-License-Identifier: Apache-2.0
// The index arithmetic of the CUDA kernels, on the host: tiles cover a product once, and windows are where pooling
// says.
#include <gtest/gtest.h>

#include <vector>

#include "backends/cuda/kernels/factors.h"
#include "backends/cuda/kernels/pooling.h"
#include "backends/cuda/kernels/tiling.h"

namespace pando::cuda {
namespace {

TEST(CudaDivisor, DividesAsTheHostDoes) {
  for (std::int32_t divisor : {1, 2, 3, 5, 7, 9, 10, 26, 64, 127, 676, 65535, 65536, 0x7ffffffe, 0x7fffffff}) {
    const Divisor by(divisor);
    for (std::int64_t near : {0L, 1L, 1000L, 65536L, 0x3fffffffL, 0x7fffffffL})
      for (std::int64_t multiple : {0L, near / divisor * divisor})
        for (std::int64_t step : {-1L, 0L, 1L}) {
          const std::int64_t number = multiple + step + (multiple == 0 ? near : 0);
          if (number < 0 || number > 0x7fffffff) continue;
          auto rest = static_cast<std::int32_t>(number);
          EXPECT_EQ(by.divide(rest), number / divisor) << number << " / " << divisor;
          EXPECT_EQ(rest, number % divisor);
        }
  }
}

TEST(CudaBatchStarts, StepOverBroadcastAxes) {
  // Matrices of 6 elements in batches [2, 1, 3] of a product with batches [2, 4, 3].
  BatchStarts starts;
  starts.axes = 3;
  const std::int32_t sizes[] = {2, 4, 3};
  const std::int64_t strides[] = {18, 0, 6};
  for (int axis = 0; axis < 3; ++axis) {
    starts.sizes[axis] = Divisor(sizes[axis]);
    starts.strides[axis] = strides[axis];
  }
  for (std::int32_t i = 0; i < 24; ++i) EXPECT_EQ(starts(i), i / 12 * 18 + i % 3 * 6);
}

TEST(CudaBatchStarts, AreOneStepApartForGroups) {
  const BatchStarts starts = BatchStarts::along(5, 12);
  for (std::int32_t i = 0; i < 5; ++i) EXPECT_EQ(starts(i), i * 12);
}

TEST(CudaTiles, CoverEachResultAndItsDepthOnce) {
  using Tile = Tiling<32, 32, 4, 4>;
  for (const ProductSizes& sizes : {ProductSizes{33, 70, 49, 2}, {1, 1, 300, 1}, {32, 32, 16, 3}, {5, 6, 0, 1}})
    for (std::int32_t splits : {1, 3}) {
      std::vector<int> covered(static_cast<std::size_t>(sizes.batches * sizes.rows * sizes.columns));
      const std::int64_t tiles = sizes.batches * ((sizes.rows + 31) / 32) * ((sizes.columns + 31) / 32);
      for (std::int64_t block = 0; block < tiles * splits; ++block) {
        const TilePlace place = tile_place<Tile>(sizes, splits, block);
        // Four elements that are read at once are part of one split.
        EXPECT_EQ(place.first_depth % 4, 0);
        for (int row = place.row; row < std::min(place.row + 32, sizes.rows); ++row)
          for (int column = place.column; column < std::min(place.column + 32, sizes.columns); ++column)
            covered.at(static_cast<std::size_t>((place.batch * sizes.rows + row) * sizes.columns + column)) +=
                std::max(place.last_depth - place.first_depth, 0);
      }
      for (int depth : covered) EXPECT_EQ(depth, sizes.depth);
    }
}

TEST(CudaTiles, FillTheMultiprocessorsWhereTheDepthAllowsIt) {
  // The products of mlp and keras_cnn on 132 multiprocessors.
  EXPECT_GE(choose_tiles({32, 128, 784, 1}, 132).blocks, 66);
  EXPECT_GE(choose_tiles({9, 32, 43264, 1}, 132).blocks, 99);
  EXPECT_GE(choose_tiles({288, 64, 7744, 1}, 132).blocks, 99);
  for (bool tf32 : {false, true}) EXPECT_GE(choose_mixed_tiles({288, 64, 7744, 1}, 132, tf32).blocks, 99);
  // Large matrices are not split.
  EXPECT_EQ(choose_tiles({4096, 4096, 4096, 1}, 132).splits, 1);
  EXPECT_EQ(choose_tiles({4096, 4096, 4096, 1}, 132).tile, TileKind::large);
  // Nothing to compute needs no block.
  EXPECT_EQ(choose_tiles({0, 5, 4, 1}, 132).blocks, 0);
}

TEST(CudaTiles, AreNotForConvolutionsOfEachChannelByItself) {
  EXPECT_TRUE(suits_elements({64 * 28 * 28, 1, 9, 32}));
  // With one group, with groups of many filters, and with sums over all pixels.
  EXPECT_FALSE(suits_elements({64 * 28 * 28, 1, 9, 1}));
  EXPECT_FALSE(suits_elements({64 * 28 * 28, 16, 9, 2}));
  EXPECT_FALSE(suits_elements({9, 1, 64 * 28 * 28, 32}));
}

TEST(CudaPooling, FindsTheWindowsOverAPlaceThatTheWindowsSay) {
  Pooling p;
  p.images = 1;
  p.channels = 1;
  for (int axis : {0, 1}) {
    p.sizes[axis] = 9 - axis;
    p.kernel[axis] = 3;
    p.strides[axis] = 2 - axis;
    p.before[axis] = 1;
    p.after[axis] = axis;
    p.pooled[axis] = (p.sizes[axis] + p.before[axis] + p.after[axis] - p.kernel[axis]) / p.strides[axis] + 1;
  }
  p.prepare();
  for (int axis : {0, 1})
    for (std::int32_t place = 0; place < p.sizes[axis]; ++place)
      for (std::int32_t window = 0; window < p.pooled[axis]; ++window) {
        const WindowRange inside = p.window(axis, window), over = p.windows_over(axis, place);
        EXPECT_EQ(inside.first <= place && place < inside.last, over.first <= window && window < over.last)
            << "axis " << axis << ", place " << place << ", window " << window;
      }
  EXPECT_EQ(p.places(0, 0, false), 4);
  EXPECT_EQ(p.places(0, 0, true), 9);
}

}  // namespace
}  // namespace pando::cuda
