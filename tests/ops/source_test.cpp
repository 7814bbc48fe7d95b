// SPDX-License-Identifier: Apache-2.0
// The ops that compute nothing: inputs, variables and constants.
#include <pando/ops/ops.h>
#include <pando/program/program.h>

#include <gtest/gtest.h>

#include "tests/message.h"
#include "tests/ops/running.h"

namespace pando::test {
namespace {

const std::vector<Shape> shapes = {{}, {1}, {3, 2}, {0, 4}, {70, 33}};

Tensor values_of(DType dtype, const Shape& shape, std::uint64_t number) {
  Generator generator("source", number);
  return draw(domain(-50, 50), dtype, shape, generator);
}

TEST(Sources, HandOnWhatTheyAreGivenInEveryType) {
  const Device& tiles = device(available_instruction_sets().back(), 2);
  for (DType dtype : all_types)
    for (const Shape& shape : shapes) {
      SCOPED_TRACE(to_string(Type{dtype, shape}));
      const Tensor fed = values_of(dtype, shape, 1), kept = values_of(dtype, shape, 2),
                   fixed = values_of(dtype, shape, 3);
      Graph graph;
      graph.add_output("input", ops::input(graph, "x", dtype, shape));
      graph.add_output("variable", ops::variable(graph, "v", dtype, shape));
      graph.add_output("constant", ops::constant(graph, to_array(fixed)));
      Variables variables;
      variables.set("v", to_array(kept));
      Program program(graph, tiles, variables);
      const auto results = program.step({{"x", to_array(fed)}});
      EXPECT_EQ(difference(to_tensor(results.at("input")), fed, 1), "");
      EXPECT_EQ(difference(to_tensor(results.at("variable")), kept, 1), "");
      EXPECT_EQ(difference(to_tensor(results.at("constant")), fixed, 1), "");
    }
}

TEST(Sources, VariablesThatWereNeverSetAreZero) {
  Graph graph;
  graph.add_output("v", ops::variable(graph, "v", DType::float32, {3}));
  Program program(graph, device("portable", 1), Variables());
  EXPECT_EQ(difference(to_tensor(program.step().at("v")), filled(DType::float32, {3}), 1), "");
}

TEST(Sources, VariablesTakeTheirNewValuesAtTheEndOfAStep) {
  Graph graph;
  const Value a = ops::variable(graph, "a", DType::float32, {2}), b = ops::variable(graph, "b", DType::float32, {2});
  graph.assign(a, b);
  graph.assign(b, a);
  graph.add_output("a", a);
  Variables variables;
  variables.set("a", Array::of<float>({1, 2}, {2}));
  variables.set("b", Array::of<float>({3, 4}, {2}));
  Program program(graph, device("portable", 2), variables);
  EXPECT_EQ(program.step().at("a").data<float>()[0], 1);
  EXPECT_EQ(variables.get("a").data<float>()[0], 3);
  EXPECT_EQ(variables.get("b").data<float>()[1], 2);
  EXPECT_EQ(program.step().at("a").data<float>()[1], 4);
}

TEST(Sources, ScalarsTakeTheTypeOfTheirModel) {
  Graph graph;
  for (DType dtype : all_types) {
    const Value like = ops::input(graph, std::string(name(dtype)), dtype, {2});
    EXPECT_EQ(to_string(ops::scalar(like, 1).type()), std::string(name(dtype)) + "[]");
  }
}

}  // namespace
}  // namespace pando::test
