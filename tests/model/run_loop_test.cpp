// SPDX-License-Identifier: Apache-2.0
// A step is given whole micro-batches however many samples there are, and no sample counts that is not there.
#include <gtest/gtest.h>
#include <pando/base/array_functions.h>

#include <cstring>

#include "model/run_loop.h"
#include "tests/message.h"

using namespace pando;

namespace {

// Gives back what it is fed: x, [2], its weights, mask and scale.
Step echo_step(const Division& division, const StepFeeds& feeds) {
  Graph graph;
  const Trace trace(graph, false);
  graph.add_output("x", ops::input(graph, "x", DType::float32, {2}) * 1.0, true);
  if (feeds.columns.size() > 1 && feeds.columns[1] == "weight")
    graph.add_output("weight", ops::input(graph, "weight", DType::float32, {2}) * 1.0, true);
  if (!feeds.mask.empty()) graph.add_output("mask", ops::input(graph, "mask", DType::float32, {2}) * 1.0, true);
  if (!feeds.scale.empty()) graph.add_output("scale", ops::input(graph, "scale", DType::float32, {}) * 1.0, true);
  const std::vector<Device> devices(static_cast<std::size_t>(division.replicas), Device({.tiles = 1}));
  return Step(trace, devices, division, Variables(), feeds);
}

const StepFeeds all_feeds{.columns = {"x"}, .mask = "mask", .scale = "scale"};

Array numbers(std::initializer_list<float> values) {
  return Array::of<float>(values, {static_cast<std::int64_t>(values.size())});
}

// A device that gathers samples itself never shows them to the host, which must see indices first.
TEST(RunLoop, ChecksIndicesBeforeTheyAreFed) {
  for (const std::int64_t width : {2, 40}) {
    Graph graph;
    const Trace trace(graph, false);
    const Value x = ops::input(graph, "x", DType::uint8, {2, width});
    {
      const Graph::Scope scope(graph, "words");
      graph.add_output("y",
                       ops::gather(ops::input(graph, "table", DType::float32, {4, 1}), ops::cast(x, DType::int32)));
    }
    Step step(trace, {Device({.tiles = 1})}, {.batch_size = 2}, Variables(), {.columns = {"x", "table"}});
    Array good(DType::uint8, {6, width});
    Array bad = good.clone();
    bad.mutable_data<std::uint8_t>()[5 * width - 1] = 4;
    const auto run = [&](const Array& indices) {
      RunLoop loop(step, array_batches({indices, zeros({12, 1})}, 2, false), 0);
      return loop.run(3);
    };
    EXPECT_EQ(message([&] { run(bad); }),
              "gather 'words': index 4 is out of range for a table of 4 rows; indices must be 0 to 3");
    EXPECT_EQ(run(good), 3);
  }
}

TEST(RunLoop, FillsUpBatchesWithARealSampleThatDoesNotCount) {
  Step step = echo_step({.batch_size = 2}, all_feeds);
  RunLoop loop(step, array_batches({numbers({1, 2, 3})}, 2, false), 0);
  EXPECT_EQ(loop.run(10), 2);
  EXPECT_TRUE(array_equal(loop.output("x"), Array::of<float>({1, 2, 3, 3}, {2, 2})));
  EXPECT_TRUE(array_equal(loop.output("mask"), Array::of<float>({1, 1, 1, 0}, {2, 2})));
  EXPECT_TRUE(array_equal(loop.output("scale"), numbers({0.5, 1})));
  EXPECT_EQ(loop.samples_of(0), 2);
  EXPECT_EQ(loop.samples_of(1), 1);
  EXPECT_EQ(loop.run(10), 0);
}

// Samples that are large enough for a device to gather them itself, in sizes that it copies by 16, 4 and 1 bytes.
TEST(RunLoop, GathersSamplesInTheirOrderAndFillsUp) {
  for (const auto& [type, width] : {std::pair{DType::float32, 32}, {DType::float32, 17}, {DType::uint8, 67}}) {
    const std::int64_t count = 41, batch = 2;
    Array x(type, {count, width});
    for (std::size_t i = 0; i < x.bytes(); ++i) x.mutable_raw()[i] = static_cast<std::byte>(i * 7 % 61);
    Graph graph;
    const Trace trace(graph, false);
    graph.add_output("x", ops::input(graph, "x", type, {batch, width}), true);
    graph.add_output("mask", ops::input(graph, "mask", DType::float32, {batch}) * 1.0, true);
    Step step(trace, {Device({.tiles = 1})}, {.batch_size = batch}, Variables(), {.columns = {"x"}, .mask = "mask"});
    const auto source = array_batches({x}, batch, true), expected = array_batches({x}, batch, true);
    for (const std::uint64_t key : {1, 2}) {
      source->begin(key);
      expected->begin(key);
      RunLoop loop(step, source, 0);
      std::int64_t batches = 0;
      while (const std::int64_t done = loop.run(18)) {
        const Array rows = loop.output("x");
        for (std::int64_t i = 0; i < done; ++i, ++batches) {
          std::vector<std::byte> row(x.bytes() / count * batch);
          std::byte* const columns[] = {row.data()};
          if (expected->next(batch, columns) == 1)
            std::copy_n(row.begin(), row.size() / 2, row.begin() + row.size() / 2);
          EXPECT_EQ(std::memcmp(rows.slice(i, i + 1).raw(), row.data(), row.size()), 0) << "batch " << batches;
        }
      }
      EXPECT_EQ(batches, 21);
    }
  }
}

TEST(RunLoop, GivesSpareReplicasNoSamples) {
  Step step = echo_step({.replicas = 3, .batch_size = 2}, all_feeds);
  RunLoop loop(step, array_batches({numbers({1, 2, 3, 4, 5, 6, 7, 8})}, 2, false), 0, {.scale_by_samples = false});
  EXPECT_EQ(loop.run(6), 4);
  EXPECT_TRUE(array_equal(loop.output("x"), Array::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2})));
  // What the program saw: the spare replicas have a real sample, and none that counts.
  const Array mask = step.program.output("mask"), x = step.program.output("x");
  EXPECT_TRUE(array_equal(mask.slice(4, 6), Array::of<float>({0, 0, 0, 0}, {2, 2})));
  EXPECT_TRUE(array_equal(x.slice(4, 6), Array::of<float>({7, 7, 7, 7}, {2, 2})));
  EXPECT_TRUE(array_equal(step.program.output("scale"), numbers({1, 1, 1, 1, 1, 1})));
}

TEST(RunLoop, EndsBeforeARowThatIsNotCompleteIfTheStepHasNoMask) {
  Step step = echo_step({.replicas = 2, .batch_size = 2}, {.columns = {"x"}});
  RunLoop loop(step, array_batches({numbers({1, 2, 3, 4, 5, 6})}, 2, false), 0);
  EXPECT_EQ(loop.run(4), 2);
  EXPECT_TRUE(array_equal(loop.output("x"), Array::of<float>({1, 2, 3, 4}, {2, 2})));
}

TEST(RunLoop, TellsWeightsOfZeroFromCopies) {
  StepFeeds feeds = all_feeds;
  feeds.columns.push_back("weight");
  Step step = echo_step({.batch_size = 2}, feeds);
  RunLoop loop(step, array_batches({numbers({1, 2, 3}), numbers({0.5, 0, 4})}, 2, false), 0);
  EXPECT_EQ(loop.run(2), 2);
  EXPECT_TRUE(array_equal(loop.output("weight"), Array::of<float>({0.5, 0, 4, 4}, {2, 2})));
  EXPECT_TRUE(array_equal(loop.output("mask"), Array::of<float>({1, 1, 1, 0}, {2, 2})));
  EXPECT_TRUE(array_equal(loop.output("scale"), numbers({0.5, 1})));
}

TEST(RunLoop, DividesBatchesIntoExecutionsAndStopsWhenItIsTold) {
  Step step = echo_step({.batch_size = 2}, {.columns = {"x"}});
  const Array x(DType::float32, {20});
  std::vector<std::pair<std::int64_t, std::int64_t>> executions;
  const auto run = [&](std::int64_t batches, std::int64_t stop_after) {
    executions.clear();
    RunLoop loop(step, array_batches({x}, 2, false), 0);
    return loop.run_all(batches, 4, [&](std::int64_t first, std::int64_t count) {
      executions.emplace_back(first, count);
      return static_cast<std::int64_t>(executions.size()) != stop_after;
    });
  };
  using Executions = decltype(executions);
  EXPECT_EQ(run(9, -1), 9);
  EXPECT_EQ(executions, Executions({{0, 4}, {4, 4}, {8, 1}}));
  EXPECT_EQ(run(-1, -1), 10);
  EXPECT_EQ(executions, Executions({{0, 4}, {4, 4}, {8, 2}}));
  EXPECT_EQ(run(9, 2), 8);
  EXPECT_EQ(executions, Executions({{0, 4}, {4, 4}}));
}

TEST(RunLoop, TakesNoMoreBatchesThanItShould) {
  Step step = echo_step({.batch_size = 2}, {.columns = {"x"}});
  RunLoop loop(step, array_batches({Array(DType::float32, {20})}, 2, false), 0, {.most_batches = 3});
  EXPECT_EQ(loop.run(100), 3);
}

TEST(Step, RunsOnceOnWholeColumns) {
  Step step = echo_step({.batch_size = 2}, {.columns = {"unused", "x"}});
  const Arrays outputs = step.run_once({numbers({9, 9, 9}), numbers({1, 2})}, 0);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_TRUE(array_equal(outputs[0], numbers({1, 2})));
}

}  // namespace
