// SPDX-License-Identifier: Apache-2.0
// split_update and remove_spans: what is done for each micro-batch, and what once an update.
#include <gtest/gtest.h>

#include "compiler/divide/divide.h"
#include "ops/op_list.h"
#include "tests/message.h"

namespace pando {
namespace {

TEST(SplitUpdate, TheUpdateReadsWhatMicroBatchesSum) {
  const StepHalves halves = split_update(parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "w", shape = [2]}
%2 = variable() {name = "rate", shape = [], role = "rate"}
%3 = multiply(%0, %1)
%4 = update_sum(%3)
%5 = sgd_update(%2, %1, %4)
output y = %3 every_step
assign %1 = %5
)"));
  EXPECT_EQ(to_string(halves.micro_batch), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = variable() {name = "w", shape = [2]} : float32[2]
%2 = multiply(%0, %1) : float32[2]
output y = %2 every_step
output sum0 = %2 sum 0
)");
  EXPECT_EQ(to_string(halves.update), R"(%0 = variable() {name = "update_sum:0", shape = [2], role = "sum"} : float32[2]
%1 = variable() {name = "rate", role = "rate"} : float32[]
%2 = variable() {name = "w", shape = [2]} : float32[2]
%3 = sgd_update(%1, %2, %0) : float32[2]
assign %2 = %3
)");
}

// Sums are numbered in the order of the graph and keep their stages. `steps` depends on nothing that is fed: it counts
// updates; `mean` changes with each micro-batch.
TEST(SplitUpdate, AssignmentsBelongToWhatTheyDependOn) {
  const StepHalves halves = split_update(parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "mean", shape = [2], role = "statistic"}
%2 = variable() {name = "steps", shape = []}
%3 = constant() {value = <1>} : float32[]
%4 = add(%2, %3)
%5 = add(%1, %0)
%6 = replica_mean(%5)
%7 = exp(%0) @1
%8 = update_sum(%7) @1
%9 = update_sum(%0) @0
%10 = variable() {name = "v", shape = [2]}
%11 = add(%9, %8)
output y = %0
assign %1 = %6
assign %2 = %4
assign %10 = %11
)"));
  EXPECT_EQ(to_string(halves.micro_batch), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = exp(%0) : float32[2] @1
%2 = variable() {name = "mean", shape = [2], role = "statistic"} : float32[2]
%3 = add(%2, %0) : float32[2]
%4 = replica_mean(%3) : float32[2]
output y = %0
output sum0 = %1 sum 0
output sum1 = %0 sum 1
assign %2 = %4
)");
  EXPECT_EQ(to_string(halves.update),
            R"(%0 = variable() {name = "update_sum:0", shape = [2], role = "sum"} : float32[2] @1
%1 = variable() {name = "update_sum:1", shape = [2], role = "sum", number = 1} : float32[2] @0
%2 = variable() {name = "steps"} : float32[]
%3 = constant() {value = <1>} : float32[]
%4 = add(%2, %3) : float32[]
%5 = add(%1, %0) : float32[2]
%6 = variable() {name = "v", shape = [2]} : float32[2]
assign %2 = %4
assign %6 = %5
)");
}

TEST(SplitUpdate, RefusesOutputsOfTheUpdate) {
  EXPECT_EQ(message([] {
              split_update(parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = update_sum(%0)
%2 = exp(%1)
output total = %2
)"));
            }),
            "the output 'total' depends on the update, which is made once for several micro-batches; return what each "
            "micro-batch computes");
}

TEST(SplitUpdate, RefusesUpdatesThatUseOneMicroBatch) {
  const auto step_with = [](const std::string& name) {
    return parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "w", shape = [2]}
%2 = update_sum(%0)
%3 = exp(%0))" + name +
                       R"(
%4 = multiply(%2, %3)
assign %1 = %4
)");
  };
  EXPECT_EQ(message([&] { split_update(step_with("")); }),
            "the update uses 'exp', which each micro-batch computes anew; use its update_sum");
  EXPECT_EQ(message([&] { split_update(step_with("  # layer1/exp")); }),
            "the update uses 'layer1/exp', which each micro-batch computes anew; use its update_sum");
}

TEST(RemoveSpans, OneMicroBatchIsItsOwnSum) {
  const Graph step = parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "mean", shape = [2], role = "statistic"}
%2 = variable() {name = "steps", shape = []}
%3 = constant() {value = <1>} : float32[]
%4 = add(%2, %3)
%5 = add(%1, %0)
%6 = replica_mean(%5)
%7 = exp(%0) @1
%8 = update_sum(%7) @1
%9 = update_sum(%0) @0
%10 = variable() {name = "v", shape = [2]}
%11 = add(%9, %8)
output y = %0
assign %1 = %6
assign %2 = %4
assign %10 = %11
)");
  EXPECT_TRUE(trains(step));
  const Graph whole = remove_spans(step);
  EXPECT_EQ(to_string(whole), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = variable() {name = "mean", shape = [2], role = "statistic"} : float32[2]
%2 = variable() {name = "steps"} : float32[]
%3 = constant() {value = <1>} : float32[]
%4 = add(%2, %3) : float32[]
%5 = add(%1, %0) : float32[2]
%6 = exp(%0) : float32[2] @1
%7 = variable() {name = "v", shape = [2]} : float32[2]
%8 = add(%0, %6) : float32[2]
output y = %0
assign %1 = %5
assign %2 = %4
assign %7 = %8
)");
  EXPECT_FALSE(trains(whole));
}

TEST(RemoveSpans, AMeanOverReplicasAloneDoesNotTrain) {
  const Graph step = parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "mean", shape = [2], role = "statistic"}
%2 = replica_mean(%0)
assign %1 = %2
)");
  EXPECT_FALSE(trains(step));
  EXPECT_EQ(to_string(remove_spans(step)), R"(%0 = input() {name = "x", shape = [2]} : float32[2]
%1 = variable() {name = "mean", shape = [2], role = "statistic"} : float32[2]
assign %1 = %0
)");
}

}  // namespace
}  // namespace pando
