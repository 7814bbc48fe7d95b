// SPDX-License-Identifier: Apache-2.0
// Values and gradients in the corners of ops are those of PyTorch, on every instruction set.
#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>
#include <pando/program/program.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/running.h"

namespace pando::test {
namespace {

constexpr float smallest_normal = std::numeric_limits<float>::min();
constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

using Floats = std::vector<float>;

Floats floats_of(const Array& array) { return {array.data<float>(), array.data<float>() + array.elements()}; }

Array array_of(const Floats& values) { return Array::of<float>(values, {static_cast<std::int64_t>(values.size())}); }

// NaN is equal to NaN here.
void expect_equal(const Floats& got, const Floats& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])))
        << "element " << i << " is " << got[i] << " but should be " << expected[i];
}

// The gradients of the sum of `op` in each of its inputs, on each instruction set and number of tiles.
void expect_gradients(const std::function<Value(const std::vector<Value>&)>& op, const std::vector<Floats>& inputs,
                      const std::vector<Floats>& expected) {
  for (const std::string& set : tested_instruction_sets())
    for (const int tiles : {1, most_tiles}) {
      SCOPED_TRACE(set);
      Graph graph;
      Feeds feeds;
      std::vector<Value> values;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        feeds[input_name(i)] = array_of(inputs[i]);
        values.push_back(ops::input(graph, input_name(i), DType::float32, feeds[input_name(i)].shape()));
      }
      const std::vector<Value> slopes = gradients(ops::reduce_sum(op(values)), values);
      for (std::size_t i = 0; i < slopes.size(); ++i) graph.add_output(output_name(i), slopes[i]);
      Program program(graph, device(set, tiles), Variables());
      const auto results = program.step(feeds);
      for (std::size_t i = 0; i < slopes.size(); ++i) expect_equal(floats_of(results.at(output_name(i))), expected[i]);
    }
}

TEST(CornerValues, GradientsOfPowersAreThoseOfPyTorch) {
  const auto power = [](const std::vector<Value>& in) { return ops::power(in[0], in[1]); };
  expect_gradients(power, {{0, 1, -1, nan, infinity}, {0, 0, 0, 0, 0}}, {{0, 0, 0, 0, 0}, {0, 0, nan, nan, infinity}});
  expect_gradients(power, {{0, 0, 0, -2, 0}, {0, 1, 2, 3, -1}}, {{0, 1, 0, 12, -infinity}, {0, 0, 0, nan, -infinity}});
}

TEST(CornerValues, TheGradientOfReluPassesWhereItsInputIsNan) {
  expect_gradients([](const std::vector<Value>& in) { return ops::relu(in[0]); }, {{nan, 0, 1, -1, infinity}},
                   {{1, 0, 1, 0, 1}});
}

// Wherever it lies: first, in the middle and last, in rows, in columns and in windows.
TEST(CornerValues, WhatChoosesElementsChoosesNan) {
  const Floats x = {nan, 1, 2, 3, 4, nan, 5, infinity, 6, 7, -infinity, nan, 8, 9, -1, -2};
  for (const std::string& set : tested_instruction_sets())
    for (const int tiles : {1, most_tiles}) {
      SCOPED_TRACE(set);
      Graph graph;
      const Value rows = ops::reshape(ops::input(graph, "x", DType::float32, {16}), {4, 4});
      const Value image = ops::reshape(rows, {1, 4, 4, 1});
      graph.add_output("rows", ops::reduce_max(rows, {.axes = {1}}));
      graph.add_output("columns", ops::reduce_max(rows, {.axes = {0}}));
      graph.add_output("windows", ops::reshape(ops::max_pool(image), {4}));
      graph.add_output("apart", ops::reshape(ops::max_pool(image, {.strides = {1, 1}, .dilations = {2, 2}}), {4}));
      graph.add_output("places", ops::cast(ops::argmax(rows, 1), DType::float32));
      graph.add_output("signs", ops::reduce_sum(ops::sign(rows), {.axes = {1}}));
      Program program(graph, device(set, tiles), Variables());
      const auto results = program.step({{"x", array_of(x)}});
      expect_equal(floats_of(results.at("rows")), {nan, nan, nan, 9});
      expect_equal(floats_of(results.at("columns")), {nan, nan, 5, nan});
      expect_equal(floats_of(results.at("windows")), {nan, infinity, 9, nan});
      expect_equal(floats_of(results.at("apart")), {nan, nan, 8, nan});
      expect_equal(floats_of(results.at("places")), {0, 1, 3, 1});
      expect_equal(floats_of(results.at("signs")), {3, 3, 1, 0});
    }
}

// Next to the largest and the smallest results, in a fused kernel and in enough elements for vectors. CPUs have no
// results below the smallest normal number.
TEST(CornerValues, ExponentialsReachDownToTheSmallestNumbers) {
  const Floats x = {-87,     -87.3f, -87.4f, -88,   -90,       -95,   -100, -103,
                    -103.9f, -104,   -105,   -1000, -infinity, 88.7f, 89,   0};
  for (const std::string& set : tested_instruction_sets())
    for (const int tiles : {1, most_tiles}) {
      SCOPED_TRACE(set);
      Graph graph;
      const Value input = ops::input(graph, "x", DType::float32, {static_cast<std::int64_t>(x.size())});
      graph.add_output("y", ops::exp(input));
      Program program(graph, device(set, tiles), Variables());
      const Floats y = floats_of(program.step({{"x", array_of(x)}}).at("y"));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const float exact = static_cast<float>(std::exp(static_cast<double>(x[i])));
        const bool is_zero = exact < smallest_normal && computes_as_the_host(device(set, tiles));
        const float expected = is_zero ? 0 : exact;
        const float slack = std::isinf(expected) ? 0 : 3 * (std::nextafter(expected, infinity) - expected);
        EXPECT_TRUE(y[i] == expected || std::abs(y[i] - expected) <= slack) << x[i] << ": " << y[i] << ", " << expected;
      }
    }
}

volatile float below_normal = 1e-40f;

// Products, sums and folded constants, alone and in a fused kernel: operands below the smallest normal number count as
// 0, and so do results. The thread that called computes with such numbers as before.
TEST(CornerValues, NumbersBelowTheSmallestNormalOneAreZero) {
  const Floats small = {1e-30f, 1e-40f, 1e-45f, 1e-20f, -1e-30f, smallest_normal, 1};
  const Floats factors = {1e-10f, 1, 1e20f, 1e-20f, 1e-10f, 1, 1};
  const Floats products = {0, 0, 0, 0, 0, smallest_normal, 1};
  for (const std::string& set : tested_instruction_sets())
    for (const int tiles : {1, most_tiles}) {
      SCOPED_TRACE(set);
      if (!computes_as_the_host(device(set, tiles))) GTEST_SKIP() << "a GPU computes with them as fast as with others";
      Graph graph;
      const Shape shape = {static_cast<std::int64_t>(small.size())};
      const Value x = ops::input(graph, "x", DType::float32, shape);
      const Value y = ops::input(graph, "y", DType::float32, shape);
      graph.add_output("fused", ops::relu(ops::multiply(x, y)));
      const Value row = ops::reshape(x, {1, shape[0]}), column = ops::reshape(y, {shape[0], 1});
      graph.add_output("matmul", ops::slice(ops::matmul(column, row), {0, 0}, {1, shape[0]}));
      graph.add_output("folded",
                       ops::multiply(ops::constant(graph, array_of(small)), ops::constant(graph, array_of(factors))));
      Program program(graph, device(set, tiles), Variables());
      const auto results = program.step({{"x", array_of(small)}, {"y", array_of(factors)}});
      expect_equal(floats_of(results.at("fused")), products);
      expect_equal(floats_of(results.at("folded")), products);
      expect_equal(floats_of(results.at("matmul")), {0, 0, 0, 1e-10f * 1e-20f, 0, 0, 1e-10f});
      EXPECT_GT(below_normal * 2, 0) << "the calling thread takes small numbers as 0 now";
    }
}

// What fades by a factor would stay among the smallest numbers for ever, which are slow to compute with.
TEST(CornerValues, MomentsThatFadeEndAtZero) {
  const Floats moments = {1e-36f, -1.3e-38f, 1.2e-38f, 1e-45f, -1e-40f, 0, 1, -1, 1e-37f, 1e-39f,
                          1e-36f, -1.3e-38f, 1.2e-38f, 1e-45f, -1e-40f, 0, 1, -1, 1e-37f};
  const Floats parameters(moments.size(), 2), gradients(moments.size(), 0);
  Floats faded;
  for (const float moment : moments) {
    const float next = 0.9f * moment;
    faded.push_back(std::abs(next) < std::numeric_limits<float>::min() ? 0 : next);
  }
  for (const std::string& set : tested_instruction_sets())
    for (const int tiles : {1, most_tiles}) {
      SCOPED_TRACE(set);
      if (!computes_as_the_host(device(set, tiles))) GTEST_SKIP() << "a GPU computes with them as fast as with others";
      Graph graph;
      const auto input = [&](const std::string& name) {
        return ops::input(graph, name, DType::float32, {static_cast<std::int64_t>(moments.size())});
      };
      const Value rate = ops::constant(graph, Array::of<float>({0.1f}, {}));
      const std::vector<Value> moved =
          ops::sgd_update(rate, input("parameter"), input("gradient"), {input("moment")}, {.momentum = 0.9});
      graph.add_output("parameter", moved[0]);
      graph.add_output("moment", moved[1]);
      Program program(graph, device(set, tiles), Variables());
      const auto results = program.step(
          {{"parameter", array_of(parameters)}, {"gradient", array_of(gradients)}, {"moment", array_of(moments)}});
      expect_equal(floats_of(results.at("moment")), faded);
    }
}

}  // namespace
}  // namespace pando::test
