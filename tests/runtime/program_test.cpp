// SPDX-License-Identifier: Apache-2.0
// Programs: loops, outputs, variables that programs share, and what is refused.
#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>
#include <pando/program/program.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/message.h"

namespace pando {
namespace {

// counter += 1 each step, an output of x * counter.
Graph counting_graph() {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {2});
  const Value counter = ops::variable(graph, "counter", DType::float32, {});
  const Value next = counter + 1.0;
  graph.assign(counter, next);
  graph.add_output("y", x * next);
  graph.add_output("counts", next, true);
  return graph;
}

FillFeeds ones(std::int64_t steps) {
  return [steps](std::int64_t step, std::span<std::byte* const> feeds) {
    if (step == steps) return false;
    for (int i = 0; i < 2; ++i) reinterpret_cast<float*>(feeds[0])[i] = static_cast<float>(i + 1);
    return true;
  };
}

TEST(Program, TheTripCountIsGivenAtLaunch) {
  const Device device({.tiles = 2});
  Variables variables;
  Program program(counting_graph(), device, variables);
  Feed feed(program, ones(1000));
  for (std::int64_t steps : {1, 7, 0, 100}) {
    EXPECT_EQ(program.run(steps, feed), steps);
    EXPECT_EQ(program.output("counts").shape(), (Shape{steps}));
  }
  EXPECT_EQ(variables.get("counter").item<int>(), 108);
  EXPECT_EQ(program.output("y").data<float>()[1], 216);
  EXPECT_EQ(program.output("counts").data<float>()[99], 108);
}

TEST(Program, TheLastExecutionIsShorterWhenTheFeedEnds) {
  Program program(counting_graph(), Device({.tiles = 2}), Variables());
  Feed feed(program, ones(10));
  EXPECT_EQ(program.run(8, feed), 8);
  EXPECT_EQ(program.run(8, feed), 2);
  EXPECT_EQ(program.output("counts").shape(), (Shape{2}));
  EXPECT_EQ(program.run(8, feed), 0);
}

TEST(Program, ProgramsShareVariablesByName) {
  const Device device({.tiles = 1});
  Variables variables;
  Graph reader;
  reader.add_output("now", ops::variable(reader, "counter", DType::float32, {}));
  Program train(counting_graph(), device, variables), look(reader, device, variables);
  Feed feed(train, ones(5));
  train.run(5, feed);
  look.run(1);
  EXPECT_EQ(look.output("now").item<int>(), 5);
  variables.set("counter", Array::scalar(40.0f));
  look.run(1);
  EXPECT_EQ(look.output("now").item<int>(), 40);
}

TEST(Program, ResultsDoNotDependOnTheNumberOfTiles) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {5, 9, 11, 3});
  const Value w = ops::variable(graph, "w", DType::float32, {3, 3, 3, 7});
  const Value y = ops::max_pool(ops::relu(ops::conv2d(x, w, {.padding = ops::Padding::same})));
  const Value loss = ops::reduce_mean(ops::square(y));
  graph.add_output("loss", loss);
  graph.assign(w, ops::sgd_update(ops::scalar(loss, 0.5), w, gradients(loss, {w})[0], {})[0]);
  Array images(DType::float32, {5, 9, 11, 3}), start(DType::float32, {3, 3, 3, 7});
  for (std::int64_t i = 0; i < images.elements(); ++i)
    images.mutable_data<float>()[i] = static_cast<float>((i * 37) % 101) / 50 - 1;
  for (std::int64_t i = 0; i < start.elements(); ++i)
    start.mutable_data<float>()[i] = static_cast<float>((i * 53) % 97) / 48 - 1;

  std::vector<Array> weights;
  for (int tiles : {1, 2, 3, 8}) {
    Variables variables;
    variables.set("w", start);
    Program program(graph, Device({.tiles = tiles}), variables);
    for (int i = 0; i < 3; ++i) program.step({{"x", images}});
    weights.push_back(variables.get("w"));
  }
  for (const Array& other : weights) EXPECT_EQ(std::memcmp(other.raw(), weights[0].raw(), other.bytes()), 0);
}

// Two layers with dropout, whose gradients do not depend on each other, and results for every step: one that a kernel
// makes, and two that it does not.
Graph dropout_graph() {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {6, 40});
  const Value first = ops::variable(graph, "first", DType::float32, {40, 24});
  const Value second = ops::variable(graph, "second", DType::float32, {24, 3});
  const Value hidden = ops::dropout(ops::relu(ops::matmul(x, first)), ops::counter(graph), 0.4);
  const Value loss = ops::reduce_mean(ops::square(ops::matmul(hidden, second)));
  const std::vector<Value> changes = gradients(loss, {first, second});
  const Value rate = ops::scalar(loss, 0.1);
  graph.add_output("loss", loss, true);
  graph.add_output("again", loss, true);
  graph.add_output("x", x, true);
  graph.assign(first, ops::sgd_update(rate, first, changes[0], {})[0]);
  graph.assign(second, ops::sgd_update(rate, second, changes[1], {})[0]);
  return graph;
}

// Random-looking numbers in [-1, 1).
void fill_with_noise(float* data, std::int64_t count, std::int64_t seed) {
  for (std::int64_t i = 0; i < count; ++i) data[i] = static_cast<float>((i * 37 + seed * 61 + i * i) % 101) / 50 - 1;
}

TEST(Program, ResultsDoNotDependOnHowStepsAreDividedOverExecutions) {
  constexpr std::int64_t steps = 53;
  std::vector<std::vector<std::byte>> results;
  for (const std::int64_t most : {53, 1, 16, 7, 52}) {
    Variables variables;
    for (const auto& [name, shape] : {std::pair{"first", Shape{40, 24}}, {"second", Shape{24, 3}}}) {
      Array start(DType::float32, shape);
      fill_with_noise(start.mutable_data<float>(), start.elements(), 5);
      variables.set(name, start);
    }
    Program program(dropout_graph(), Device({.tiles = 2}), variables);
    Feed feed(program, [](std::int64_t row, std::span<std::byte* const> feeds) {
      fill_with_noise(reinterpret_cast<float*>(feeds[0]), 6 * 40, row);
      return true;
    });
    std::vector<std::byte>& result = results.emplace_back();
    const auto keep = [&](const Array& array) {
      result.insert(result.end(), array.raw(), array.raw() + array.bytes());
    };
    std::vector<Array> fed;
    for (std::int64_t done = 0; done < steps;) {
      done += program.run(std::min(most, steps - done), feed);
      keep(program.output("loss"));
      EXPECT_EQ(std::memcmp(program.output("again").raw(), program.output("loss").raw(), 4), 0);
      fed.push_back(program.output("x"));
    }
    for (const Array& rows : fed) keep(rows);
    keep(variables.get("first"));
    keep(variables.get("second"));
  }
  for (const std::vector<std::byte>& other : results) EXPECT_EQ(other, results[0]);
}

TEST(Program, AnEmptyGraphRuns) {
  Program program(Graph(), Device({.tiles = 2}), Variables());
  EXPECT_EQ(program.run(1000), 1000);
  EXPECT_EQ(program.arena_bytes(), 0u);
}

TEST(Program, CheckNumericsNamesWhoMadeTheNaN) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {2});
  {
    const Graph::Scope scope(graph, "layer1/log");
    graph.add_output("y", ops::log(x));
  }
  Program checked(graph, Device({.tiles = 2}), Variables(), {.check_numerics = true});
  EXPECT_NO_THROW(checked.step({{"x", Array::of<float>({1, 2}, {2})}}));
  EXPECT_EQ(message([&] {
              checked.step({{"x", Array::of<float>({1, -2}, {2})}});
            }),
            "check_numerics: update 1 made a NaN or an infinity in output 0 of log 'layer1/log', float32[2]; lower the "
            "learning rate or look at its inputs");
  EXPECT_NO_THROW(checked.step({{"x", Array::of<float>({1, 2}, {2})}}));
  Program unchecked(graph, Device({.tiles = 2}), Variables());
  EXPECT_NO_THROW(unchecked.step({{"x", Array::of<float>({1, -2}, {2})}}));
}

TEST(Program, TooLittleMemoryIsACleanError) {
  Graph graph;
  const Value x = ops::variable(graph, "x", DType::float32, {1});
  graph.add_output("y", ops::reduce_sum(ops::exp(ops::broadcast(x, {1ll << 44, 1}))));
  const Device device({.tiles = 1});
  const std::string text = message([&] { Program(graph, device, Variables(), {.disabled_passes = {"simplify"}}); });
  // A GPU also says how much is free, which differs from run to run.
  if (device.backend() == "cuda")
    EXPECT_TRUE(text.starts_with("cannot allocate 64.0 TiB for the arena of a device on the GPU, which has ")) << text;
  else EXPECT_EQ(text, "cannot allocate 64.0 TiB for the arena of a device; use a smaller batch or a smaller model");
}

TEST(Program, RefusesWrongFeedsAndNames) {
  Program program(counting_graph(), Device({.tiles = 1}), Variables());
  const Array good = Array::of<float>({1, 2}, {2});
  EXPECT_EQ(message([&] { program.step({}); }), "step: the input 'x' was given no feed; add one of that name");
  EXPECT_EQ(message([&] { program.step({{"x", good}, {"z", good}}); }), "unknown input 'z'; did you mean 'x'?");
  EXPECT_EQ(message([&] {
              program.step({{"x", Array::of<float>({1}, {1})}});
            }),
            "step: the input 'x' is float32[2] but the feed is float32[1]; cast or reshape it");
  EXPECT_EQ(message([&] { program.run(3); }), "run: the graph has 1 inputs, the first is 'x'; give a Feed");
  EXPECT_EQ(message([&] { program.output("yy"); }), "unknown output 'yy'; did you mean 'y'?");
  Feed feed(program, ones(1));
  EXPECT_EQ(message([&] { program.run(-1, feed); }), "run: the number of steps is -1 but must not be negative");
  EXPECT_EQ(message([&] { Feed(program, ones(1), 0); }), "Feed: the number of slots is 0 but must be at least 1");
}

TEST(Program, RefusesVariablesOfAnotherType) {
  Variables variables;
  variables.set("counter", Array::scalar(1.0));
  EXPECT_EQ(message([&] { Program(counting_graph(), Device({.tiles = 1}), variables); }),
            "variable 'counter' is float64[] and cannot be used as float32[]; rename it or reshape the value");
  EXPECT_EQ(message([&] { variables.get("conter"); }), "unknown variable 'conter'; did you mean 'counter'?");
}

TEST(Device, RefusesInstructionSetsItLacks) {
  EXPECT_EQ(message([] { Device({.instruction_set = "mmx", .backend = "cpu"}); }).substr(0, 78),
            "the instruction set 'mmx' is not available on this machine; available are: por");
}

}  // namespace
}  // namespace pando
