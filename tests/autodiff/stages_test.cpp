// SPDX-License-Identifier: Apache-2.0
// The stages of gradients: what a stage needs of the gradients is computed there, and crosses as few borders as it can.
#include <pando/autodiff/gradients.h>
#include <pando/model/trace.h>
#include <pando/ops/ops.h>

#include <gtest/gtest.h>

#include "compiler/divide/divide.h"
#include "graph/op_definition.h"

namespace pando {
namespace {

Value weight(Graph& graph, const std::string& name) { return ops::variable(graph, name, DType::float32, {2}); }

std::int32_t stage_of(Value value) { return value.graph().node(value.id()).stage; }

// The stages of all nodes from number `first` on, but for sources.
std::vector<std::int32_t> stages_from(const Graph& graph, std::size_t first) {
  std::vector<std::int32_t> stages;
  for (std::size_t i = first; i < graph.nodes().size(); ++i)
    if (!graph.nodes()[i].inputs.empty()) stages.push_back(graph.nodes()[i].stage);
  return stages;
}

// How many values pass down each border.
std::vector<std::size_t> gradients_down(const Graph& graph) {
  std::vector<std::size_t> counts;
  for (const Graph& stage : cut_stages(graph, std::vector<std::vector<std::int32_t>>(3))) {
    std::size_t& count = counts.emplace_back();
    for (const Output& output : stage.outputs()) count += output.kind == PortKind::gradient;
  }
  return counts;
}

TEST(StagesOfGradients, AGradientHasTheStageOfItsNode) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {2}), a = weight(graph, "a"), b = weight(graph, "b");
  graph.begin_stage(0);
  const Value y = x * a;
  graph.begin_stage(1);
  const Value loss = ops::reduce_sum(y * b);
  const std::size_t first = graph.nodes().size();
  // Where the caller is does not matter.
  graph.begin_stage(7);
  const std::vector<Value> slopes = gradients(loss, {a, b});
  EXPECT_EQ(graph.stage(), 7);
  EXPECT_EQ(stage_of(slopes[0]), 0);
  EXPECT_EQ(stage_of(slopes[1]), 1);
  for (std::int32_t stage : stages_from(graph, first)) EXPECT_LE(stage, 1);
}

// y is used in stages 1 and 2: what comes back from stage 2 is added in stage 1, and one sum passes on to stage 0.
TEST(StagesOfGradients, TheSumOverASkipTakesTheSmallerStage) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {2}), a = weight(graph, "a");
  graph.begin_stage(0);
  const Value y = ops::tanh(x * a);
  graph.begin_stage(1);
  const Value z = ops::tanh(y);
  graph.begin_stage(2);
  const Value loss = ops::reduce_sum(y * z);
  const std::vector<Value> slopes = gradients(loss, {a, y});
  EXPECT_EQ(stage_of(slopes[0]), 0);
  EXPECT_EQ(graph.node(slopes[1].id()).op->name, "add");
  EXPECT_EQ(stage_of(slopes[1]), 1);
  graph.add_output("slope", slopes[0]);
  // The gradients of y and of z pass from stage 2 to 1.
  EXPECT_EQ(gradients_down(graph), (std::vector<std::size_t>{0, 1, 2}));
}

TEST(StagesOfGradients, WhatHasNoStageHasItsGradientWhereItIsUsed) {
  Graph graph;
  const Value a = weight(graph, "a");
  const Value doubled = a + a;
  graph.begin_stage(1);
  const Value loss = ops::reduce_sum(ops::tanh(doubled));
  const Value slope = gradients(loss, {a})[0];
  EXPECT_EQ(stage_of(slope), 1);
}

TEST(StagesOfGradients, ASharedVariableHasTheSumInTheSmallerStage) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {2}), a = weight(graph, "a");
  graph.begin_stage(0);
  const Value y = x * a;
  graph.begin_stage(2);
  const Value loss = ops::reduce_sum(y * a);
  const Value slope = gradients(loss, {a})[0];
  EXPECT_EQ(graph.node(slope.id()).op->name, "add");
  EXPECT_EQ(stage_of(slope), 0);
}

// d(loss)/d(sum of y) is made of constants alone, and takes the stage of what it is added to.
TEST(StagesOfGradients, AConstantTakesTheStageOfTheOther) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {2}), a = weight(graph, "a");
  graph.begin_stage(1);
  const Value y = ops::tanh(x * a);
  const Value loss = ops::reduce_sum(ops::tanh(y));
  graph.begin_stage(any_stage);
  const Value ones = ops::constant(graph, Array::of<float>({1, 1}, {2}));
  const Value slope = gradients({loss, y}, {ops::scalar(loss, 1.0), ones}, {y})[0];
  EXPECT_EQ(graph.node(slope.id()).op->name, "add");
  EXPECT_EQ(stage_of(slope), 1);
}

TEST(StagesOfGradients, WithoutStagesThereAreNone) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {2}), a = weight(graph, "a");
  gradients(ops::reduce_sum(ops::tanh(x * a)), {a});
  for (std::int32_t stage : stages_from(graph, 0)) EXPECT_EQ(stage, any_stage);
  EXPECT_EQ(graph.stages(), 1);
}

// Every stage computes 2 a for itself, and the first of them changes a.
TEST(StagesOfParameters, TheFirstStageThatUsesOneUpdatesIt) {
  Graph graph;
  Trace trace(graph, true);
  const Parameter a("a", Array(DType::float32, {2})), b("b", Array(DType::float32, {2}));
  const Value doubled = trace.value_of(a) + trace.value_of(a);
  EXPECT_EQ(trace.stage_of(a), any_stage);
  graph.begin_stage(2);
  const Value last = ops::tanh(doubled * trace.value_of(b));
  graph.begin_stage(1);
  const Value middle = ops::tanh(doubled);
  EXPECT_EQ(trace.stage_of(a), 1);
  EXPECT_EQ(trace.stage_of(b), 2);
  graph.begin_stage(2);
  EXPECT_EQ(stage_of(gradients(ops::reduce_sum(last * middle), {trace.value_of(a)})[0]), 1);
}

}  // namespace
}  // namespace pando
