// SPDX-License-Identifier: Apache-2.0
// split_passes and accumulate: what a stage does before and after it has its gradients.
#include <gtest/gtest.h>

#include "compiler/divide/divide.h"
#include "ops/op_list.h"
#include "tests/message.h"

namespace pando {
namespace {

TEST(SplitPasses, TheBackwardPassFindsWhatItNeedsInTheStash) {
  const Graph stage = parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "w", shape = [2]}
%2 = multiply(%0, %1) @0
%3 = exp(%2) @0
%4 = input() {name = "gradient0", shape = [2], port = "gradient", number = 0}
%5 = multiply(%4, %3) @0
%6 = multiply(%5, %0) @0
output activation0 = %3 activation 0
output sum0 = %6 sum 0
)");
  const StagePasses passes = split_passes(stage, false);
  EXPECT_EQ(to_string(passes.forward), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = variable() {name = "w", shape = [2]} : float32[2]
%2 = multiply(%0, %1) : float32[2] @0
%3 = exp(%2) : float32[2] @0
output activation0 = %3 activation 0
output stash0 = %3 stash 0
)");
  // What was fed is still there.
  EXPECT_EQ(to_string(passes.backward),
            R"(%0 = input() {name = "gradient0", shape = [2], port = "gradient"} : float32[2]
%1 = input() {name = "stash0", shape = [2], port = "stash"} : float32[2]
%2 = multiply(%0, %1) : float32[2] @0
%3 = input() {name = "x", shape = [2]} : float32[2]
%4 = multiply(%2, %3) : float32[2] @0
output sum0 = %4 sum 0
)");
}

TEST(SplitPasses, RecomputationNeedsNoStash) {
  const StagePasses passes = split_passes(parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "w", shape = [2]}
%2 = multiply(%0, %1) @0
%3 = exp(%2) @0
%4 = input() {name = "gradient0", shape = [2], port = "gradient", number = 0}
%5 = multiply(%4, %3) @0
%6 = multiply(%5, %0) @0
output activation0 = %3 activation 0
output sum0 = %6 sum 0
)"),
                                          true);
  EXPECT_EQ(to_string(passes.forward), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = variable() {name = "w", shape = [2]} : float32[2]
%2 = multiply(%0, %1) : float32[2] @0
%3 = exp(%2) : float32[2] @0
output activation0 = %3 activation 0
)");
  EXPECT_EQ(to_string(passes.backward),
            R"(%0 = input() {name = "gradient0", shape = [2], port = "gradient"} : float32[2]
%1 = input() {name = "x", shape = [2]} : float32[2]
%2 = variable() {name = "w", shape = [2]} : float32[2]
%3 = multiply(%1, %2) : float32[2] @0
%4 = exp(%3) : float32[2] @0
%5 = multiply(%0, %4) : float32[2] @0
%6 = multiply(%5, %1) : float32[2] @0
output sum0 = %6 sum 0
)");
}

// %6 is needed by the backward pass alone: it is computed there. The output `slope` depends on a gradient.
TEST(SplitPasses, EachPassMakesWhatIsKnownThen) {
  const StagePasses passes =
      split_passes(parse_graph(R"(%0 = input() {name = "activation0", shape = [2], port = "activation"}
%1 = variable() {name = "mean", shape = [2], role = "statistic"}
%2 = square(%0) @1
%3 = add(%1, %2) @1
%4 = input() {name = "gradient0", shape = [2], port = "gradient"}
%5 = multiply(%4, %2) @1
%6 = tanh(%0) @1
%7 = multiply(%5, %6) @1
output activation0 = %2 activation 0
output gradient0 = %7 gradient 0
output slope = %5 every_step
assign %1 = %3
)"),
                   false);
  EXPECT_EQ(to_string(passes.forward),
            R"(%0 = input() {name = "activation0", shape = [2], port = "activation"} : float32[2]
%1 = square(%0) : float32[2] @1
%2 = variable() {name = "mean", shape = [2], role = "statistic"} : float32[2]
%3 = add(%2, %1) : float32[2] @1
output activation0 = %1 activation 0
output stash0 = %1 stash 0
assign %2 = %3
)");
  EXPECT_EQ(to_string(passes.backward),
            R"(%0 = input() {name = "gradient0", shape = [2], port = "gradient"} : float32[2]
%1 = input() {name = "stash0", shape = [2], port = "stash"} : float32[2]
%2 = multiply(%0, %1) : float32[2] @1
%3 = input() {name = "activation0", shape = [2], port = "activation"} : float32[2]
%4 = tanh(%3) : float32[2] @1
%5 = multiply(%2, %4) : float32[2] @1
output gradient0 = %5 gradient 0
output slope = %2 every_step
)");
}

TEST(SplitPasses, StatisticsAreAssignedOnceWithRecomputation) {
  const StagePasses passes =
      split_passes(parse_graph(R"(%0 = input() {name = "activation0", shape = [2], port = "activation"}
%1 = variable() {name = "mean", shape = [2], role = "statistic"}
%2 = square(%0) @1
%3 = add(%1, %2) @1
%4 = input() {name = "gradient0", shape = [2], port = "gradient"}
%5 = multiply(%4, %2) @1
%6 = tanh(%0) @1
%7 = multiply(%5, %6) @1
output activation0 = %2 activation 0
output gradient0 = %7 gradient 0
output slope = %5 every_step
assign %1 = %3
)"),
                   true);
  EXPECT_EQ(to_string(passes.forward),
            R"(%0 = input() {name = "activation0", shape = [2], port = "activation"} : float32[2]
%1 = square(%0) : float32[2] @1
%2 = variable() {name = "mean", shape = [2], role = "statistic"} : float32[2]
%3 = add(%2, %1) : float32[2] @1
output activation0 = %1 activation 0
assign %2 = %3
)");
  EXPECT_TRUE(passes.backward.assignments().empty()) << to_string(passes.backward);
}

TEST(SplitPasses, WhatHasNoStageIsComputedAgain) {
  const StagePasses passes = split_passes(parse_graph(R"(%0 = input() {name = "mask", dtype = int32, shape = [2]}
%1 = cast(%0) {dtype = float32}
%2 = input() {name = "gradient0", shape = [2], port = "gradient"}
%3 = exp(%1) @0
%4 = multiply(%2, %1) @0
output activation0 = %3 activation 0
output sum0 = %4 sum 0
output sum1 = %1 sum 1
)"),
                                          false);
  EXPECT_EQ(to_string(passes.forward), R"(%0 = input() {name = "mask", dtype = int32, shape = [2]} : int32[2]
%1 = cast(%0) : float32[2]
%2 = exp(%1) : float32[2] @0
output activation0 = %2 activation 0
)");
  EXPECT_EQ(to_string(passes.backward),
            R"(%0 = input() {name = "gradient0", shape = [2], port = "gradient"} : float32[2]
%1 = input() {name = "mask", dtype = int32, shape = [2]} : int32[2]
%2 = cast(%1) : float32[2]
%3 = multiply(%0, %2) : float32[2] @0
output sum0 = %3 sum 0
output sum1 = %2 sum 1
)");
}

// The forward passes of later micro-batches change it before the backward pass comes.
TEST(SplitPasses, AStatisticThatGradientsDependOnIsStashed) {
  const Graph stage = parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "mean", shape = [2], role = "statistic"}
%2 = multiply(%0, %1) @0
%3 = add(%1, %0) @0
%4 = input() {name = "gradient0", shape = [2], port = "gradient"}
%5 = multiply(%4, %1) @0
output activation0 = %2 activation 0
output sum0 = %5 sum 0
assign %1 = %3
)");
  for (bool recomputation : {false, true}) {
    const StagePasses passes = split_passes(stage, recomputation);
    EXPECT_EQ(to_string(passes.forward), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = variable() {name = "mean", shape = [2], role = "statistic"} : float32[2]
%2 = multiply(%0, %1) : float32[2] @0
%3 = add(%1, %0) : float32[2] @0
output activation0 = %2 activation 0
output stash0 = %1 stash 0
assign %1 = %3
)");
    EXPECT_EQ(to_string(passes.backward),
              R"(%0 = input() {name = "gradient0", shape = [2], port = "gradient"} : float32[2]
%1 = input() {name = "stash0", shape = [2], port = "stash"} : float32[2]
%2 = multiply(%0, %1) : float32[2] @0
output sum0 = %2 sum 0
)");
  }
}

TEST(SplitPasses, AStatisticOfGradientsIsAssignedByTheBackwardPass) {
  const StagePasses passes = split_passes(parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "norm", shape = [2], role = "statistic"}
%2 = input() {name = "gradient0", shape = [2], port = "gradient"}
%3 = exp(%0) @0
%4 = multiply(%2, %3) @0
%5 = add(%1, %4) @0
output activation0 = %3 activation 0
output sum0 = %4 sum 0
assign %1 = %5
)"),
                                          false);
  EXPECT_EQ(to_string(passes.forward), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = exp(%0) : float32[2] @0
output activation0 = %1 activation 0
output stash0 = %1 stash 0
)");
  EXPECT_EQ(to_string(passes.backward),
            R"(%0 = input() {name = "gradient0", shape = [2], port = "gradient"} : float32[2]
%1 = input() {name = "stash0", shape = [2], port = "stash"} : float32[2]
%2 = multiply(%0, %1) : float32[2] @0
%3 = variable() {name = "norm", shape = [2], role = "statistic"} : float32[2]
%4 = add(%3, %2) : float32[2] @0
output sum0 = %2 sum 0
assign %3 = %4
)");
}

TEST(SplitPasses, RefusesStagesThatNeedEachOther) {
  const Graph stage = parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = input() {name = "gradient0", shape = [2], port = "gradient"}
%2 = multiply(%0, %1) @0  # layer1
output activation0 = %2 activation 0
)");
  EXPECT_EQ(message([&] { split_passes(stage, false); }),
            "a stage of the pipeline needs 'layer1' of an earlier one, which depends on a later stage; stages must "
            "follow the order of the layers");
}

TEST(Accumulate, TheFirstMicroBatchBeginsTheSumAndTheOthersAddToIt) {
  const Graph backward = parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "mean", shape = [2], role = "statistic"}
%2 = exp(%0) @0
%3 = add(%1, %0) @0
output y = %2 every_step
output sum1 = %2 sum 1
assign %1 = %3
)");
  EXPECT_EQ(to_string(accumulate(backward, true)), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = exp(%0) : float32[2] @0
%2 = variable() {name = "update_sum:1", shape = [2], role = "sum", number = 1} : float32[2]
%3 = variable() {name = "mean", shape = [2], role = "statistic"} : float32[2]
%4 = add(%3, %0) : float32[2] @0
output y = %1 every_step
assign %2 = %1
assign %3 = %4
)");
  EXPECT_EQ(to_string(accumulate(backward, false)), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = exp(%0) : float32[2] @0
%2 = variable() {name = "update_sum:1", shape = [2], role = "sum", number = 1} : float32[2]
%3 = add(%2, %1) : float32[2]
%4 = variable() {name = "mean", shape = [2], role = "statistic"} : float32[2]
%5 = add(%4, %0) : float32[2] @0
output y = %1 every_step
assign %2 = %3
assign %4 = %5
)");
}

}  // namespace
}  // namespace pando
