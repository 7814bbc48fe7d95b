// SPDX-License-Identifier: Apache-2.0
// Devices and variables that several threads use: nothing hangs, a step is one action, and results are the same bits.
#include <pando/pando.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "base/machine/crowding.h"
#include "runtime/use_lock.h"
#include "tests/message.h"

namespace pando {
namespace {

// Both variables grow by one a step; the output is their difference, which a torn step would show.
Graph pair_graph(bool grows) {
  Graph graph;
  const Value a = ops::variable(graph, "a", DType::float32, {512}),
              b = ops::variable(graph, "b", DType::float32, {512});
  graph.add_output("difference", ops::reduce_max(ops::abs(a - b)));
  graph.add_output("value", ops::reduce_max(a));
  if (grows) {
    graph.assign(a, a + 1.0);
    graph.assign(b, b + 1.0);
  }
  return graph;
}

Graph product_graph() {
  Graph graph;
  const Value w = ops::variable(graph, "w", DType::float32, {96, 96});
  graph.assign(w, ops::tanh(ops::matmul(w, w)));
  return graph;
}

Array first_weights() {
  Array w(DType::float32, {96, 96});
  for (std::int64_t i = 0; i < w.elements(); ++i)
    w.mutable_data<float>()[i] = static_cast<float>(i % 13) * 0.02f - 0.1f;
  return w;
}

TEST(SharedDevice, ProgramsOfManyThreadsGiveTheSameBitsAsAlone) {
  const Device device({.tiles = 2});
  const auto run = [&] {
    Variables variables;
    variables.set("w", first_weights());
    Program program(product_graph(), device, variables);
    for (int execution = 0; execution < 20; ++execution) program.run(10);
    return variables.get("w");
  };
  const Array alone = run();
  std::vector<Array> results(4);
  std::vector<std::thread> threads;
  for (Array& result : results) threads.emplace_back([&result, &run] { result = run(); });
  for (std::thread& thread : threads) thread.join();
  for (const Array& result : results) EXPECT_EQ(std::memcmp(result.raw(), alone.raw(), alone.bytes()), 0);
}

TEST(SharedDevice, ACrowdedMachineDoesNotShowInTheResults) {
  const auto run = [](int tiles) {
    Variables variables;
    variables.set("w", first_weights());
    Program program(product_graph(), Device({.tiles = tiles}), variables);
    program.run(50);
    return variables.get("w");
  };
  const Array together = run(3);
  Crowding::is_assumed = true;
  const Array alone = run(3);
  Crowding::is_assumed = false;
  EXPECT_EQ(std::memcmp(alone.raw(), together.raw(), alone.bytes()), 0);
}

// Each run fetches the tiles that were left out. If waiting for them counted, short runs would never be whole again.
TEST(SharedDevice, ATileThatWorksAloneDoesNotFindTheMachineCrowded) {
  Variables variables;
  variables.set("w", first_weights());
  Program program(product_graph(), Device({.tiles = 2, .backend = "cpu"}), variables);
  Crowding::assumed_halvings = 1;
  program.run(1);
  const std::int64_t before = Crowding::judgements;
  for (int i = 0; i < 500; ++i) {
    program.run(1);
    // The other tile falls asleep.
    if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  Crowding::assumed_halvings = 0;
  EXPECT_EQ(Crowding::judgements, before);
}

TEST(SharedDevice, ResultsDoNotDependOnHowOftenItsTilesAreHalved) {
  const auto run = [](const std::vector<int>& halvings) {
    Variables variables;
    variables.set("w", first_weights());
    Program program(product_graph(), Device({.tiles = 5}), variables);
    std::thread other([&] {
      for (int i = 0; i < 200; ++i) {
        Crowding::assumed_halvings = halvings[static_cast<std::size_t>(i) % halvings.size()];
        std::this_thread::yield();
      }
    });
    for (int execution = 0; execution < 20; ++execution) program.run(10);
    other.join();
    Crowding::assumed_halvings = 0;
    return variables.get("w");
  };
  const Array whole = run({0});
  for (const std::vector<int>& halvings : {std::vector<int>{1}, {2}, {9}, {0, 1, 0, 2, 1, 0, 1, 2, 9, 0}}) {
    const Array result = run(halvings);
    EXPECT_EQ(std::memcmp(result.raw(), whole.raw(), whole.bytes()), 0);
  }
}

TEST(SharedVariables, AStepIsOneActionToOtherPrograms) {
  const Device device({.tiles = 2});
  Variables variables;
  Program writer(pair_graph(true), device, variables), reader(pair_graph(false), device, variables);
  std::atomic<bool> done = false;
  std::thread training([&] {
    for (int execution = 0; execution < 50; ++execution) writer.run(100);
    done = true;
  });
  float last = 0;
  while (!done) {
    const auto outputs = reader.step();
    EXPECT_EQ(outputs.at("difference").item<float>(), 0);
    EXPECT_GE(outputs.at("value").item<float>(), last);
    last = outputs.at("value").item<float>();
  }
  training.join();
  EXPECT_EQ(variables.get("a").data<float>()[0], 5000);
}

TEST(SharedVariables, ALongExecutionLetsOthersLookAndSetBetweenItsSteps) {
  Variables variables;
  Program writer(pair_graph(true), Device({.tiles = 1}), variables);
  std::atomic<bool> begun = false, stop = false;
  Graph graph = pair_graph(true);
  ops::input(graph, "x", DType::float32, {});
  Program fed(graph, Device({.tiles = 1}), variables);
  Feed feed(fed, [&](std::int64_t, std::span<std::byte* const>) {
    begun = true;
    return !stop;
  });
  // One execution, which ends when the feed does: get() and set() must come through while it runs.
  std::thread training([&] { fed.run(std::int64_t{1} << 40, feed); });
  while (!begun) std::this_thread::yield();
  const float before = variables.get("a").data<float>()[0];
  while (variables.get("a").data<float>()[0] == before) std::this_thread::yield();
  variables.set("b", variables.get("b"));
  stop = true;
  training.join();
}

TEST(SharedVariables, AFeedMayUseTheVariablesOfTheProgramThatItFeeds) {
  const Device device({.tiles = 2});
  Variables variables;
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {});
  const Value w = ops::variable(graph, "w", DType::float32, {});
  graph.assign(w, w + x);
  Program program(graph, device, variables);
  Graph question;
  question.add_output("w", ops::variable(question, "w", DType::float32, {}) + 1.0);
  Program asked(question, device, variables);
  Feed feed(
      program,
      [&](std::int64_t, std::span<std::byte* const> feeds) {
        const float next = asked.step().at("w").item<float>();
        std::memcpy(feeds[0], &next, sizeof next);
        return true;
      },
      1);
  EXPECT_EQ(program.run(10, feed), 10);
  EXPECT_GE(variables.get("w").item<float>(), 10);
}

TEST(Program, ASecondThreadIsToldThatItIsInUse) {
  Graph graph;
  ops::input(graph, "x", DType::float32, {});
  Program program(graph, Device({.tiles = 1}), Variables());
  std::atomic<bool> runs = false, stop = false;
  Feed feed(program, [&](std::int64_t step, std::span<std::byte* const>) {
    // More than the slots hold: the program has taken some.
    if (step > default_feed_slots) runs = true;
    return !stop;
  });
  std::thread first([&] { program.run(std::int64_t{1} << 40, feed); });
  while (!runs) std::this_thread::yield();
  EXPECT_EQ(message([&] {
              program.step({{"x", Array::scalar(1.0f)}});
            }),
            "run: another thread is running this program; give each thread its own program");
  stop = true;
  first.join();
}

TEST(UseLock, AWriterWaitsForTheReadersBeforeIt) {
  UseLock lock;
  // Readers together, a writer alone.
  lock.begin(false);
  lock.begin(false);
  std::atomic<bool> wrote = false;
  std::thread writer([&] {
    lock.begin(true);
    wrote = true;
    lock.end(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(wrote);
  lock.end(false);
  lock.end(false);
  writer.join();
  EXPECT_TRUE(wrote);
}

}  // namespace
}  // namespace pando
