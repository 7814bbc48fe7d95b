// SPDX-License-Identifier: Apache-2.0
// Feeds: filled ahead, in order, and their failures reach the caller.
#include <pando/ops/ops.h>
#include <pando/program/program.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/message.h"

namespace pando {
namespace {

// sum += x over the steps.
Graph summing_graph() {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::int32, {});
  const Value sum = ops::variable(graph, "sum", DType::int32, {});
  graph.assign(sum, sum + x);
  graph.add_output("x", x, true);
  return graph;
}

TEST(Feed, EveryBatchArrivesOnceAndInOrder) {
  for (int slots : {1, 2, 8}) {
    Program program(summing_graph(), Device({.tiles = 2}), Variables());
    Feed feed(
        program,
        [](std::int64_t step, std::span<std::byte* const> feeds) {
          *reinterpret_cast<std::int32_t*>(feeds[0]) = static_cast<std::int32_t>(step);
          return step < 1000;
        },
        slots);
    std::int32_t expected = 0;
    for (std::int64_t chunk : {1, 10, 489, 600}) {
      const std::int64_t done = program.run(chunk, feed);
      const Array seen = program.output("x");
      for (std::int64_t i = 0; i < done; ++i) ASSERT_EQ(seen.data<std::int32_t>()[i], expected++);
    }
    EXPECT_EQ(expected, 1000);
  }
}

TEST(Feed, IsFilledAheadButNoFurtherThanItsSlots) {
  Program program(summing_graph(), Device({.tiles = 1}), Variables());
  std::atomic<int> filled = 0;
  Feed feed(
      program,
      [&](std::int64_t, std::span<std::byte* const>) {
        ++filled;
        return true;
      },
      4);
  program.run(2, feed);
  // A full ring is filled again when the next run takes rows from it.
  while (filled < 4) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(filled, 6);
}

TEST(Feed, IsFilledAheadFromTheSecondRowOn) {
  Program program(summing_graph(), Device({.tiles = 2}), Variables());
  std::atomic<int> filled = 0;
  Feed feed(program, [&](std::int64_t, std::span<std::byte* const>) {
    ++filled;
    return true;
  });
  program.run(1, feed);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(filled, 1);
  program.run(1, feed);
  while (filled < 1 + default_feed_slots) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Feed, AnErrorInTheFillerReachesTheCaller) {
  Program program(summing_graph(), Device({.tiles = 2}), Variables());
  Feed feed(program, [](std::int64_t step, std::span<std::byte* const>) -> bool {
    if (step == 3) throw Error("the file 'images' ends early");
    return true;
  });
  EXPECT_EQ(message([&] { program.run(10, feed); }), "the file 'images' ends early");
}

TEST(Feed, EndsWhileItIsBeingFilled) {
  Program program(summing_graph(), Device({.tiles = 1}), Variables());
  for (int i = 0; i < 20; ++i) {
    Feed feed(program, [](std::int64_t, std::span<std::byte* const>) { return true; });
    program.run(1 + i % 2, feed);
  }
}

}  // namespace
}  // namespace pando
