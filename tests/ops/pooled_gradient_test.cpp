// SPDX-License-Identifier: Apache-2.0
// The gradients of a convolution before a max pooling leave out additions of zero, and nothing else: they have the bits
// of the gradients that read the scattered gradient with its zeros.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "graph/op_definition.h"
#include "tests/ops/running.h"

namespace pando::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

struct Network {
  Shape x, filter;
  std::array<std::int64_t, 4> padding = {};
  Geometry pool = {.kernel = {2, 2}, .strides = {2, 2}};
};

// Channels and filters that fill vectors and do not, odd sizes that the pooling leaves a rest of, paddings, gaps
// between windows, narrow images, one or several runs of pixels, sums that are split between taps, filters whose sums
// of all runs stay in the caches of three tiles but not of two, filters so large that images are taken together, and so
// few products that the weight gradient makes the zeros itself, with vectors of filters and of channels.
const std::vector<Network> networks = {
    {{1, 9, 11, 1}, {3, 3, 1, 8}},
    {{3, 13, 13, 32}, {3, 3, 32, 64}},
    {{3, 8, 7, 3}, {3, 3, 3, 32}, {1, 1, 1, 1}},
    {{5, 14, 14, 6}, {5, 5, 6, 16}},
    {{1, 11, 12, 16}, {3, 3, 16, 17}, {2, 0, 1, 2}},
    {{2, 7, 9, 17}, {2, 3, 17, 33}, {1, 0, 0, 1}, {.kernel = {3, 2}, .strides = {3, 3}, .padding = {1, 0, 1, 0}}},
    {{1, 10, 10, 96}, {3, 3, 96, 48}, {1, 1, 1, 1}},
    {{3, 4, 5, 16}, {3, 3, 16, 16}, {1, 1, 1, 1}},
    {{1, 33, 37, 4}, {3, 3, 4, 6}, {1, 1, 1, 1}},
    {{1, 12, 11, 8}, {3, 3, 8, 256}, {1, 1, 1, 1}},
    {{2, 12, 11, 8}, {1, 1, 8, 40}},
    {{4, 16, 16, 128}, {3, 3, 128, 128}, {1, 1, 1, 1}},
    {{5, 4, 4, 96}, {3, 3, 96, 320}, {1, 1, 1, 1}},
    {{2, 33, 37, 1}, {3, 3, 1, 32}, {1, 1, 1, 1}},
    {{7, 11, 13, 1}, {3, 3, 1, 17}, {}, {.kernel = {2, 2}, .strides = {3, 3}, .padding = {1, 0, 1, 0}}},
    {{3, 9, 8, 16}, {1, 1, 16, 8}}};

Shape convolved_by(const Network& n) {
  const Geometry g = {.kernel = {n.filter[0], n.filter[1]}, .padding = n.padding};
  return {n.x[0], g.output_size(0, n.x[1]), g.output_size(1, n.x[2]), n.filter[3]};
}

Shape pooled_by(const Network& n) {
  const Shape y = convolved_by(n);
  return {y[0], n.pool.output_size(0, y[1]), n.pool.output_size(1, y[2]), y[3]};
}

// Four gradients: of the filter and the images, each with and without the zeros.
void build(Graph& graph, const Network& n, DType dtype) {
  const Shape convolved = convolved_by(n);
  const Value x = ops::input(graph, "x", dtype, n.x), filter = ops::input(graph, "filter", dtype, n.filter);
  const Value y = ops::input(graph, "y", dtype, convolved);
  const Attributes pool = {
      {"window", list(n.pool.kernel)}, {"strides", list(n.pool.strides)}, {"padding", list(n.pool.padding)}};
  const Value positions = graph.add(definitions::max_pool, {y}, pool)[1];
  const Value dy = ops::input(graph, "dy", dtype, pooled_by(n));
  Attributes scatter = pool, of_filter = {{"padding", list(n.padding)}}, of_images = of_filter;
  scatter.set("input_size", Integers{convolved[1], convolved[2]});
  of_filter.set("kernel_size", Integers{n.filter[0], n.filter[1]});
  of_images.set("input_size", Integers{n.x[1], n.x[2]});
  const Value dense = graph.add(definitions::max_pool_gradient, {dy, positions}, scatter)[0];
  graph.add_output("dense_filter", graph.add(definitions::conv2d_weight_gradient, {x, dense}, of_filter)[0]);
  graph.add_output("dense_images", graph.add(definitions::conv2d_input_gradient, {dense, filter}, of_images)[0]);
  for (const char* name : {"window", "strides", "padding"})
    for (Attributes* attributes : {&of_filter, &of_images})
      attributes->set(std::string("pool_") + name, pool.integers(name));
  graph.add_output("sparse_filter",
                   graph.add(definitions::conv2d_max_pool_weight_gradient, {x, dy, positions}, of_filter)[0]);
  graph.add_output("sparse_images",
                   graph.add(definitions::conv2d_max_pool_input_gradient, {dy, filter, positions}, of_images)[0]);
}

Feeds feeds_of(const Network& n, const Domain& gradients, DType dtype) {
  Generator generator("pooled gradient", 1);
  // Many pixels of a window are equal.
  const Domain ties = listed({1, 2, 2, 0, 1, 3, 3});
  return {{"x", to_array(draw({}, dtype, n.x, generator))},
          {"filter", to_array(draw({}, dtype, n.filter, generator))},
          {"y", to_array(draw(ties, dtype, convolved_by(n), generator))},
          {"dy", to_array(draw(gradients, dtype, pooled_by(n), generator))}};
}

// Elements whose bits differ; all NaN are the same.
std::int64_t differing(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape, b.shape);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i)
    if (std::bit_cast<std::uint64_t>(a[i]) != std::bit_cast<std::uint64_t>(b[i]) &&
        !(std::isnan(a[i]) && std::isnan(b[i])))
      ++count;
  return count;
}

// Feeds gradients of the domain to all networks, on all instruction sets and several numbers of tiles.
void expect_equal_bits(const Domain& gradients, DType dtype = DType::float32) {
  for (const Network& n : networks)
    for (const std::string& set : tested_instruction_sets())
      for (int tiles = 1; tiles <= most_tiles; ++tiles) {
        SCOPED_TRACE(to_string(n.x) + " " + to_string(n.filter) + " " + set + " " + std::to_string(tiles));
        Graph graph;
        build(graph, n, dtype);
        Program program(graph, device(set, tiles), Variables(), {.disabled_passes = {"fuse_pooling_gradients"}});
        const auto results = program.step(feeds_of(n, gradients, dtype));
        for (const char* what : {"filter", "images"})
          EXPECT_EQ(differing(to_tensor(results.at(std::string("sparse_") + what)),
                              to_tensor(results.at(std::string("dense_") + what))),
                    0)
              << what;
      }
}

TEST(PooledGradient, HasTheBitsOfTheDenseGradient) { expect_equal_bits({}); }
TEST(PooledGradient, HasTheBitsOfTheDenseGradientInDoublePrecision) { expect_equal_bits({}, DType::float64); }

// As after relu: many zeros, of both signs.
TEST(PooledGradient, LeavesOutZerosOnly) {
  expect_equal_bits(listed({0.3, 0, -1.7, -0.0, 0, 1e-30, 0, 0, 2.9, -0.4, 0, 0, 0, 1.1}));
}

TEST(PooledGradient, OfZerosIsZero) { expect_equal_bits(listed({0})); }

TEST(PooledGradient, KeepsInfinitiesAndNans) {
  expect_equal_bits(
      listed({0.3, 0, -1.7, 0, 0, 1.2, 0, 0, 2.9, -0.4, 0, infinity, 0, 1.1, 0, 0.7, 0, -0.2, 0, 3.1, nan}));
}

}  // namespace
}  // namespace pando::test
