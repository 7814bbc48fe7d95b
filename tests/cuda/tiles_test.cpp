// SPDX-License-Identifier: Apache-2.0
// Products by tiles, run on the host: each thread of a block reads, multiplies and writes what it should.
#include "tests/cuda/emulation.h"
// After the emulation.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cuda/kernels/pooled_factors.h"
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

TEST(CudaTileKernels, MultiplyByTensorCoresInTf32) {
  using Sums = WarpTile<Tf32Tile, Tf32Factors>;
  EXPECT_EQ((worst_error<Tf32Tile, Sums, 1, true, false>({67, 66, 35, 1}, 1, false)), 0);
  EXPECT_EQ((worst_error<Tf32Tile, Sums, 4, false, true>({68, 60, 36, 1}, 2, false)), 0);
}

// The heads of an attention: the rows of all of them meet in the rows of the result.
TEST(CudaTileKernels, WriteTheRowsOfABatchOfMatricesInTurns) {
  const ProductSizes sizes = {5, 6, 40, 3};
  const auto matrix = sizes.rows * sizes.columns;
  const StoredFactor<true> a = {sizes.depth, BatchStarts::along(3, sizes.rows * sizes.depth)};
  const StoredFactor<false> b = {sizes.columns, BatchStarts::along(3, sizes.columns * sizes.depth)};
  const std::vector<float> a_data = whole_numbers(3 * sizes.rows * sizes.depth, 3);
  const std::vector<float> b_data = whole_numbers(3 * sizes.columns * sizes.depth, 5);
  for (std::int32_t splits : {1, 2}) {
    std::vector<float> in_order(static_cast<std::size_t>(3 * matrix)),
        in_turns = in_order, partial(static_cast<std::size_t>(3 * matrix * splits));
    const auto multiply = [&](const ProductResult<float>& result) {
      emulate(3 * static_cast<unsigned>(splits), {SmallTile::threads, 1}, [&] {
        multiply_tiles<float, SmallTile, ThreadTile<float, SmallTile>, 1>(a, a_data.data(), b, b_data.data(), sizes,
                                                                          splits, result);
      });
      if (splits > 1) emulate((3 * matrix + 31) / 32, {32, 8}, [&] { add_splits<float, 8>(sizes, splits, result); });
    };
    multiply({in_order.data(), BatchStarts::along(3, matrix), sizes.columns, nullptr, nullptr, partial.data()});
    multiply(
        {in_turns.data(), BatchStarts::along(3, sizes.columns), 3 * sizes.columns, nullptr, nullptr, partial.data()});
    for (std::int32_t head = 0; head < 3; ++head)
      for (std::int32_t row = 0; row < sizes.rows; ++row)
        for (std::int32_t column = 0; column < sizes.columns; ++column)
          EXPECT_EQ(in_turns[static_cast<std::size_t>((row * 3 + head) * sizes.columns + column)],
                    in_order[static_cast<std::size_t>(head * matrix + row * sizes.columns + column)]);
  }
}

TEST(CudaTileKernels, AddABiasAndTakeRelu) {
  const ProductSizes sizes = {33, 34, 20, 1};
  const StoredFactor<true> a = {sizes.depth, {}};
  const StoredFactor<false> b = {sizes.columns, {}};
  const std::vector<float> a_data = whole_numbers(sizes.rows * sizes.depth, 3);
  const std::vector<float> b_data = whole_numbers(sizes.columns * sizes.depth, 5),
                           bias = whole_numbers(sizes.columns, 7);
  std::vector<float> plain(static_cast<std::size_t>(sizes.rows * sizes.columns)), out = plain;
  const auto multiply = [&](const ProductResult<float>& result) {
    emulate(4, {SmallTile::threads, 1}, [&] {
      multiply_tiles<float, SmallTile, ThreadTile<float, SmallTile>, 1>(a, a_data.data(), b, b_data.data(), sizes, 1,
                                                                        result);
    });
  };
  multiply({.out = plain.data(), .row_step = sizes.columns});
  for (bool relu : {false, true}) {
    multiply({.out = out.data(), .row_step = sizes.columns, .bias = {bias.data(), relu}});
    for (std::size_t i = 0; i < out.size(); ++i) {
      const float sum = plain[i] + bias[i % static_cast<std::size_t>(sizes.columns)];
      EXPECT_EQ(out[i], relu ? std::max(sum, 0.0f) : sum);
    }
  }
}

ConvolutionGeometry small_convolution() {
  ConvolutionGeometry g;
  g.height = 9;
  g.width = 8;
  g.rows = 8;
  g.columns = 6;
  g.channels = 4;
  g.filters = 8;
  g.kernel[0] = 4;
  g.kernel[1] = 3;
  g.before[0] = 1;
  return g;
}
constexpr std::int32_t image_count = 2;

// The convolution itself, by one thread for each element.
std::vector<float> convolve(const ConvolutionGeometry& g, const std::vector<float>& x,
                            const std::vector<float>& filter) {
  const ProductSizes sizes = {image_count * g.rows * g.columns, g.filters, g.kernel[0] * g.kernel[1] * g.channels, 1};
  std::vector<float> y(static_cast<std::size_t>(sizes.rows * sizes.columns));
  const ProductResult<float> result = {.out = y.data(), .row_step = g.filters};
  emulate(3, {64, 1}, [&] {
    multiply_elements<float>(ConvolutionSource<false>(g), x.data(), by_groups(g), filter.data(), sizes, result);
  });
  return y;
}

template <int width>
void expect_pooled_convolution() {
  const ConvolutionGeometry g = small_convolution();
  const std::vector<float> x = whole_numbers(image_count * g.height * g.width * g.channels, 3);
  const std::vector<float> filter = whole_numbers(g.kernel[0] * g.kernel[1] * g.channels * g.filters, 5);
  const std::vector<float> y = convolve(g, x, filter), bias = whole_numbers(g.filters, 7);
  const std::int32_t rows = g.rows / 2, columns = g.columns / 2, windows = image_count * rows * columns;
  const ProductSizes sizes = {windows * 4, g.filters, g.kernel[0] * g.kernel[1] * g.channels, 1};
  std::vector<float> values(static_cast<std::size_t>(windows * g.filters));
  std::vector<std::uint8_t> positions(values.size(), 9);
  const PooledResult<float> result = {values.data(), positions.data(), {}, g.filters, {bias.data(), false}};
  emulate(static_cast<unsigned>((sizes.rows + 31) / 32), {SmallTile::threads, 1}, [&] {
    multiply_tiles<float, SmallTile, ThreadTile<float, SmallTile>, width>(
        PooledSource(g, rows, columns), x.data(), by_groups(g), filter.data(), sizes, 1, result);
  });
  for (std::int32_t window = 0; window < windows; ++window)
    for (std::int32_t f = 0; f < g.filters; ++f) {
      const std::int32_t image = window / (rows * columns), row = window / columns % rows * 2,
                         column = window % columns * 2;
      float largest = -1e9f;
      int position = 0;
      for (int i = 0; i < 4; ++i) {
        const std::int32_t pixel = (image * g.rows + row + i / 2) * g.columns + column + i % 2;
        const float value = y[static_cast<std::size_t>(pixel * g.filters + f)];
        if (value > largest) position = i;
        largest = std::max(largest, value);
      }
      const auto at = static_cast<std::size_t>(window * g.filters + f);
      EXPECT_EQ(values[at], largest + bias[static_cast<std::size_t>(f)]);
      EXPECT_EQ(positions[at], position);
    }
}

TEST(CudaTileKernels, PoolWhatTheyConvolve) {
  expect_pooled_convolution<1>();
  expect_pooled_convolution<4>();
}

// The gradient of the filter, from that of the pooled images and positions: the same as from the dense gradient.
template <int width>
void expect_gradient_through_positions() {
  const ConvolutionGeometry g = small_convolution();
  Pooling p;
  p.images = image_count;
  p.channels = g.filters;
  for (int axis : {0, 1}) {
    p.sizes[axis] = axis == 0 ? g.rows : g.columns;
    p.kernel[axis] = p.strides[axis] = 2;
    p.pooled[axis] = p.sizes[axis] / 2;
  }
  p.prepare();
  const std::vector<float> x = whole_numbers(image_count * g.height * g.width * g.channels, 3);
  const std::vector<float> dy = whole_numbers(p.results(), 5);
  std::vector<std::uint8_t> positions;
  std::vector<float> dense(static_cast<std::size_t>(p.elements()));
  for (std::int32_t i = 0; i < p.results(); ++i) {
    positions.push_back(static_cast<std::uint8_t>(i * 7 % 4));
    const PooledPlace place = p.result(i);
    const std::int32_t row = 2 * place.row + positions.back() / 2, column = 2 * place.column + positions.back() % 2;
    dense[static_cast<std::size_t>(((place.image * g.rows + row) * g.columns + column) * g.filters + place.channel)] =
        dy[static_cast<std::size_t>(i)];
  }
  const ProductSizes sizes = {g.kernel[0] * g.kernel[1] * g.channels, g.filters, image_count * g.rows * g.columns, 1};
  PooledGradientMatrix through(g, p);
  through.positions = positions.data();
  std::vector<float> expected(static_cast<std::size_t>(sizes.rows * sizes.columns)), out = expected;
  const auto multiply = [&](const auto& gradient, const float* data, std::vector<float>& to) {
    const ProductResult<float> result = {.out = to.data(), .row_step = g.filters};
    emulate(static_cast<unsigned>((sizes.rows + 31) / 32), {SmallTile::threads, 1}, [&] {
      multiply_tiles<float, SmallTile, ThreadTile<float, SmallTile>, width>(ConvolutionSource<true>(g), x.data(),
                                                                            gradient, data, sizes, 1, result);
    });
  };
  multiply(by_groups(g), dense.data(), expected);
  multiply(through, dy.data(), out);
  EXPECT_EQ(out, expected);
}

TEST(CudaTileKernels, ReadGradientsThroughPositions) {
  expect_gradient_through_positions<1>();
  expect_gradient_through_positions<4>();
}

}  // namespace
}  // namespace pando::cuda
