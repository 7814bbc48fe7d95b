// SPDX-License-Identifier: Apache-2.0
// What kernels read four elements at a time must be four elements side by side, on a multiple of four.
#include <gtest/gtest.h>

#include "backends/cuda/kernels/pooled_factors.h"

namespace pando::cuda {
namespace {

// Where an element is; through positions, where its value is.
template <class Factor>
std::int64_t place_of(const Factor& factor, std::int32_t line, std::int32_t depth) {
  if constexpr (requires { factor.positions; }) return factor.element(factor.line(line), factor.depth(depth)).offset;
  else return factor.offset(factor.line(line), factor.depth(depth));
}

// Whether all fours of a factor can be read at once.
template <class Factor>
bool has_fours(const Factor& factor, std::int32_t lines, std::int32_t depths, std::int32_t batches) {
  constexpr bool by_depth = Factor::contiguous_depth;
  if ((by_depth ? depths : lines) % 4 != 0) return false;
  for (std::int32_t batch = 0; batch < batches; ++batch)
    if (factor.start(batch) % 4 != 0) return false;
  for (std::int32_t line = 0; line < lines; line += by_depth ? 1 : 4)
    for (std::int32_t depth = 0; depth < depths; depth += by_depth ? 4 : 1) {
      const std::int64_t first = place_of(factor, line, depth);
      if (first >= 0 && first % 4 != 0) return false;
      for (std::int32_t i = 1; i < 4; ++i) {
        const std::int64_t next = place_of(factor, line + (by_depth ? 0 : i), depth + (by_depth ? i : 0));
        if (next != (first < 0 ? first : first + i)) return false;
      }
    }
  return true;
}

// A factor says so if it is so, and only then.
template <class Factor>
void expect_fours(const Factor& factor, std::int32_t lines, std::int32_t depths, std::int32_t batches, bool expected) {
  EXPECT_EQ(factor.in_fours(lines, depths), expected) << lines << " lines, " << depths << " depths";
  if (expected) {
    EXPECT_TRUE(has_fours(factor, lines, depths, batches)) << lines << " lines, " << depths << " depths";
  }
}

BatchStarts starts_of(std::int64_t stride) {
  BatchStarts starts;
  starts.axes = 1;
  starts.sizes[0] = Divisor(3);
  starts.strides[0] = stride;
  return starts;
}

TEST(CudaFours, OfStoredMatricesNeedEvenRows) {
  for (std::int32_t size : {1, 2, 3, 4, 6, 8, 10, 12}) {
    const bool even = size % 4 == 0;
    expect_fours(StoredFactor<true>{size, {}}, 5, size, 1, even);
    expect_fours(StoredFactor<false>{size, {}}, size, 5, 1, even);
    expect_fours(StoredFactor<true>{size, starts_of(5 * size)}, 5, size, 3, even);
    // Matrices of a batch may begin anywhere.
    expect_fours(StoredFactor<true>{size, starts_of(5 * size + 1)}, 5, size, 3, false);
  }
  // A part of longer rows.
  expect_fours(StoredFactor<false>{10, {}}, 8, 5, 1, false);
  expect_fours(StoredFactor<true>{12, {}}, 5, 6, 1, false);
}

ConvolutionGeometry geometry_of(std::int32_t channels, std::int32_t filters, std::int32_t groups) {
  ConvolutionGeometry g;
  g.height = 7;
  g.width = 6;
  g.rows = 6;
  g.columns = 5;
  g.channels = channels;
  g.filters = filters;
  g.groups = groups;
  for (int axis : {0, 1}) {
    g.kernel[axis] = 4 - axis;
    g.before[axis] = 1;
  }
  return g;
}

TEST(CudaFours, OfConvolutionsNeedFoursOfChannelsInEachGroup) {
  for (std::int32_t groups : {1, 2})
    for (std::int32_t channels : {1, 2, 3, 4, 6, 8})
      for (std::int32_t filters : {1, 4, 5, 6, 8}) {
        const ConvolutionGeometry g = geometry_of(channels * groups, filters * groups, groups);
        const std::int32_t pixels = 2 * g.rows * g.columns, taps = g.kernel[0] * g.kernel[1];
        expect_fours(ConvolutionSource<false>(g), pixels, taps * channels, groups, channels % 4 == 0);
        expect_fours(ConvolutionSource<true>(g), taps * channels, pixels, groups, channels % 4 == 0);
        expect_fours(GradientSource(g), 2 * g.height * g.width, taps * filters, groups, filters % 4 == 0);
        expect_fours(TransposedFilter(g), channels, taps * filters, groups, filters % 4 == 0);
        expect_fours(by_groups(g), filters, pixels, groups, filters % 4 == 0);
      }
}

TEST(CudaFours, ThroughPositionsNeedFoursOfFilters) {
  for (std::int32_t filters : {1, 4, 5, 6, 8}) {
    const ConvolutionGeometry g = geometry_of(3, filters, 1);
    Pooling pooling;
    pooling.images = 2;
    pooling.channels = filters;
    for (int axis : {0, 1}) {
      pooling.sizes[axis] = axis == 0 ? g.rows : g.columns;
      pooling.kernel[axis] = pooling.strides[axis] = 2;
      pooling.pooled[axis] = pooling.sizes[axis] / 2;
    }
    pooling.prepare();
    const std::int32_t pixels = 2 * g.rows * g.columns, taps = g.kernel[0] * g.kernel[1];
    expect_fours(PooledGradientSource(g, pooling), 2 * g.height * g.width, taps * filters, 1, filters % 4 == 0);
    expect_fours(PooledGradientMatrix(g, pooling), filters, pixels, 1, filters % 4 == 0);
  }
}

}  // namespace
}  // namespace pando::cuda
