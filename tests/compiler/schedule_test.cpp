// SPDX-License-Identifier: Apache-2.0
// Supersteps, and results that go straight into the memory of variables.
#include <pando/ops/ops.h>
#include <pando/program/program.h>

#include <gtest/gtest.h>

#include "compiler/lower/schedule.h"
#include "ops/op_list.h"

namespace pando {
namespace {

TEST(Schedule, IndependentNodesShareASuperstep) {
  const Graph graph = parse_graph(
      "%0 = input() {name = \"x\", shape = [2]}\n"
      "%1 = exp(%0)\n"
      "%2 = tanh(%0)\n"
      "%3 = reshape(%1) {shape = [2, 1]}\n"
      "%4 = add(%3, %2)\n"
      "output y = %4\n");
  const Schedule result = schedule(graph, false);
  EXPECT_EQ(result.superstep, (std::vector<std::int32_t>{-1, 0, 0, -1, 1}));
  EXPECT_EQ(schedule(graph, true).superstep, (std::vector<std::int32_t>{-1, 0, 1, -1, 2}));
}

TEST(Schedule, AnUpdateWaitsForEveryReaderOfItsVariable) {
  const Graph graph = parse_graph(
      "%0 = variable() {name = \"w\", shape = [2]}\n"
      "%1 = negate(%0)\n"
      "%2 = exp(%0)\n"
      "%3 = tanh(%2)\n"
      "%4 = add(%3, %0)\n"
      "output y = %4\n"
      "assign %0 = %1\n");
  const Schedule result = schedule(graph, false);
  EXPECT_EQ(result.superstep, (std::vector<std::int32_t>{-1, 3, 0, 1, 2}));
  EXPECT_TRUE(result.in_place[0]);
}

TEST(Schedule, ACopyIsMadeWhenAReaderNeedsTheNewAndTheOldValue) {
  const Graph graph = parse_graph(
      "%0 = variable() {name = \"w\", shape = [2]}\n"
      "%1 = negate(%0)\n"
      "%2 = add(%1, %0)\n"
      "output y = %2\n"
      "assign %0 = %1\n");
  EXPECT_FALSE(schedule(graph, false).in_place[0]);
}

// Runs `steps` steps of a graph over variables a and b and returns them.
std::pair<double, double> run(const std::string& text, double a, double b, int steps) {
  const Graph graph = parse_graph(text);
  Variables variables;
  variables.set("a", Array::scalar(static_cast<float>(a)));
  variables.set("b", Array::scalar(static_cast<float>(b)));
  Program(graph, Device({.tiles = 1}), variables).run(steps);
  return {variables.get("a").item<double>(), variables.get("b").item<double>()};
}

constexpr const char* two_variables =
    "%0 = variable() {name = \"a\", shape = []}\n"
    "%1 = variable() {name = \"b\", shape = []}\n";

TEST(Assignments, SwapsValues) {
  EXPECT_EQ(run(std::string(two_variables) + "assign %0 = %1\nassign %1 = %0\n", 1, 2, 3), std::pair(2.0, 1.0));
}

TEST(Assignments, ReadOldValuesAllAtOnce) {
  // Fibonacci: a, b = b, a + b.
  EXPECT_EQ(run(std::string(two_variables) + "%2 = add(%0, %1)\nassign %0 = %1\nassign %1 = %2\n", 0, 1, 10),
            std::pair(55.0, 89.0));
}

TEST(Assignments, OneValueMayGoToTwoVariables) {
  EXPECT_EQ(run(std::string(two_variables) + "%2 = add(%0, %1)\nassign %0 = %2\nassign %1 = %2\n", 1, 2, 2),
            std::pair(6.0, 6.0));
}

TEST(Assignments, AnOutputOfAVariableIsItsValueInTheStep) {
  Graph graph;
  const Value a = ops::variable(graph, "a", DType::float32, {});
  graph.assign(a, a + 1.0);
  graph.add_output("before", a);
  graph.add_output("all", a, true);
  Program program(graph, Device({.tiles = 1}), Variables());
  program.run(3);
  EXPECT_EQ(program.output("before").item<float>(), 2);
  const Array all = program.output("all");
  EXPECT_EQ(all.shape(), (Shape{3}));
  EXPECT_EQ(all.data<float>()[0], 0);
  EXPECT_EQ(all.data<float>()[2], 2);
}

}  // namespace
}  // namespace pando
