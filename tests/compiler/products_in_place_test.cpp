// SPDX-License-Identifier: Apache-2.0
// A matmul that reads parts of other values where they are, or writes its result with its axes in another order, gives
// the bits of one that reads copies and whose result is copied.
#include <pando/ops/ops.h>
#include <pando/program/program.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/compile.h"
#include "graph/op_definition.h"

namespace pando {
namespace {

Array numbers_of(const Type& type, std::uint32_t seed) {
  Array array(type.dtype, type.shape);
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    const double value = static_cast<double>(state >> 8) / 8388608.0 - 1.0;
    if (type.dtype == DType::float64) array.mutable_data<double>()[i] = value;
    else array.mutable_data<float>()[i] = static_cast<float>(value);
  }
  return array;
}

// The matrices of a batch of heads, [2, 3, rows, columns], as parts of a value: all of them side by side (0), in every
// row of a value the heads one after the other (1), the same as one of three parts of its rows (2), or the middle of
// larger matrices (3).
constexpr int ways = 4;
Value heads(Graph& graph, const std::string& name, DType dtype, int way, std::int64_t rows, std::int64_t columns) {
  const auto input = [&](const Shape& shape) { return ops::input(graph, name, dtype, shape); };
  switch (way) {
    case 0: return input({2, 3, rows, columns});
    case 1: return ops::transpose(ops::reshape(input({2, rows, 3 * columns}), {2, rows, 3, columns}), {0, 2, 1, 3});
    case 2: {
      const Value part = ops::slice(input({2, rows, 9 * columns}), {0, 0, 3 * columns}, {2, rows, 3 * columns});
      return ops::transpose(ops::reshape(part, {2, rows, 3, columns}), {0, 2, 1, 3});
    }
    default: return ops::slice(input({2, 3, rows + 2, columns + 5}), {0, 0, 1, 4}, {2, 3, rows, columns});
  }
}

struct Sizes {
  std::int64_t rows, inner, columns;
};

// relu takes the place of an epilogue; without it, the result is permuted.
Graph product(DType dtype, const Sizes& sizes, const ops::MatmulOptions& options, int way_a, int way_b,
              bool permutes = false) {
  Graph graph;
  const auto [rows, inner, columns] = sizes;
  const Value a =
      options.transpose_a ? heads(graph, "a", dtype, way_a, inner, rows) : heads(graph, "a", dtype, way_a, rows, inner);
  const Value b = options.transpose_b ? heads(graph, "b", dtype, way_b, columns, inner)
                                      : heads(graph, "b", dtype, way_b, inner, columns);
  const Value y = ops::matmul(a, b, options);
  graph.add_output("y", permutes ? ops::transpose(y, {0, 2, 1, 3}) : ops::relu(y * 0.5));
  return graph;
}

Array result_of(const Graph& graph, const Device& device, const ProgramOptions& options) {
  std::map<std::string, Array> feeds;
  for (const Node& node : graph.nodes())
    if (is_role(node, Role::input)) feeds[node.attributes.text("name")] = numbers_of(node.outputs[0], 7);
  Variables variables;
  return Program(graph, device, variables, options).step(feeds).at("y");
}

void expect_same_bits(const Graph& graph, const Device& device, Precision precision, const std::string& what) {
  const Array copied = result_of(
      graph, device, {.disabled_passes = {"read_factors_in_place", "permute_products"}, .precision = precision});
  const Array read = result_of(graph, device, {.precision = precision});
  EXPECT_EQ(std::memcmp(copied.raw(), read.raw(), copied.bytes()), 0) << what;
}

TEST(ProductsInPlace, GiveTheBitsOfCopies) {
  int graphs = 0, with_views = 0;
  for (const std::string& set : available_instruction_sets()) {
    const Device device({2, set});
    for (const Sizes& sizes : {Sizes{1, 8, 8}, Sizes{5, 33, 17}, Sizes{70, 64, 16}})
      for (int flags = 0; flags < 4; ++flags)
        for (int ways_of_both = 1; ways_of_both < ways * ways; ++ways_of_both) {
          const ops::MatmulOptions options = {.transpose_a = flags % 2 == 1, .transpose_b = flags / 2 == 1};
          const int way_a = ways_of_both / ways, way_b = ways_of_both % ways;
          if (way_a != 0 && way_b != 0 && way_a != way_b) continue;
          const std::string what = fmt::format("{}: {} x {} x {}, transposed {}, ways {} and {}", set, sizes.rows,
                                               sizes.inner, sizes.columns, flags, way_a, way_b);
          ++graphs;
          const Plan plan = compile(product(DType::float32, sizes, options, way_a, way_b), {});
          if (to_string(plan).find(" from ") != std::string::npos) ++with_views;
          for (DType dtype : {DType::float32, DType::float64}) {
            expect_same_bits(product(dtype, sizes, options, way_a, way_b), device, Precision::float32, what);
            expect_same_bits(product(dtype, sizes, options, way_a, way_b, true), device, Precision::float32, what);
          }
          expect_same_bits(product(DType::float32, sizes, options, way_a, way_b), device, Precision::mixed_bfloat16,
                           what + ", mixed_bfloat16");
        }
  }
  EXPECT_GT(with_views, graphs * 3 / 4);
}

// Whatever the order of its axes; the columns of a result stay side by side.
TEST(ProductsInPlace, ResultsArePermuted) {
  for (const std::vector<std::int64_t>& permutation :
       {Integers{0, 1, 2, 3}, Integers{1, 0, 2, 3}, Integers{0, 2, 1, 3}, Integers{2, 0, 1, 3}, Integers{2, 1, 0, 3},
        Integers{1, 2, 0, 3}}) {
    for (const Shape& shape_b : {Shape{5, 3, 7, 9}, Shape{7, 9}, Shape{3, 7, 9}}) {
      Graph graph;
      const Value a = ops::input(graph, "a", DType::float32, {5, 3, 12, 7}),
                  b = ops::input(graph, "b", DType::float32, shape_b);
      graph.add_output("y", ops::transpose(ops::matmul(a, b), permutation));
      EXPECT_EQ(to_string(compile(graph, {})).find("= transpose"), std::string::npos);
      expect_same_bits(graph, Device({3}), Precision::float32, fmt::format("{}", fmt::join(permutation, ", ")));
    }
  }
}

// Rows that lie at one step are one matrix for weights that all of them meet.
TEST(ProductsInPlace, RowsOfAPartMeetTheSameWeights) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {3, 5, 24});
  const Value w = ops::input(graph, "w", DType::float32, {8, 40});
  const Value part = ops::slice(w, {0, 16}, {8, 16});
  graph.add_output("y", ops::matmul(ops::slice(x, {0, 0, 8}, {3, 5, 8}), part));
  EXPECT_EQ(to_string(compile(graph, {})).find("= slice"), std::string::npos);
  expect_same_bits(graph, Device(), Precision::float32, "parts of rows and of weights");
}

TEST(ProductsInPlace, WeightsThatAStepReplaces) {
  Graph graph;
  const Value w = ops::variable(graph, "w", DType::float32, {16, 32});
  const Value x = ops::input(graph, "x", DType::float32, {4, 16});
  const Value y = ops::matmul(x, ops::slice(w, {0, 8}, {16, 16}));
  graph.add_output("y", y);
  graph.assign(w, w * 0.5 + 1.0);
  const auto two_steps = [&](const std::vector<std::string>& disabled) {
    Variables variables;
    variables.set("w", numbers_of({DType::float32, {16, 32}}, 3));
    Program program(graph, Device(), variables, {.disabled_passes = disabled});
    const std::map<std::string, Array> feeds = {{"x", numbers_of({DType::float32, {4, 16}}, 4)}};
    program.step(feeds);
    return program.step(feeds).at("y");
  };
  const Array copied = two_steps({"read_factors_in_place"}), read = two_steps({});
  EXPECT_EQ(std::memcmp(copied.raw(), read.raw(), copied.bytes()), 0);
}

}  // namespace
}  // namespace pando
