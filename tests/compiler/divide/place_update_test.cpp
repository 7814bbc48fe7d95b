// SPDX-License-Identifier: Apache-2.0
// place_update: which stage updates what, and what the updates of stages need of each other.
#include <gtest/gtest.h>

#include "compiler/divide/divide.h"
#include "ops/op_list.h"

namespace pando {
namespace {

using Numbers = std::vector<std::int32_t>;

// Both stages add the sums of squares in the same order, and so find the same norm.
TEST(PlaceUpdate, TheGlobalNormIsMadeOfWhatStagesExchange) {
  const Graph update = parse_graph(R"(%0 = variable() {name = "update_sum:0", shape = [2], role = "sum", number = 0} @0
%1 = variable() {name = "update_sum:1", shape = [2], role = "sum", number = 1} @1
%2 = reduce_sum(%0) {axes = [0]} @0
%3 = reduce_sum(%1) {axes = [0]} @1
%4 = add(%2, %3)
%5 = variable() {name = "a", shape = [2]}
%6 = multiply(%0, %4) @0
%7 = variable() {name = "b", shape = [2]}
%8 = multiply(%1, %4) @1
assign %5 = %6
assign %7 = %8
)");
  const std::vector<UpdateParts> stages = place_update(update, 2);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(to_string(stages[0].values),
            R"(%0 = variable() {name = "update_sum:0", shape = [2], role = "sum"} : float32[2] @0
%1 = reduce_sum(%0) {axes = [0]} : float32[] @0
output exchange0 = %1 exchange 0
)");
  EXPECT_EQ(to_string(stages[0].update),
            R"(%0 = variable() {name = "update_sum:0", shape = [2], role = "sum"} : float32[2] @0
%1 = reduce_sum(%0) {axes = [0]} : float32[] @0
%2 = input() {name = "exchange1", port = "exchange", number = 1} : float32[]
%3 = add(%1, %2) : float32[]
%4 = multiply(%0, %3) : float32[2] @0
%5 = variable() {name = "a", shape = [2]} : float32[2]
assign %5 = %4
)");
  EXPECT_EQ(stages[0].sums, Numbers({0}));
  EXPECT_EQ(to_string(stages[1].values),
            R"(%0 = variable() {name = "update_sum:1", shape = [2], role = "sum", number = 1} : float32[2] @1
%1 = reduce_sum(%0) {axes = [0]} : float32[] @1
output exchange1 = %1 exchange 1
)");
  EXPECT_EQ(to_string(stages[1].update),
            R"(%0 = variable() {name = "update_sum:1", shape = [2], role = "sum", number = 1} : float32[2] @1
%1 = input() {name = "exchange0", port = "exchange"} : float32[]
%2 = reduce_sum(%0) {axes = [0]} : float32[] @1
%3 = add(%1, %2) : float32[]
%4 = multiply(%0, %3) : float32[2] @1
%5 = variable() {name = "b", shape = [2]} : float32[2]
assign %5 = %4
)");
  EXPECT_EQ(stages[1].sums, Numbers({1}));
}

TEST(PlaceUpdate, OneStageExchangesNothing) {
  const std::vector<UpdateParts> stages =
      place_update(parse_graph(R"(%0 = variable() {name = "update_sum:0", shape = [2], role = "sum", number = 0} @0
%1 = variable() {name = "update_sum:1", shape = [2], role = "sum", number = 1} @1
%2 = reduce_sum(%0) {axes = [0]} @0
%3 = reduce_sum(%1) {axes = [0]} @1
%4 = add(%2, %3)
%5 = variable() {name = "a", shape = [2]}
%6 = multiply(%0, %4) @0
%7 = variable() {name = "b", shape = [2]}
%8 = multiply(%1, %4) @1
assign %5 = %6
assign %7 = %8
)"),
                   1);
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_TRUE(stages[0].values.nodes().empty());
  EXPECT_EQ(stages[0].update.assignments().size(), 2u);
  EXPECT_EQ(stages[0].sums, Numbers({0, 1}));
}

// The count of samples has no stage. What no stage claims, `total`, is assigned by the last.
TEST(PlaceUpdate, EveryStageHasTheCount) {
  const std::vector<UpdateParts> stages =
      place_update(parse_graph(R"(%0 = variable() {name = "update_sum:0", shape = [2], role = "sum", number = 0} @0
%1 = variable() {name = "update_sum:1", shape = [], role = "sum", number = 1}
%2 = variable() {name = "update_sum:2", shape = [2], role = "sum", number = 2} @1
%3 = variable() {name = "a", shape = [2]}
%4 = divide(%0, %1) @0
%5 = variable() {name = "b", shape = [2]}
%6 = divide(%2, %1) @1
%7 = variable() {name = "total", shape = []}
assign %3 = %4
assign %5 = %6
assign %7 = %1
)"),
                   2);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(to_string(stages[0].update),
            R"(%0 = variable() {name = "update_sum:0", shape = [2], role = "sum"} : float32[2] @0
%1 = variable() {name = "update_sum:1", role = "sum", number = 1} : float32[]
%2 = divide(%0, %1) : float32[2] @0
%3 = variable() {name = "a", shape = [2]} : float32[2]
assign %3 = %2
)");
  EXPECT_EQ(stages[0].sums, Numbers({0, 1}));
  EXPECT_EQ(to_string(stages[1].update),
            R"(%0 = variable() {name = "update_sum:2", shape = [2], role = "sum", number = 2} : float32[2] @1
%1 = variable() {name = "update_sum:1", role = "sum", number = 1} : float32[]
%2 = divide(%0, %1) : float32[2] @1
%3 = variable() {name = "b", shape = [2]} : float32[2]
%4 = variable() {name = "total"} : float32[]
assign %3 = %2
assign %4 = %1
)");
  EXPECT_EQ(stages[1].sums, Numbers({1, 2}));
  for (const UpdateParts& stage : stages) EXPECT_TRUE(stage.values.nodes().empty());
}

// Such as a slope that is clipped by its own norm: the squares are of the same stage.
TEST(PlaceUpdate, ValuesOfTheOwnStageAreNotExchanged) {
  const std::vector<UpdateParts> stages =
      place_update(parse_graph(R"(%0 = variable() {name = "update_sum:0", shape = [2], role = "sum"} @0
%1 = reduce_sum(%0) {axes = [0]} @0
%2 = multiply(%0, %1) @0
%3 = variable() {name = "a", shape = [2]}
%4 = variable() {name = "update_sum:1", shape = [2], role = "sum", number = 1} @1
%5 = variable() {name = "b", shape = [2]}
assign %3 = %2
assign %5 = %4
)"),
                   2);
  for (const UpdateParts& stage : stages) EXPECT_TRUE(stage.values.nodes().empty());
  EXPECT_EQ(stages.at(0).sums, Numbers({0}));
  EXPECT_EQ(stages.at(1).sums, Numbers({1}));
}

// It would be another one as soon as the stage that assigns it has made its update.
TEST(PlaceUpdate, AVariableThatOneStageAssignsIsToldToTheOthers) {
  const std::vector<UpdateParts> stages =
      place_update(parse_graph(R"(%0 = variable() {name = "update_sum:0", shape = [2], role = "sum"} @0
%1 = variable() {name = "steps"}
%2 = constant() {value = <1>} : float32[] @1
%3 = add(%1, %2)
%4 = multiply(%0, %1) @0
%5 = variable() {name = "a", shape = [2]}
%6 = multiply(%4, %2) @0
assign %5 = %6
assign %1 = %3
)"),
                   2);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(to_string(stages[0].values), "");
  EXPECT_EQ(to_string(stages[0].update),
            R"(%0 = variable() {name = "update_sum:0", shape = [2], role = "sum"} : float32[2] @0
%1 = input() {name = "exchange0", port = "exchange"} : float32[]
%2 = multiply(%0, %1) : float32[2] @0
%3 = constant() {value = <1>} : float32[] @1
%4 = multiply(%2, %3) : float32[2] @0
%5 = variable() {name = "a", shape = [2]} : float32[2]
assign %5 = %4
)");
  EXPECT_EQ(to_string(stages[1].values), R"(%0 = variable() {name = "steps"} : float32[]
output exchange0 = %0 exchange 0
)");
  EXPECT_EQ(to_string(stages[1].update), R"(%0 = variable() {name = "steps"} : float32[]
%1 = constant() {value = <1>} : float32[] @1
%2 = add(%0, %1) : float32[]
assign %0 = %2
)");
}

TEST(PlaceUpdate, OneExchangeMustBeEnough) {
  const Graph update = parse_graph(R"(%0 = variable() {name = "update_sum:0", shape = [2], role = "sum"} @0
%1 = variable() {name = "update_sum:1", shape = [2], role = "sum", number = 1} @1
%2 = exp(%1) @1
%3 = multiply(%0, %2) @0
%4 = multiply(%1, %3) @1
%5 = variable() {name = "b", shape = [2]}
assign %5 = %4
)");
  EXPECT_THROW(place_update(update, 2), InternalError);
  EXPECT_NO_THROW(place_update(update, 1));
}

}  // namespace
}  // namespace pando
