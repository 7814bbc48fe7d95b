// However a graph is compiled and whatever instruction set runs it, the results are the same: random graphs, shrunk by
// RapidCheck when one fails.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "random_graph.h"
#include "same_results.h"

namespace pando {
namespace {

RC_GTEST_PROP(RandomGraphs, EveryWayToCompileAndRunGivesTheSame, (std::vector<std::uint8_t> bytes)) {
  Decisions decisions(bytes);
  const std::string difference = find_difference(build_random_graph(decisions));
  if (!difference.empty()) RC_FAIL(difference);
}

}  // namespace
}  // namespace pando
