// SPDX-License-Identifier: Apache-2.0
// However a graph is compiled and whatever instruction set runs it, the results are the same: random graphs, shrunk by
// RapidCheck when one fails.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "random_graph.h"
#include "same_results.h"

namespace pando {
namespace {

void expect_none(const std::string& difference) {
  if (!difference.empty()) RC_FAIL(difference);
}

RC_GTEST_PROP(RandomGraphs, EveryWayToCompileGivesTheSame, (std::vector<std::uint8_t> bytes)) {
  Decisions decisions(bytes);
  expect_none(find_difference_between_passes(build_random_graph(decisions)));
}

RC_GTEST_PROP(RandomGraphs, EveryInstructionSetGivesTheSame, (std::vector<std::uint8_t> bytes)) {
  Decisions decisions(bytes);
  expect_none(find_difference_between_instruction_sets(build_random_graph(decisions)));
}

}  // namespace
}  // namespace pando
