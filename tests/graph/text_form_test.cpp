// SPDX-License-Identifier: Apache-2.0
// The text form of graphs: what is printed can be read back.
#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "ops/op_list.h"
#include "plan/parse.h"
#include "graph/verify.h"
#include "tests/message.h"

namespace pando {
namespace {

constexpr const char* small_graph =
    "%0 = input() {name = \"x\", shape = [2, 3]} : float32[2, 3]\n"
    "%1 = variable() {name = \"w\", shape = [3, 4]} : float32[3, 4]\n"
    "%2 = matmul(%0, %1) : float32[2, 4]  # dense\n"
    "%3 = constant() {value = <0.5>} : float32[]\n"
    "%4 = multiply(%2, %3) : float32[2, 4]\n"
    "%5 = leaky_relu(%4) {alpha = 0.2} : float32[2, 4]\n"
    "%6 = reduce_sum(%5) {axes = [0, 1]} : float32[]\n"
    "output loss = %6 every_step\n"
    "assign %1 = %1\n";

TEST(TextForm, WhatIsReadPrintsAgain) { EXPECT_EQ(to_string(parse_graph(small_graph)), small_graph); }

TEST(TextForm, ATrainingStepSurvivesTheRoundTrip) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {4, 8, 8, 2});
  const Value w = ops::variable(graph, "w", DType::float32, {3, 3, 2, 5});
  const Value labels = ops::input(graph, "labels", DType::int32, {4});
  const Value logits =
      ops::reduce_mean(ops::max_pool(ops::relu(ops::conv2d(x, w, {.padding = ops::Padding::same}))), {.axes = {1, 2}});
  const Value loss = ops::reduce_mean(ops::sparse_softmax_cross_entropy(logits, labels));
  graph.add_output("loss", loss);
  graph.assign(w, ops::sgd_update(ops::scalar(loss, 0.1), w, gradients(loss, {w})[0], {})[0]);
  const Graph again = parse_graph(to_string(graph));
  verify(again);
  EXPECT_EQ(to_string(again), to_string(graph));
}

TEST(TextForm, FusedGraphsAndPlansSurviveTheRoundTrip) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::uint8, {4, 3});
  const Value w = ops::variable(graph, "w", DType::float32, {3, 2});
  const Value y = ops::leaky_relu(ops::matmul(ops::cast(x, DType::float32) / 255.0, w) + 0.5, 0.3);
  graph.add_output("y", ops::select(ops::greater(y, ops::scalar(y, 1)), y, ops::tanh(y)));
  const Graph fused = fuse_elementwise(graph, {});
  EXPECT_EQ(to_string(parse_graph(to_string(fused))), to_string(fused));
  const Plan plan = compile(graph);
  EXPECT_TRUE(parse_plan(to_string(plan), find_op) == plan);
  EXPECT_EQ(to_string(parse_plan(to_string(plan), find_op)), to_string(plan));
}

// A field that the text form forgot would be lost on the way: plans are compared, not their texts.
TEST(TextForm, EveryFieldOfAPlanSurvivesTheRoundTrip) {
  Graph graph;
  const Value x = ops::input(graph, "activation0", DType::float32, {4, 3}, PortKind::activation, 2);
  const Value w = ops::variable(graph, "w", DType::float32, {3, 2}, VariableRole::slot);
  const Value y = ops::dropout(ops::matmul(x, w), ops::counter(graph), 0.5);
  graph.add_output("loss", ops::reduce_sum(y), true);
  graph.add_output("stash0", y, PortKind::stash, 7);
  graph.assign(w, w * 2.0);
  graph.add_output("third", ops::constant(graph, Array::of<double>({1 / 3.0, -2.5e-300}, {2})));
  const Plan plan = compile(graph, {.check_numerics = true, .mixed_bfloat16 = true});
  const Plan again = parse_plan(to_string(plan), find_op);
  EXPECT_TRUE(again == plan) << to_string(again) << to_string(plan);
  EXPECT_TRUE(again.mixed_bfloat16 && again.check_numerics);
  EXPECT_EQ(again.outputs[1].kind, PortKind::stash);
  EXPECT_EQ(again.outputs[1].number, 7);
  EXPECT_EQ(again.variables[0].role, VariableRole::slot);
  EXPECT_TRUE(again.variables[0].assigned);
  Plan other = plan;
  other.mixed_bfloat16 = false;
  EXPECT_FALSE(other == plan);
}

TEST(TextForm, OperandsThatAreViewsSurviveTheRoundTrip) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {4, 24});
  const Value y = ops::input(graph, "y", DType::float32, {8, 3});
  graph.add_output("z", ops::matmul(ops::slice(x, {0, 16}, {4, 8}), y));
  const Plan plan = compile(graph);
  EXPECT_NE(to_string(plan).find("matmul(b0 float32[4, 8] from 16 by [24, 1], b1 float32[8, 3])"), std::string::npos)
      << to_string(plan);
  EXPECT_TRUE(parse_plan(to_string(plan), find_op) == plan) << to_string(plan);
}

TEST(TextForm, LayersWhoseNamesHaveASlashSurviveTheRoundTrip) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {4, 3});
  const Value w = ops::variable(graph, "w", DType::float32, {3, 2});
  Value y;
  {
    const Graph::Scope layer(graph, "block/dense"), part(graph, "product");
    y = ops::matmul(x, w);
  }
  graph.assign(w, gradients(ops::reduce_sum(ops::exp(y)), {w})[0]);
  const std::string text = to_string(graph);
  EXPECT_NE(text.find("  # \"block/dense\"/product\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  # \"block/dense\"/product/gradient\n"), std::string::npos) << text;
  const Graph again = parse_graph(text);
  EXPECT_EQ(to_string(again), text);
  EXPECT_EQ(again.nodes()[2].name, "block/dense/product");
  EXPECT_EQ(again.nodes()[2].layer, "block/dense");
  const Plan plan = compile(graph);
  EXPECT_EQ(plan.supersteps.front().front().layer, "block/dense");
  EXPECT_TRUE(parse_plan(to_string(plan), find_op) == plan) << to_string(plan);
}

TEST(TextForm, ErrorsNameTheLine) {
  EXPECT_EQ(message([] { parse_graph("%0 = relu(%1)\n%1 = relu(%0)\n"); }),
            "line 1: %1 is used before it is defined: a graph has no cycles; feed a value back through a variable");
  EXPECT_EQ(message([] { parse_graph("\n%0 = mathmul()\n"); }), "line 2: unknown op 'mathmul'; did you mean 'matmul'?");
  EXPECT_EQ(message([] { parse_graph("%0 = input() {name = \"x\", shape = [2]} : float32[3]\n"); }),
            "line 1: %0 is typed float32[3] but its inputs make it float32[2]");
  EXPECT_EQ(message([] { parse_graph("%0 = input() {name = \"x}\n"); }), "line 1: a text has no closing quote");
  EXPECT_EQ(message([] { parse_graph("%0 = input() {nmae = \"x\"}\n"); }), "line 1: input has no attribute 'nmae'");
  EXPECT_EQ(message([] { parse_plan("superstep\n  (b1 float32[2]) = relu(b0 float32[2])\n", find_op); }),
            "line 2: there is no buffer b1");
  EXPECT_EQ(message([] { parse_graph("what\n"); }), "line 1: expected '%' at 'what'");
}

}  // namespace
}  // namespace pando
