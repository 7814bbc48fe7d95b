// SPDX-License-Identifier: Apache-2.0
// The index arithmetic of the CUDA kernels, on the host: what a product of the factors of a convolution gives must be
// the convolution, and the tiles must cover a product once.
#include "backends/cuda/kernels/factors.h"

#include <gtest/gtest.h>

#include <vector>

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

struct Convolution {
  std::int64_t batch;
  ConvolutionGeometry geometry;
  std::int64_t inputs() const { return batch * geometry.height * geometry.width * geometry.channels; }
  std::int64_t results() const { return batch * geometry.rows * geometry.columns * geometry.filters; }
  std::int64_t taps() const { return geometry.kernel[0] * geometry.kernel[1]; }
  std::int64_t weights() const { return taps() * geometry.group_channels() * geometry.filters; }
};

Convolution convolution(std::int64_t batch, std::int32_t height, std::int32_t width, std::int32_t channels,
                        std::int32_t filters, std::int32_t kernel, std::int32_t stride, std::int32_t dilation,
                        std::int32_t before, std::int32_t after, std::int32_t groups) {
  ConvolutionGeometry g;
  g.height = height;
  g.width = width;
  g.channels = channels;
  g.filters = filters;
  g.groups = groups;
  // Unlike rows and columns, so that none is taken for the other.
  const std::int32_t kernels[] = {kernel, kernel + 1}, dilations[] = {dilation, 1}, strides[] = {stride, stride + 1};
  for (int axis : {0, 1}) {
    g.kernel[axis] = kernels[axis];
    g.strides[axis] = strides[axis];
    g.dilations[axis] = dilations[axis];
    g.before[axis] = before + axis;
  }
  g.rows = (height + before + after - (kernels[0] - 1) * dilations[0] - 1) / strides[0] + 1;
  g.columns = (width + before + 1 + after - (kernels[1] - 1) - 1) / strides[1] + 1;
  return {batch, g};
}

std::vector<Convolution> convolutions() {
  return {convolution(2, 6, 7, 3, 4, 2, 1, 1, 0, 0, 1), convolution(1, 1, 2, 1, 1, 1, 1, 1, 0, 0, 1),
          convolution(2, 9, 8, 4, 6, 3, 2, 1, 1, 1, 2), convolution(2, 8, 9, 6, 12, 2, 1, 3, 2, 0, 6),
          convolution(3, 7, 7, 2, 2, 3, 3, 2, 2, 1, 1)};
}

// Small whole numbers, so that all sums are exact.
std::vector<double> numbers(std::int64_t count, int seed) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(static_cast<double>((i * 7 + seed * 5 + i / 3) % 11) - 5);
  return result;
}

// Calls visit(input element, weight, result element) for each multiplication of a convolution.
template <class Visit>
void for_products(const Convolution& c, Visit visit) {
  const ConvolutionGeometry& g = c.geometry;
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t row = 0; row < g.rows; ++row)
      for (std::int64_t column = 0; column < g.columns; ++column)
        for (std::int64_t f = 0; f < g.filters; ++f)
          for (std::int64_t i = 0; i < g.kernel[0]; ++i)
            for (std::int64_t j = 0; j < g.kernel[1]; ++j)
              for (std::int64_t k = 0; k < g.group_channels(); ++k) {
                const std::int64_t y = row * g.strides[0] - g.before[0] + i * g.dilations[0];
                const std::int64_t x = column * g.strides[1] - g.before[1] + j * g.dilations[1];
                if (y < 0 || y >= g.height || x < 0 || x >= g.width) continue;
                const std::int64_t channel = f / g.group_filters() * g.group_channels() + k;
                visit(((n * g.height + y) * g.width + x) * g.channels + channel,
                      ((i * g.kernel[1] + j) * g.group_channels() + k) * g.filters + f,
                      ((n * g.rows + row) * g.columns + column) * g.filters + f);
              }
}

// What the kernels compute: rows of a times columns of b, over the depth, in the layout of conv.cu.
template <class A, class B>
std::vector<double> multiply(const A& a, const std::vector<double>& a_data, const B& b,
                             const std::vector<double>& b_data, const ProductSizes& sizes, std::int64_t batch_step,
                             std::int64_t row_step, std::int64_t results) {
  std::vector<double> out(static_cast<std::size_t>(results), 1e9);
  for (std::int32_t batch = 0; batch < sizes.batches; ++batch)
    for (std::int32_t row = 0; row < sizes.rows; ++row)
      for (std::int32_t column = 0; column < sizes.columns; ++column) {
        double sum = 0;
        for (std::int32_t depth = 0; depth < sizes.depth; ++depth) {
          const std::int64_t from_a = a.offset(a.line(row), a.depth(depth)),
                             from_b = b.offset(b.line(column), b.depth(depth));
          if (from_a >= 0 && from_b >= 0)
            sum += a_data.at(static_cast<std::size_t>(from_a + a.start(batch))) *
                   b_data.at(static_cast<std::size_t>(from_b + b.start(batch)));
        }
        out.at(static_cast<std::size_t>(batch * batch_step + row * row_step + column)) = sum;
      }
  return out;
}

StoredFactor<false> by_groups(const ConvolutionGeometry& g) {
  StoredFactor<false> factor;
  factor.step = g.filters;
  factor.starts.axes = 1;
  factor.starts.sizes[0] = Divisor(g.groups);
  factor.starts.strides[0] = g.group_filters();
  return factor;
}

std::int32_t narrow_size(std::int64_t size) { return static_cast<std::int32_t>(size); }

TEST(CudaFactors, MakeAConvolution) {
  for (const Convolution& c : convolutions()) {
    const ConvolutionGeometry& g = c.geometry;
    const auto x = numbers(c.inputs(), 1), w = numbers(c.weights(), 2);
    std::vector<double> expected(static_cast<std::size_t>(c.results()));
    for_products(c, [&](auto in, auto weight, auto result) {
      expected[static_cast<std::size_t>(result)] +=
          x[static_cast<std::size_t>(in)] * w[static_cast<std::size_t>(weight)];
    });
    const ProductSizes sizes = {narrow_size(c.results() / g.filters), g.group_filters(),
                                narrow_size(c.taps() * g.group_channels()), g.groups};
    EXPECT_EQ(
        multiply(ConvolutionSource<false>(g), x, by_groups(g), w, sizes, g.group_filters(), g.filters, c.results()),
        expected);
  }
}

TEST(CudaFactors, MakeTheGradientOfTheImages) {
  for (const Convolution& c : convolutions()) {
    const ConvolutionGeometry& g = c.geometry;
    const auto dy = numbers(c.results(), 3), w = numbers(c.weights(), 4);
    std::vector<double> expected(static_cast<std::size_t>(c.inputs()));
    for_products(c, [&](auto in, auto weight, auto result) {
      expected[static_cast<std::size_t>(in)] +=
          dy[static_cast<std::size_t>(result)] * w[static_cast<std::size_t>(weight)];
    });
    const ProductSizes sizes = {narrow_size(c.inputs() / g.channels), g.group_channels(),
                                narrow_size(c.taps() * g.group_filters()), g.groups};
    EXPECT_EQ(
        multiply(GradientSource(g), dy, TransposedFilter(g), w, sizes, g.group_channels(), g.channels, c.inputs()),
        expected);
  }
}

TEST(CudaFactors, MakeTheGradientOfTheFilter) {
  for (const Convolution& c : convolutions()) {
    const ConvolutionGeometry& g = c.geometry;
    const auto x = numbers(c.inputs(), 5), dy = numbers(c.results(), 6);
    std::vector<double> expected(static_cast<std::size_t>(c.weights()));
    for_products(c, [&](auto in, auto weight, auto result) {
      expected[static_cast<std::size_t>(weight)] +=
          x[static_cast<std::size_t>(in)] * dy[static_cast<std::size_t>(result)];
    });
    const ProductSizes sizes = {narrow_size(c.taps() * g.group_channels()), g.group_filters(),
                                narrow_size(c.results() / g.filters), g.groups};
    EXPECT_EQ(
        multiply(ConvolutionSource<true>(g), x, by_groups(g), dy, sizes, g.group_filters(), g.filters, c.weights()),
        expected);
  }
}

TEST(CudaTiles, CoverEachResultAndItsDepthOnce) {
  using Tile = Tiling<32, 32, 4, 4>;
  for (const ProductSizes& sizes : {ProductSizes{33, 70, 49, 2}, {1, 1, 300, 1}, {32, 32, 16, 3}, {5, 6, 0, 1}})
    for (std::int32_t splits : {1, 3}) {
      std::vector<int> covered(static_cast<std::size_t>(sizes.batches * sizes.rows * sizes.columns));
      const std::int64_t tiles = sizes.batches * ((sizes.rows + 31) / 32) * ((sizes.columns + 31) / 32);
      for (std::int64_t block = 0; block < tiles * splits; ++block) {
        const TilePlace place = tile_place<Tile>(sizes, splits, block);
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
  EXPECT_GE(choose_mixed_tiles({288, 64, 7744, 1}, 132).blocks, 99);
  // Large matrices are not split.
  EXPECT_EQ(choose_tiles({4096, 4096, 4096, 1}, 132).splits, 1);
  EXPECT_EQ(choose_tiles({4096, 4096, 4096, 1}, 132).tile, TileKind::large);
  // Nothing to compute is no block.
  EXPECT_EQ(choose_tiles({0, 5, 4, 1}, 132).blocks, 0);
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
  for (int axis : {0, 1})
    for (std::int64_t place = 0; place < p.sizes[axis]; ++place)
      for (std::int64_t window = 0; window < p.pooled[axis]; ++window) {
        const WindowRange inside = p.window(axis, window), over = p.windows_over(axis, place);
        EXPECT_EQ(inside.first <= place && place < inside.last, over.first <= window && window < over.last)
            << "axis " << axis << ", place " << place << ", window " << window;
      }
  EXPECT_EQ(p.places(0, 0, false), 4);
  EXPECT_EQ(p.places(0, 0, true), 9);
}

}  // namespace
}  // namespace pando::cuda
