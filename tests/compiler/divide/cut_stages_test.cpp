// SPDX-License-Identifier: Apache-2.0
// cut_stages: the part of each stage of a pipeline, and what passes from one to the next.
#include <gtest/gtest.h>

#include "compiler/divide/divide.h"
#include "ops/op_list.h"
#include "tests/message.h"

namespace pando {
namespace {

using Sums = std::vector<std::vector<std::int32_t>>;

Sums no_sums(std::size_t stages) { return Sums(stages); }

TEST(CutStages, ASkipCrossesEveryBorderOnItsWay) {
  const std::vector<Graph> stages = cut_stages(parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = exp(%0) @0
%2 = tanh(%1) @1
%3 = add(%1, %2) @2
output y = %3
)"),
                                               no_sums(3));
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(to_string(stages[0]), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = exp(%0) : float32[2] @0
output activation0 = %1 activation 0
)");
  EXPECT_EQ(to_string(stages[1]), R"(%0 = input() {name = "activation0", shape = [2], port = "activation"} : float32[2]
%1 = tanh(%0) : float32[2] @1
output activation0 = %0 activation 0
output activation1 = %1 activation 1
)");
  EXPECT_EQ(to_string(stages[2]), R"(%0 = input() {name = "activation0", shape = [2], port = "activation"} : float32[2]
%1 = input() {name = "activation1", shape = [2], port = "activation", number = 1} : float32[2]
%2 = add(%0, %1) : float32[2] @2
output y = %2
)");
}

// %4 and %6 are gradients of %1, whose sum %7 belongs to stage 1: one gradient alone reaches stage 0.
TEST(CutStages, GradientsOfTwoLaterStagesComeBackAddedUp) {
  const std::vector<Graph> stages = cut_stages(parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = exp(%0) @0
%2 = tanh(%1) @1
%3 = multiply(%1, %2) @2
%4 = multiply(%3, %2) @2
%5 = multiply(%3, %1) @2
%6 = multiply(%5, %2) @1
%7 = add(%4, %6) @1
%8 = multiply(%7, %1) @0
output s = %8 sum 0
)"),
                                               {{0}, {}, {}});
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(to_string(stages[0]), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = exp(%0) : float32[2] @0
%2 = input() {name = "gradient0", shape = [2], port = "gradient"} : float32[2]
%3 = multiply(%2, %1) : float32[2] @0
output activation0 = %1 activation 0
output s = %3 sum 0
)");
  EXPECT_EQ(to_string(stages[1]), R"(%0 = input() {name = "activation0", shape = [2], port = "activation"} : float32[2]
%1 = tanh(%0) : float32[2] @1
%2 = input() {name = "gradient0", shape = [2], port = "gradient"} : float32[2]
%3 = input() {name = "gradient1", shape = [2], port = "gradient", number = 1} : float32[2]
%4 = multiply(%3, %1) : float32[2] @1
%5 = add(%2, %4) : float32[2] @1
output activation0 = %0 activation 0
output activation1 = %1 activation 1
output gradient0 = %5 gradient 0
)");
  EXPECT_EQ(to_string(stages[2]), R"(%0 = input() {name = "activation0", shape = [2], port = "activation"} : float32[2]
%1 = input() {name = "activation1", shape = [2], port = "activation", number = 1} : float32[2]
%2 = multiply(%0, %1) : float32[2] @2
%3 = multiply(%2, %1) : float32[2] @2
%4 = multiply(%2, %0) : float32[2] @2
output gradient0 = %3 gradient 0
output gradient1 = %4 gradient 1
)");
}

TEST(CutStages, WhatHasNoStageIsComputedWhereItIsUsed) {
  const std::vector<Graph> stages = cut_stages(parse_graph(R"(%0 = input() {name = "x", dtype = int32, shape = [2]}
%1 = cast(%0) {dtype = float32}
%2 = exp(%1) @0
%3 = multiply(%2, %1) @1
output y = %3 every_step
output early = %2
output fed = %1
)"),
                                               no_sums(2));
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(to_string(stages[0]), R"(%0 = input() {name = "x", dtype = int32, shape = [2]} : int32[2]
%1 = cast(%0) : float32[2]
%2 = exp(%1) : float32[2] @0
output activation0 = %2 activation 0
output early = %2
)");
  // The last stage returns an output that belongs to no stage.
  EXPECT_EQ(to_string(stages[1]), R"(%0 = input() {name = "activation0", shape = [2], port = "activation"} : float32[2]
%1 = input() {name = "x", dtype = int32, shape = [2]} : int32[2]
%2 = cast(%1) : float32[2]
%3 = multiply(%0, %2) : float32[2] @1
output y = %3 every_step
output fed = %2
)");
}

TEST(CutStages, ACountIsSummedInEveryStageThatNeedsIt) {
  const Graph graph = parse_graph(R"(%0 = input() {name = "mask", shape = [2]}
%1 = reduce_sum(%0) {axes = [0]}
%2 = exp(%0) @0
%3 = tanh(%2) @1
%4 = multiply(%3, %0) @0
output sum0 = %4 sum 0
output sum1 = %1 sum 1
output sum2 = %3 sum 2
)");
  const std::vector<Graph> stages = cut_stages(graph, {{0, 1}, {1, 2}});
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(to_string(stages[0]), R"(%0 = input() {name = "mask", shape = [2]} : float32[2]
%1 = exp(%0) : float32[2] @0
%2 = input() {name = "gradient0", shape = [2], port = "gradient"} : float32[2]
%3 = multiply(%2, %0) : float32[2] @0
%4 = reduce_sum(%0) {axes = [0]} : float32[]
output activation0 = %1 activation 0
output sum0 = %3 sum 0
output sum1 = %4 sum 1
)");
  EXPECT_EQ(to_string(stages[1]), R"(%0 = input() {name = "activation0", shape = [2], port = "activation"} : float32[2]
%1 = tanh(%0) : float32[2] @1
%2 = input() {name = "mask", shape = [2]} : float32[2]
%3 = reduce_sum(%2) {axes = [0]} : float32[]
output gradient0 = %1 gradient 0
output sum1 = %3 sum 1
output sum2 = %1 sum 2
)");
  // Where no update needs it, it is not summed at all.
  for (const Graph& stage : cut_stages(graph, {{0}, {2}}))
    for (const Output& output : stage.outputs()) EXPECT_NE(output.name, "sum1");
}

TEST(CutStages, StatisticsStayInTheirStage) {
  const Graph graph = parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "mean", shape = [2], role = "statistic"}
%2 = variable() {name = "seen", shape = [2], role = "statistic"}
%3 = exp(%0) @0
%4 = add(%1, %3) @0
%5 = add(%2, %0)
%6 = tanh(%3) @1
output y = %6
assign %1 = %4
assign %2 = %5
)");
  const std::vector<Graph> stages = cut_stages(graph, no_sums(2));
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(to_string(stages[0]), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = exp(%0) : float32[2] @0
%2 = variable() {name = "mean", shape = [2], role = "statistic"} : float32[2]
%3 = add(%2, %1) : float32[2] @0
output activation0 = %1 activation 0
assign %2 = %3
)");
  EXPECT_EQ(to_string(stages[1]), R"(%0 = input() {name = "activation0", shape = [2], port = "activation"} : float32[2]
%1 = tanh(%0) : float32[2] @1
%2 = variable() {name = "seen", shape = [2], role = "statistic"} : float32[2]
%3 = input() {name = "x", shape = [2]} : float32[2]
%4 = add(%2, %3) : float32[2]
output y = %1
assign %2 = %4
)");
  // One stage has everything, whatever the nodes say.
  EXPECT_EQ(to_string(cut_stages(graph, no_sums(1)).at(0)), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = exp(%0) : float32[2] @0
%2 = tanh(%1) : float32[2] @1
%3 = variable() {name = "mean", shape = [2], role = "statistic"} : float32[2]
%4 = add(%3, %1) : float32[2] @0
%5 = variable() {name = "seen", shape = [2], role = "statistic"} : float32[2]
%6 = add(%5, %0) : float32[2]
output y = %2
assign %3 = %4
assign %5 = %6
)");
}

TEST(CutStages, AStageWithoutNodesPassesOnWhatArrives) {
  const std::vector<Graph> stages = cut_stages(parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = exp(%0) @0
%2 = tanh(%1) @2
%3 = multiply(%2, %1) @0
output sum0 = %3 sum 0
)"),
                                               {{0}, {}, {}});
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(to_string(stages[1]), R"(%0 = input() {name = "activation0", shape = [2], port = "activation"} : float32[2]
%1 = input() {name = "gradient0", shape = [2], port = "gradient"} : float32[2]
output activation0 = %0 activation 0
output gradient0 = %1 gradient 0
)");
}

TEST(CutStages, RefusesWhatNoStageCanCompute) {
  const Graph graph = parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = exp(%0) @0  # layer1
%2 = tanh(%1)
%3 = sin(%2) @1
output y = %3
)");
  EXPECT_EQ(message([&] { cut_stages(graph, no_sums(2)); }),
            "'tanh' belongs to no pipeline stage but uses 'layer1' of stage 0; make it in a stage");
  EXPECT_EQ(message([&] { cut_stages(graph, no_sums(1)); }), "(nothing was thrown)");
}

TEST(CutStages, RefusesAVariableInTwoStagesThatEveryMicroBatchChanges) {
  const std::string text = R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "w", shape = [2]}
%2 = multiply(%0, %1) @0
%3 = multiply(%2, %1) @1
output y = %3
)";
  // One that the update changes, or nothing, may be in several stages.
  EXPECT_EQ(message([&] { cut_stages(parse_graph(text), no_sums(2)); }), "(nothing was thrown)");
  const Graph graph = parse_graph(text + "assign %1 = %2\n");
  EXPECT_EQ(message([&] { cut_stages(graph, no_sums(2)); }),
            "'w', which every micro-batch changes, is used in the pipeline stages 0 and 1; put what uses it into one "
            "stage");
  EXPECT_EQ(message([&] { cut_stages(graph, no_sums(1)); }), "(nothing was thrown)");
}

// Stage 0 would read it before stage 1 has assigned it for the micro-batch before.
TEST(CutStages, RefusesAVariableThatAnotherStageAssigns) {
  const Graph graph = parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "w", shape = [2]}
%2 = multiply(%0, %1) @0
%3 = multiply(%2, %0) @1
output y = %3
assign %1 = %3
)");
  EXPECT_EQ(message([&] { cut_stages(graph, no_sums(2)); }),
            "'w', which every micro-batch changes, is used in the pipeline stages 0 and 1; put what uses it into one "
            "stage");
}

// The gradient of a weight that was added is the gradient of the sum, which another stage made.
TEST(CutStages, ASumMayBeOfWhatALaterStageMade) {
  const std::vector<Graph> stages = cut_stages(parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = exp(%0) @0
%2 = tanh(%1) @1
output sum0 = %2 sum 0
)"),
                                               {{0}, {}});
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(to_string(stages[0]), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = exp(%0) : float32[2] @0
%2 = input() {name = "gradient0", shape = [2], port = "gradient"} : float32[2]
output activation0 = %1 activation 0
output sum0 = %2 sum 0
)");
  EXPECT_EQ(to_string(stages[1]), R"(%0 = input() {name = "activation0", shape = [2], port = "activation"} : float32[2]
%1 = tanh(%0) : float32[2] @1
output gradient0 = %1 gradient 0
)");
}

}  // namespace
}  // namespace pando
