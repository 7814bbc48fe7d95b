// SPDX-License-Identifier: Apache-2.0
// StepPlan: the programs of all devices of a step, and the places of what passes between them.
#include "plan/step_plan.h"

#include <gtest/gtest.h>

#include "compiler/compile_step.h"
#include "ops/op_list.h"
#include "plan/parse.h"
#include "tests/message.h"

namespace pando {
namespace {

// Two stages; `w` is trained, `mean` is a statistic.
constexpr const char* two_stages = R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "w", shape = [2]}
%2 = multiply(%0, %1) @0
%3 = exp(%2) @1
%4 = multiply(%3, %0) @0
%5 = update_sum(%4) @0
%6 = subtract(%1, %5) @0
%7 = variable() {name = "mean", shape = [2], role = "statistic"}
%8 = add(%7, %2) @0
%9 = replica_mean(%8) @0
output y = %3 every_step
output last = %2
assign %1 = %6
assign %7 = %9
)";

TEST(StepPlan, TheTextShowsConnectionsAndPrograms) {
  const StepPlan plan = compile_step(
      parse_graph(two_stages), {.replicas = 2, .accumulation = 4, .batch_size = 3, .order = PipelineOrder::interleaved},
      {.disabled_passes = {"fuse_elementwise"}});
  EXPECT_EQ(to_string(plan), R"(step of 2 replicas, 4 rows an update, 3 samples a micro-batch
schedule Interleaved period 2 forward [0, 1] backward [3, 2]
host 64 bytes
  0 = "x" float32[2] host 0
results 128 bytes
  0 = "last" float32[2] result 0
  64 = "y" float32[2] result 0 every_step
exchange 0 bytes
stage 0
slot 64 bytes
  0 = "gradient0" float32[2] gradient 0
sum "update_sum:0" = none float32[2] sum assigned
statistic "mean" = none float32[2] statistic assigned
program forward
plan arena 64 feed 64
b0 = feed 0, 8 bytes
b1 = variable 0, 8 bytes
b2 = variable 1, 8 bytes
b3 = arena 0, 8 bytes
feed "x" = b0 float32[2]
variable "w" = b1 float32[2] weight
variable "mean" = b2 float32[2] statistic assigned
output "activation0" = b3 float32[2] activation 0
output "last" = b3 float32[2]
superstep
  (b3 float32[2]) = multiply(b0 float32[2], b1 float32[2])
superstep
  (b2 float32[2]) = add(b2 float32[2], b3 float32[2])
program backward_first
plan arena 0 feed 128
b0 = feed 0, 8 bytes
b1 = feed 64, 8 bytes
b2 = variable 0, 8 bytes
feed "gradient0" = b0 float32[2] gradient 0
feed "x" = b1 float32[2]
variable "update_sum:0" = b2 float32[2] sum assigned
superstep
  (b2 float32[2]) = multiply(b0 float32[2], b1 float32[2])
program backward_next
plan arena 64 feed 128
b0 = feed 0, 8 bytes
b1 = feed 64, 8 bytes
b2 = variable 0, 8 bytes
b3 = arena 0, 8 bytes
feed "gradient0" = b0 float32[2] gradient 0
feed "x" = b1 float32[2]
variable "update_sum:0" = b2 float32[2] sum assigned
superstep
  (b3 float32[2]) = multiply(b0 float32[2], b1 float32[2])
superstep
  (b2 float32[2]) = add(b2 float32[2], b3 float32[2])
program update
plan arena 0 feed 0
b0 = variable 0, 8 bytes
b1 = variable 1, 8 bytes
variable "w" = b0 float32[2] weight assigned
variable "update_sum:0" = b1 float32[2] sum
superstep
  (b0 float32[2]) = subtract(b0 float32[2], b1 float32[2])
stage 1
slot 64 bytes
  0 = "activation0" float32[2] activation 0
program backward_first
plan arena 64 feed 64
b0 = feed 0, 8 bytes
b1 = arena 0, 8 bytes
feed "activation0" = b0 float32[2] activation 0
output "gradient0" = b1 float32[2] gradient 0
output "y" = b1 float32[2] every_step
superstep
  (b1 float32[2]) = exp(b0 float32[2])
program backward_next
plan arena 64 feed 64
b0 = feed 0, 8 bytes
b1 = arena 0, 8 bytes
feed "activation0" = b0 float32[2] activation 0
output "gradient0" = b1 float32[2] gradient 0
output "y" = b1 float32[2] every_step
superstep
  (b1 float32[2]) = exp(b0 float32[2])
)");
  EXPECT_TRUE(plan.has_backward());
  EXPECT_FALSE(plan.is_whole());
}

// Clipped by the norm of all gradients: each stage exchanges its part.
constexpr const char* clipped = R"(%0 = input() {name = "x", shape = [2]}
%1 = variable() {name = "v", shape = [2]}
%2 = variable() {name = "w", shape = [2]}
%3 = multiply(%0, %1) @0
%4 = multiply(%3, %2) @1
%5 = multiply(%4, %2) @0
%6 = update_sum(%5) @0
%7 = update_sum(%4) @1
%8 = reduce_sum(%6) {axes = [0]} @0
%9 = reduce_sum(%7) {axes = [0]} @1
%10 = add(%8, %9)
%11 = multiply(%6, %10) @0
%12 = multiply(%7, %10) @1
output y = %4
assign %1 = %11
assign %2 = %12
)";

void expect_survival(const Graph& step, const Division& division) {
  const StepPlan plan = compile_step(step, division, {.check_numerics = true});
  const StepPlan again = parse_step_plan(to_string(plan), find_op);
  EXPECT_TRUE(again == plan) << to_string(plan) << "became\n" << to_string(again);
}

// A field that the text form forgot would be lost on the way: plans are compared, not their texts.
TEST(StepPlan, EveryFieldSurvivesTheRoundTrip) {
  for (PipelineOrder order : {PipelineOrder::grouped, PipelineOrder::interleaved, PipelineOrder::sequential})
    for (int replicas : {1, 2})
      for (bool recomputation : {false, true})
        for (const char* step : {two_stages, clipped})
          expect_survival(parse_graph(step), {.replicas = replicas,
                                              .accumulation = 3,
                                              .batch_size = 5,
                                              .order = order,
                                              .recomputation = recomputation});
  expect_survival(parse_graph("%0 = input() {name = \"x\", shape = [2]}\n%1 = exp(%0)\noutput y = %1\n"),
                  {.batch_size = 2});
  EXPECT_FALSE(compile_step(parse_graph(clipped), {.replicas = 2}).exchange.list.empty());
}

TEST(StepPlan, EveryFieldIsCompared) {
  const StepPlan plan = compile_step(parse_graph(clipped), {.replicas = 2});
  const auto expect_difference = [&](const auto& change) {
    StepPlan other = plan;
    change(other);
    EXPECT_FALSE(other == plan) << to_string(other);
    EXPECT_NE(to_string(other), to_string(plan));
  };
  expect_difference([](StepPlan& other) { other.replicas = 3; });
  expect_difference([](StepPlan& other) { other.rows_per_update = 2; });
  expect_difference([](StepPlan& other) { other.batch_size = 2; });
  expect_difference([](StepPlan& other) { other.schedule.backward[0] += 2; });
  expect_difference([](StepPlan& other) { other.host.bytes += 64; });
  expect_difference([](StepPlan& other) { other.results.list[0].every_step = true; });
  expect_difference([](StepPlan& other) { other.exchange.list[0].number = 9; });
  expect_difference([](StepPlan& other) { other.stages[0].slot.list[0].offset += 64; });
  expect_difference([](StepPlan& other) { other.stages[1].sums[0].name = "another"; });
  expect_difference([](StepPlan& other) { other.stages[0].forward.reset(); });
  expect_difference([](StepPlan& other) { other.stages[1].update->arena_bytes += 64; });
}

TEST(StepPlan, ErrorsOfTheTextNameTheLine) {
  const auto refusal = [](const char* text) { return message([&] { parse_step_plan(text, find_op); }); };
  EXPECT_EQ(refusal("step of two replicas\n"), "line 1: expected a number at 'two replicas'");
  EXPECT_EQ(refusal("\n  0 = \"x\" float32[2] host 0\n"), "line 2: a place stands before the memory that it is in");
  EXPECT_EQ(refusal("slot 64 bytes\n"), "line 1: this stands before the first stage");
  EXPECT_EQ(refusal("stage 1\n"), "line 1: expected '0' at '1'");
  EXPECT_EQ(refusal("stage 0\nprogram forwards\n"), "line 2: a stage has no program 'forwards'");
  EXPECT_EQ(refusal("stage 0\n  0 = \"x\" float32[2] host 0\n"),
            "line 2: a place stands before the memory that it is in");
}

// One stage with as many programs as are not null, by their order in StagePlan::all().
std::string programs_of(const StagePlan& stage) {
  std::string text;
  for (const Plan* program : stage.all()) text += program == nullptr ? '-' : '+';
  return text;
}

TEST(StepPlan, MissingProgramsHaveNothingToDo) {
  const Graph step = parse_graph(two_stages);
  const StepPlan plan = compile_step(step, {});
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(programs_of(plan.stages[0]), "+++-+");
  EXPECT_EQ(programs_of(plan.stages[1]), "-++--");
}

// One stage, one replica and one micro-batch an update: the step as it is.
TEST(StepPlan, AWholeStepIsOneProgram) {
  std::string text = two_stages;
  for (std::size_t at; (at = text.find(" @")) != std::string::npos;) text.erase(at, 3);
  const Graph step = parse_graph(text);
  const StepPlan whole = compile_step(step, {});
  EXPECT_TRUE(whole.is_whole());
  EXPECT_FALSE(whole.has_backward());
  EXPECT_EQ(programs_of(whole.stages.at(0)), "+----");
  EXPECT_FALSE(compile_step(step, {.replicas = 2}).is_whole());
  EXPECT_FALSE(compile_step(step, {.accumulation = 2}).is_whole());
}

TEST(StepPlan, WithoutAnUpdateRowsAreTheirOwnUpdates) {
  const Graph step = parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = exp(%0) @0
%2 = tanh(%1) @1
output y = %2
)");
  const StepPlan plan = compile_step(step, {.replicas = 3, .accumulation = 4});
  EXPECT_EQ(plan.rows_per_update, 1);
  EXPECT_FALSE(plan.has_backward());
  EXPECT_FALSE(plan.is_whole());
  for (const StagePlan& stage : plan.stages) EXPECT_EQ(programs_of(stage), "+----");
}

TEST(StepPlan, RefusesAStageThatNeedsALaterOne) {
  EXPECT_EQ(message([] {
              compile_step(parse_graph(R"(%0 = input() {name = "x", shape = [2]}
%1 = exp(%0) @1
%2 = tanh(%1) @0
output y = %2
)"),
                           {});
            }),
            "a stage of the pipeline needs what a later one makes; stages must follow the order of the layers");
}

Port port(PortKind kind, std::int32_t number, const std::string& name, const Shape& shape) {
  return {.name = name, .type = {DType::float32, shape}, .kind = kind, .number = number};
}

TEST(Fields, DevicesKnowPlacesByKindAndNumber) {
  Fields fields;
  fields.add(port(PortKind::activation, 0, "activation0", {3}));
  fields.add(port(PortKind::stash, 0, "stash0", {17}));
  fields.add(port(PortKind::stash, 1, "stash1", {}));
  // The programs of a stage name the same place.
  fields.add(port(PortKind::stash, 0, "another name", {17}));
  ASSERT_EQ(fields.list.size(), 3u);
  EXPECT_EQ(fields.of(port(PortKind::activation, 0, "", {})).offset, 0u);
  EXPECT_EQ(fields.of(port(PortKind::stash, 0, "", {})).offset, 64u);
  // 17 numbers need more than one multiple of the alignment.
  EXPECT_EQ(fields.of(port(PortKind::stash, 1, "", {})).offset, 192u);
  EXPECT_EQ(fields.bytes, 256u);
}

TEST(Fields, HostsKnowPlacesByName) {
  Fields fields;
  fields.add(port(PortKind::host, 0, "x", {2}));
  fields.add(port(PortKind::host, 0, "labels", {2}));
  fields.add(port(PortKind::host, 5, "x", {2}));
  ASSERT_EQ(fields.list.size(), 2u);
  EXPECT_EQ(fields.of(port(PortKind::host, 0, "labels", {})).offset, 64u);
  EXPECT_THROW(fields.of(port(PortKind::host, 0, "y", {})), InternalError);
  EXPECT_THROW(fields.of(port(PortKind::result, 0, "x", {})), InternalError);
}

}  // namespace
}  // namespace pando
