// SPDX-License-Identifier: Apache-2.0
// Random graphs without RapidCheck: for quick runs, and for emulated machines that lack it.
#include <gtest/gtest.h>
#include <pando/program/program.h>

#include <random>

#include "random_graph.h"
#include "same_results.h"

namespace pando {
namespace {

Graph seeded_graph(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(random() % 100);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  Decisions decisions(bytes);
  return build_random_graph(decisions);
}

TEST(SeededGraphs, EveryWayToCompileGivesTheSame) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Graph graph = seeded_graph(seed);
    EXPECT_EQ(find_difference_between_passes(graph), "") << "seed " << seed << "\n" << to_string(graph);
  }
}

TEST(SeededGraphs, EveryBackendGivesTheSame) {
  // On the CPU alone the next test does more.
  const std::uint32_t seeds = Device().backend() == "cpu" ? 100 : 2000;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    const Graph graph = seeded_graph(seed);
    EXPECT_EQ(find_difference_to_cpu(graph), "") << "seed " << seed << "\n" << to_string(graph);
  }
}

TEST(SeededGraphs, EveryInstructionSetGivesTheSame) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const Graph graph = seeded_graph(seed);
    EXPECT_EQ(find_difference_between_instruction_sets(graph), "") << "seed " << seed << "\n" << to_string(graph);
  }
}

}  // namespace
}  // namespace pando
