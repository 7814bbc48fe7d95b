// SPDX-License-Identifier: Apache-2.0
// mixed_bfloat16 and tf32: the factors of products are rounded, nothing else changes.
#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>
#include <pando/program/program.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "tests/message.h"

namespace pando {
namespace {

struct Product {
  std::string what;
  Shape a, b;
  // Of a convolution; none for matrices.
  std::optional<ops::ConvOptions> convolution = {};
};

// With rows, columns and sums that do not fill blocks, panels and steps; padded, dilated, strided, several runs of
// pixels; images whose rows are summed one by one and as one.
std::vector<Product> products() {
  using ops::Padding;
  return {{"matrices", {64, 64}, {64, 64}},
          {"uneven matrices", {37, 45}, {45, 51}},
          {"deep matrices", {40, 801}, {801, 33}},
          {"stacked matrices", {3, 33, 40}, {3, 40, 34}},
          {"narrow matrices", {5, 40}, {40, 3}},
          {"wide matrices", {70, 300}, {300, 90}},
          {"a valid convolution", {3, 13, 13, 32}, {3, 3, 32, 64}, ops::ConvOptions{}},
          {"a padded convolution", {2, 16, 16, 8}, {3, 3, 8, 20}, ops::ConvOptions{.padding = Padding::same}},
          {"uneven channels", {2, 9, 10, 24}, {3, 2, 24, 19}, ops::ConvOptions{.padding = Padding::same}},
          {"a dilated convolution", {1, 12, 11, 16}, {3, 3, 16, 16}, ops::ConvOptions{.dilations = {2, 3}}},
          {"a strided convolution", {2, 11, 12, 16}, {3, 3, 16, 16}, ops::ConvOptions{.strides = {2, 2}}},
          {"a wide convolution", {2, 12, 12, 48}, {3, 3, 48, 40}, ops::ConvOptions{.padding = Padding::same}},
          {"a wide dilated convolution", {1, 16, 15, 64}, {3, 3, 64, 96}, ops::ConvOptions{.dilations = {2, 3}}},
          {"a large filter", {5, 4, 4, 96}, {3, 3, 96, 320}, ops::ConvOptions{.padding = Padding::same}},
          {"a large strided filter", {6, 6, 5, 96}, {3, 3, 96, 320}, ops::ConvOptions{.strides = {2, 2}}},
          {"large images", {1, 30, 40, 8}, {3, 3, 8, 16}, ops::ConvOptions{.padding = Padding::same}},
          {"one pixel", {4, 1, 1, 16}, {1, 1, 16, 16}, ops::ConvOptions{}},
          {"few channels", {2, 8, 8, 3}, {3, 3, 3, 16}, ops::ConvOptions{}}};
}

// The product, and its gradients for a gradient that is not the same everywhere.
Graph graph_of(const Product& product) {
  Graph graph;
  const Value a = ops::variable(graph, "a", DType::float32, product.a);
  const Value b = ops::variable(graph, "b", DType::float32, product.b);
  const Value y = product.convolution ? ops::conv2d(a, b, *product.convolution) : ops::matmul(a, b);
  const Value weight = ops::variable(graph, "weight", DType::float32, y.shape());
  const std::vector<Value> derived = gradients(ops::reduce_sum(y * weight), {a, b});
  graph.add_output("y", y);
  graph.add_output("da", derived[0]);
  graph.add_output("db", derived[1]);
  return graph;
}

Array filled(const Shape& shape, const std::function<float(std::uint32_t)>& value) {
  Array array(DType::float32, shape);
  std::uint32_t state = 7;
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    array.mutable_data<float>()[i] = value(state >> 8);
  }
  return array;
}

struct Results {
  Array y, da, db;
};

Results run(const Product& product, Precision precision, int tiles, const std::function<float(std::uint32_t)>& value) {
  const Graph graph = graph_of(product);
  Variables variables;
  Program program(graph, Device({.tiles = tiles}), variables, {.precision = precision});
  const Shape y = graph.type(graph.outputs()[0].value).shape;
  variables.set("a", filled(product.a, value));
  variables.set("b", filled(product.b, value));
  variables.set("weight", filled(y, value));
  program.run(1);
  return {program.output("y"), program.output("da"), program.output("db")};
}

void expect_equal(const Results& a, const Results& b, const std::string& what) {
  const auto same = [](const Array& x, const Array& y) { return std::memcmp(x.raw(), y.raw(), x.bytes()) == 0; };
  EXPECT_TRUE(same(a.y, b.y)) << what;
  EXPECT_TRUE(same(a.da, b.da)) << what;
  EXPECT_TRUE(same(a.db, b.db)) << what;
}

// Sums of products of small integers are exact in both.
float small_integer(std::uint32_t random) { return static_cast<float>(static_cast<int>(random % 7) - 3); }
float fraction(std::uint32_t random) { return static_cast<float>(random) / 16777216.0F - 0.5F; }

TEST(MixedPrecision, ProductsOfNumbersThatNeedNoRoundingAreExact) {
  for (const Precision precision : {Precision::mixed_bfloat16, Precision::tf32})
    for (const Product& product : products())
      expect_equal(run(product, precision, 2, small_integer), run(product, Precision::float32, 2, small_integer),
                   product.what);
}

TEST(MixedPrecision, ResultsDoNotDependOnTheNumberOfTiles) {
  for (const Product& product : products())
    expect_equal(run(product, Precision::mixed_bfloat16, 1, fraction),
                 run(product, Precision::mixed_bfloat16, 3, fraction), product.what);
}

TEST(MixedPrecision, ResultsAreWithinTheRoundingOfFactors) {
  for (const Product& product : products()) {
    const Results mixed = run(product, Precision::mixed_bfloat16, 2, fraction);
    const Results tf32 = run(product, Precision::tf32, 2, fraction);
    const Results exact = run(product, Precision::float32, 2, fraction);
    // Each product is off by 2^-8 of itself at most, and errors have either sign.
    const auto inner = static_cast<double>(product.b.elements() / product.b[product.b.rank() - 1]);
    for (std::int64_t i = 0; i < exact.y.elements(); ++i)
      ASSERT_NEAR(mixed.y.data<float>()[i], exact.y.data<float>()[i], 0.004 * std::sqrt(inner)) << product.what;
    // 2^-11 here.
    for (std::int64_t i = 0; i < exact.y.elements(); ++i)
      ASSERT_NEAR(tf32.y.data<float>()[i], exact.y.data<float>()[i], 0.0005 * std::sqrt(inner)) << product.what;
  }
}

TEST(MixedPrecision, ProductsThatRoundingWouldSlowDownStayInFloat32) {
  if (Device().backend() != "cpu") GTEST_SKIP() << "the CPU estimates what pays";
  std::vector<Product> products = {{"small matrices", {24, 24}, {24, 24}},
                                   {"sums of few products", {40, 16}, {16, 40}},
                                   {"few channels", {2, 8, 8, 8}, {3, 3, 8, 8}, ops::ConvOptions{}}};
  // The instructions of Arm need less to pay.
  if (Device().instruction_set() != "neon")
    products.insert(products.end(), {{"middling matrices", {32, 32}, {32, 32}}, {"short sums", {40, 32}, {32, 40}}});
  for (const Product& product : products)
    expect_equal(run(product, Precision::mixed_bfloat16, 2, fraction), run(product, Precision::float32, 2, fraction),
                 product.what);
}

TEST(MixedPrecision, AnUnknownNameIsAnsweredWithTheNearest) {
  EXPECT_EQ(precision_named("mixed_bfloat16"), Precision::mixed_bfloat16);
  EXPECT_EQ(message([] { precision_named("mixed_bfloat61"); }),
            "unknown precision 'mixed_bfloat61'; did you mean 'mixed_bfloat16'?");
}

}  // namespace
}  // namespace pando
