// SPDX-License-Identifier: Apache-2.0
// The index arithmetic of the CUDA kernels, on the host: what a product of the factors of a convolution gives must be
// the convolution.
#include "backends/cuda/kernels/factors.h"

#include <gtest/gtest.h>

#include <vector>

#include "backends/cuda/kernels/pooled_factors.h"
#include "backends/cuda/kernels/tiling.h"

namespace pando::cuda {
namespace {

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

// Windows that do not overlap, with gaps and a border, over the result of a convolution.
Pooling pooling_over(const Convolution& c) {
  Pooling p;
  p.images = narrow_size(c.batch);
  p.channels = c.geometry.filters;
  const std::int32_t sizes[] = {c.geometry.rows, c.geometry.columns};
  for (int axis : {0, 1}) {
    p.sizes[axis] = sizes[axis];
    p.kernel[axis] = 2 - axis;
    p.strides[axis] = 2 + axis;
    p.before[axis] = 1 - axis;
    p.pooled[axis] = (p.sizes[axis] + p.before[axis] - p.kernel[axis]) / p.strides[axis] + 1;
  }
  p.prepare();
  return p;
}

// The gradient of the convolution, from that of the pooled images and the positions.
std::vector<double> unpooled(const Pooling& p, const std::vector<double>& dy,
                             const std::vector<std::uint8_t>& positions) {
  std::vector<double> result(static_cast<std::size_t>(p.elements()));
  for (std::int32_t i = 0; i < p.results(); ++i) {
    const PooledPlace place = p.result(i);
    const std::int64_t position = positions[static_cast<std::size_t>(i)];
    const std::int64_t row = p.start(0, place.row) + position / p.kernel[1];
    const std::int64_t column = p.start(1, place.column) + position % p.kernel[1];
    if (row < 0 || row >= p.sizes[0] || column < 0 || column >= p.sizes[1]) continue;
    result[static_cast<std::size_t>(((place.image * p.sizes[0] + row) * p.sizes[1] + column) * p.channels +
                                    place.channel)] = dy[static_cast<std::size_t>(i)];
  }
  return result;
}

// A factor through positions reads what `offset` of the plain one reads from the gradient of the convolution.
template <class Pooled, class Plain>
void expect_same_elements(const Pooled& pooled, const std::vector<double>& dy,
                          const std::vector<std::uint8_t>& positions, const Plain& plain,
                          const std::vector<double>& gradient, std::int32_t lines, std::int32_t depths) {
  for (std::int32_t line = 0; line < lines; ++line)
    for (std::int32_t depth = 0; depth < depths; ++depth) {
      const PooledElement element = pooled.element(pooled.line(line), pooled.depth(depth));
      const auto at = static_cast<std::size_t>(element.offset);
      const double value = element.offset >= 0 && positions.at(at) == element.position ? dy.at(at) : 0;
      const std::int64_t offset = plain.offset(plain.line(line), plain.depth(depth));
      EXPECT_EQ(value, offset >= 0 ? gradient.at(static_cast<std::size_t>(offset)) : 0) << line << ", " << depth;
    }
}

TEST(CudaPooledFactors, ReadTheGradientOfTheConvolutionThroughPositions) {
  for (const Convolution& c :
       {convolution(2, 6, 7, 3, 4, 2, 1, 1, 0, 0, 1), convolution(2, 7, 9, 2, 5, 3, 1, 1, 1, 2, 1)}) {
    Convolution plain = c;
    // The gradient of the images is made for strides of 1.
    plain.geometry.strides[1] = 1;
    plain.geometry.columns = c.geometry.width + 2 * plain.geometry.before[1] - c.geometry.kernel[1] + 1;
    const ConvolutionGeometry& g = plain.geometry;
    const Pooling p = pooling_over(plain);
    const auto dy = numbers(p.results(), 7);
    std::vector<std::uint8_t> positions;
    for (std::int32_t i = 0; i < p.results(); ++i) positions.push_back(static_cast<std::uint8_t>(i % 2));
    const auto gradient = unpooled(p, dy, positions);
    expect_same_elements(PooledGradientSource(g, p), dy, positions, GradientSource(g), gradient,
                         narrow_size(plain.inputs() / g.channels), narrow_size(plain.taps() * g.filters));
    expect_same_elements(PooledGradientMatrix(g, p), dy, positions, by_groups(g), gradient, g.filters,
                         narrow_size(plain.results() / g.filters));
  }
}

TEST(CudaPooledFactors, PutTheFourPixelsOfAWindowSideBySide) {
  const Convolution c = convolution(2, 6, 11, 3, 4, 2, 1, 1, 0, 0, 1);
  const ConvolutionGeometry& g = c.geometry;
  const std::int32_t rows = g.rows / 2, columns = g.columns / 2;
  const PooledSource pooled(g, rows, columns);
  const ConvolutionSource<false> plain(g);
  for (std::int32_t i = 0; i < 2 * rows * columns * 4; ++i) {
    const std::int32_t window = i / 4, image = window / (rows * columns), in_image = window % (rows * columns);
    const std::int32_t row = in_image / columns * 2 + i % 4 / 2, column = in_image % columns * 2 + i % 2;
    const std::int32_t pixel = (image * g.rows + row) * g.columns + column;
    for (std::int32_t depth = 0; depth < c.taps() * g.channels; ++depth)
      EXPECT_EQ(pooled.offset(pooled.line(i), pooled.depth(depth)),
                plain.offset(plain.line(pixel), plain.depth(depth)));
  }
}

}  // namespace
}  // namespace pando::cuda
