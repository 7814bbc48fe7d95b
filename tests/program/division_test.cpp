// SPDX-License-Identifier: Apache-2.0
// Divided programs: the order of results, where feeds end, counters, and what is told and refused.
#include <gtest/gtest.h>

#include "program/state.h"
#include "sum_step.h"
#include "tests/message.h"

namespace pando {
namespace {

class DividedProgram : public DividedTest {};
INSTANTIATE_TEST_SUITE_P(Threads, DividedProgram, testing::Bool(), name_of_threads);

// The w of sum_step() after `rows` rows of rows_of_x(), from 0.
std::vector<float> expected_w(std::int64_t rows, int replicas) {
  return {static_cast<float>(-rows * (rows + 1) / 2 * replicas),
          static_cast<float>(-10 * rows * replicas * (replicas - 1) / 2)};
}

TEST_P(DividedProgram, ResultsAreInTheOrderOfTheFeed) {
  for (int stages : {1, 2, 3}) {
    Variables variables;
    Program program(sum_step(stages), devices(stages * 3), {.replicas = 3, .accumulation = 2}, variables);
    Feed feed(program, rows_of_x(100));
    EXPECT_EQ(program.run(4, feed), 4);
    EXPECT_EQ(floats(program.output("sums")), (std::vector<float>{1, 11, 21, 2, 12, 22, 3, 13, 23, 4, 14, 24}));
    // w is 0 in the first update, and {-9, -60} in the second.
    EXPECT_EQ(floats(program.output("losses")),
              (std::vector<float>{0, 0, 0, 0, 0, 0, -27, -627, -1227, -36, -636, -1236}));
    EXPECT_EQ(program.output("last_sum").shape(), (Shape{3}));
    EXPECT_EQ(floats(program.output("last_sum")), (std::vector<float>{4, 14, 24}));
    // Only those of the last run are kept.
    EXPECT_EQ(program.run(1, feed), 1);
    EXPECT_EQ(floats(program.output("sums")), (std::vector<float>{5, 15, 25}));
  }
}

TEST_P(DividedProgram, WithoutReplicasOutputsHaveNoAxisForThem) {
  Program program(sum_step(2), devices(2), {}, Variables());
  Feed feed(program, rows_of_x(100));
  EXPECT_EQ(program.output("last_sum").shape(), Shape());
  EXPECT_EQ(program.output("sums").shape(), (Shape{0}));
  program.run(3, feed);
  EXPECT_EQ(program.output("last_sum").shape(), Shape());
  EXPECT_EQ(program.output("last_sum").item<float>(), 3);
  EXPECT_EQ(program.output("sums").shape(), (Shape{3}));
}

TEST_P(DividedProgram, AFeedMayEndInEveryRowOfAnUpdate) {
  constexpr std::int64_t accumulation = 4;
  for (int stages : {1, 2, 3})
    for (int replicas : {1, 2})
      for (PipelineOrder order : {PipelineOrder::grouped, PipelineOrder::interleaved, PipelineOrder::sequential})
        for (std::int64_t end = 0; end <= 2 * accumulation; ++end) {
          Variables variables;
          Program program(sum_step(stages), devices(stages * replicas),
                          {.replicas = replicas, .accumulation = accumulation, .order = order}, variables);
          Feed feed(program, rows_of_x(end));
          ASSERT_EQ(program.run(3 * accumulation, feed), end);
          EXPECT_EQ(floats(variables.get("w")), expected_w(end, replicas));
          EXPECT_EQ(variables.get("updates").item<std::int64_t>(), (end + accumulation - 1) / accumulation);
          EXPECT_EQ(program.output("sums").shape(), (Shape{end * replicas}));
          // Nothing comes after the end, and nothing changes.
          ASSERT_EQ(program.run(accumulation, feed), 0);
          EXPECT_EQ(floats(variables.get("w")), expected_w(end, replicas));
          EXPECT_EQ(program.output("last_sum").shape(), replicas > 1 ? Shape{replicas} : Shape());
        }
}

TEST_P(DividedProgram, TheLastUpdateOfARunMayBeShorter) {
  Variables variables;
  Program program(sum_step(2), devices(4), {.replicas = 2, .accumulation = 3}, variables);
  Feed feed(program, rows_of_x(100));
  EXPECT_EQ(program.run(7, feed), 7);
  EXPECT_EQ(variables.get("updates").item<int>(), 3);
  EXPECT_EQ(program.run(2, feed), 2);
  EXPECT_EQ(variables.get("updates").item<int>(), 4);
  EXPECT_EQ(program.run(0, feed), 0);
  EXPECT_EQ(floats(variables.get("w")), expected_w(9, 2));
}

TEST_P(DividedProgram, FeedsGoOnWhereTheLastRunEnded) {
  Variables variables;
  Program program(sum_step(2), devices(2), {.accumulation = 2}, variables);
  Feed feed(program, rows_of_x(1000));
  for (std::int64_t rows : {1, 2, 30, 1, 7}) EXPECT_EQ(program.run(rows, feed), rows);
  EXPECT_EQ(floats(variables.get("w")), expected_w(41, 1));
}

// More rows an update than any replica may be ahead of the others, and more or fewer than the feed has room for.
TEST_P(DividedProgram, UpdatesMayBeLongerThanTheFeed) {
  for (int stages : {1, 2, 3})
    for (int slots : {1, 8, 100}) {
      Variables variables;
      Program program(sum_step(stages), devices(stages * 3), {.replicas = 3, .accumulation = 50}, variables);
      Feed feed(program, rows_of_x(1000), slots);
      EXPECT_EQ(program.run(120, feed), 120);
      EXPECT_EQ(floats(variables.get("w")), expected_w(120, 3));
      EXPECT_EQ(variables.get("updates").item<int>(), 3);
    }
}

TEST_P(DividedProgram, RunsWithoutAnUpdateMayBeLong) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {2});
  graph.begin_stage(0);
  const Value y = ops::reduce_sum(x);
  graph.begin_stage(1);
  graph.add_output("y", y + 0.5, true);
  Program program(graph, devices(4), {.replicas = 2}, Variables());
  Feed feed(program, rows_of_x(100), 1);
  EXPECT_EQ(program.run(1000, feed), 100);
  const std::vector<float> results = floats(program.output("y"));
  ASSERT_EQ(results.size(), 200u);
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(results[static_cast<std::size_t>(i)], static_cast<float>(i / 2 + 1 + i % 2 * 10) + 0.5f);
}

TEST_P(DividedProgram, WhatIsSetReachesAllReplicas) {
  Variables variables;
  Program program(sum_step(2), devices(6), {.replicas = 3}, variables);
  Feed feed(program, rows_of_x(100));
  program.run(2, feed);
  variables.set("w", Array::of<float>({1, 2}, {2}));
  program.run(1, feed);
  EXPECT_EQ(floats(program.output("losses")), (std::vector<float>{3, 23, 43}));
  for (int replica = 0; replica < 3; ++replica)
    EXPECT_EQ(floats(ProgramInside::variables_of_replica(program, replica).get("w")),
              (std::vector<float>{1 - 9, 2 - 30}));
}

TEST_P(DividedProgram, AProgramWithoutInputsRunsOnTwoStages) {
  Graph graph;
  const Value w = ops::variable(graph, "w", DType::float32, {});
  graph.begin_stage(0);
  const Value next = w + 1.0;
  graph.begin_stage(1);
  const Value loss = next * 2.0;
  graph.add_output("losses", loss, true);
  graph.begin_stage(0);
  graph.assign(w, w + ops::update_sum(gradients(loss, {w})[0]));
  Variables variables;
  Program program(graph, devices(4), {.replicas = 2, .accumulation = 2}, variables);
  EXPECT_EQ(program.run(4), 4);
  EXPECT_EQ(variables.get("w").item<int>(), 2 * 2 * 2 * 2);
  EXPECT_EQ(floats(program.output("losses")), (std::vector<float>{2, 2, 2, 2, 18, 18, 18, 18}));
}

// A step that tells its counter, from the first stage and from the last; in training also what the update saw.
Graph counting_step(bool trains) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {2});
  const Value counter = ops::counter(graph);
  const auto numbers = [&](const std::string& name) { return ops::variable(graph, name, DType::int64, {2}); };
  graph.begin_stage(0);
  const Value first = ops::cast(counter, DType::float64);
  graph.add_output("first", first, true);
  graph.begin_stage(1);
  graph.add_output("last", first * 1.0, true);
  if (!trains) return graph;
  const Value sum = ops::variable(graph, "sum", DType::float32, {2});
  graph.assign(sum, ops::update_sum(x));
  graph.begin_stage(any_stage);
  graph.assign(numbers("of_update"), counter);
  return graph;
}

std::vector<std::int64_t> integers(const Array& array) {
  const Array numbers = array.astype(DType::int64);
  return {numbers.data<std::int64_t>(), numbers.data<std::int64_t>() + numbers.elements()};
}

TEST_P(DividedProgram, CountersAreThoseOfTheUpdateAndItsSamples) {
  constexpr std::int64_t first_update = std::int64_t{1} << 32;
  for (bool trains : {true, false}) {
    Variables variables;
    Program program(counting_step(trains), devices(6), {.replicas = 3, .accumulation = 2, .batch_size = 5}, variables);
    Feed feed(program, rows_of_x(100));
    constexpr std::int64_t rows = 5;
    ASSERT_EQ(trains ? program.run({.rows = rows, .first_update = first_update}, feed)
                     : program.run({.rows = rows, .first_update = first_update}),
              rows);
    std::vector<std::int64_t> expected;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t replica = 0; replica < 3; ++replica) {
        expected.push_back(first_update + (trains ? row / 2 : row));
        expected.push_back(5 * (trains ? row % 2 * 3 + replica : replica));
      }
    EXPECT_EQ(integers(program.output("first")), expected);
    EXPECT_EQ(integers(program.output("last")), expected);
    if (!trains) continue;
    // All replicas make the same update.
    for (int replica = 0; replica < 3; ++replica)
      EXPECT_EQ(integers(ProgramInside::variables_of_replica(program, replica).get("of_update")),
                (std::vector<std::int64_t>{first_update + 2, 0}));
    // Goes on counting: five rows were three updates.
    program.run(1, feed);
    EXPECT_EQ(integers(program.output("last")).at(0), first_update + 3);
  }
}

TEST_P(DividedProgram, OneReplicaAddsUpWhateverItsTypeIs) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float64, {});
  const Value w = ops::variable(graph, "w", DType::float64, {});
  graph.begin_stage(0);
  const Value y = x * w;
  graph.begin_stage(1);
  const Value loss = ops::reduce_sum(y);
  graph.begin_stage(0);
  graph.assign(w, w - ops::update_sum(gradients(loss, {w})[0]));
  Variables variables;
  Program program(graph, devices(2), {.accumulation = 2}, variables);
  Feed feed(program, [](std::int64_t row, std::span<std::byte* const> feeds) {
    *reinterpret_cast<double*>(feeds[0]) = static_cast<double>(row + 1) + 1e-12;
    return true;
  });
  program.run(2, feed);
  EXPECT_NEAR(variables.get("w").item<double>(), -3 - 2e-12, 1e-15);
  EXPECT_EQ(message([&] { Program(graph, devices(4), {.replicas = 2}, Variables()); }),
            "the variable 'update_sum:0' is float64[] but only float32 ones can be shared by replicas");
}

TEST(Division, RefusesSingleSteps) {
  Program program(sum_step(2), devices(2), {}, Variables());
  const std::string expected =
      "step: the program is divided over several devices or accumulates gradients, and only run() runs that";
  EXPECT_EQ(message([&] { program.step({{"x", Array::of<float>({1, 2}, {2})}}); }), expected);
  EXPECT_EQ(message([&] { program.step(std::span<const std::byte* const>(), std::span<std::byte* const>()); }),
            expected);
  EXPECT_EQ(message([&] { program.run(1); }), "run: the graph has 1 inputs, the first is 'x'; give a Feed");
  EXPECT_EQ(message([&] { program.output("loses"); }), "unknown output 'loses'; did you mean 'losses'?");
}

TEST(Division, RefusesNumbersThatDoNotFit) {
  const Graph graph = sum_step(2);
  EXPECT_EQ(message([&] { Program(graph, devices(1), {}, Variables()); }),
            "a program of 1 replicas of 2 stages was given 1 devices; give one for each stage");
  EXPECT_EQ(message([&] { Program(graph, devices(3), {.replicas = 2}, Variables()); }),
            "a program of 2 replicas of 2 stages was given 3 devices; give one for each stage");
  EXPECT_EQ(message([&] { Program(graph, devices(2), {.accumulation = 0}, Variables()); }),
            "an update of a program was given 0 micro-batches; give at least 1");
}

TEST(Division, ToldOfAProgramIsWhatTheGraphSays) {
  const Program program(sum_step(2), devices(4), {.replicas = 2, .accumulation = 3}, Variables());
  ASSERT_EQ(program.feeds().size(), 1u);
  EXPECT_EQ(program.feeds()[0].name, "x");
  const std::vector<VariableInfo> variables = program.variables();
  ASSERT_EQ(variables.size(), 2u);
  EXPECT_EQ(variables[0].name, "w");
  EXPECT_EQ(variables[0].type, (Type{DType::float32, {2}}));
  EXPECT_EQ(variables[0].role, VariableRole::weight);
  EXPECT_EQ(variables[1].name, "updates");
  EXPECT_EQ(variables[1].role, VariableRole::slot);
  std::vector<std::string> outputs;
  for (const PortInfo& output : program.outputs()) outputs.push_back(output.name);
  EXPECT_EQ(outputs, (std::vector<std::string>{"sums", "last_sum", "losses"}));
}

TEST(Division, DeviceUseTellsStagesApart) {
  const Graph graph = sum_step(2);
  const Program grouped(graph, devices(2), {.accumulation = 3}, Variables());
  const std::vector<DeviceUse> use = grouped.device_use();
  ASSERT_EQ(use.size(), 2u);
  EXPECT_EQ(use[0].sums, 2 * sizeof(float));
  EXPECT_EQ(use[1].sums, 0u);
  EXPECT_GT(use[0].feeds, 0u);
  EXPECT_EQ(use[1].feeds, 0u);
  for (const DeviceUse& stage : use) {
    EXPECT_GT(stage.stash, 0u);
    EXPECT_GT(stage.megaflops, 0);
  }
  EXPECT_EQ(grouped.working_bytes(), use[0].working + use[1].working);
  // The first stage keeps fewer micro-batches if one stage works at a time.
  const Program sequential(graph, devices(2), {.accumulation = 3, .order = PipelineOrder::sequential}, Variables());
  EXPECT_LT(sequential.device_use()[0].stash, use[0].stash);
}

}  // namespace
}  // namespace pando
