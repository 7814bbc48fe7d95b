// A few of the random graphs, without RapidCheck: for quick runs and for machines that lack it.
#include <gtest/gtest.h>

#include <random>

#include "random_graph.h"
#include "same_results.h"

namespace pando {
namespace {

TEST(SeededGraphs, EveryWayToCompileAndRunGivesTheSame) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::uint8_t> bytes(20 + random() % 80);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    Decisions decisions(bytes);
    const Graph graph = build_random_graph(decisions);
    EXPECT_EQ(find_difference(graph), "") << "seed " << seed << "\n" << to_string(graph);
  }
}

}  // namespace
}  // namespace pando
