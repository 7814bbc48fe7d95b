// SPDX-License-Identifier: Apache-2.0
// schedule: which superstep runs each node, and which variable's memory takes which result.
#pragma once
#include <pando/graph/graph.h>

namespace pando {

struct Schedule {
  // By node; -1 for nodes without a kernel: sources and views.
  std::vector<std::int32_t> superstep;
  std::int32_t supersteps = 0;
  // By assignment: whether the value is computed straight into the variable's memory, or copied there at the end.
  std::vector<bool> in_place;
};

// Runs each node as early as its inputs allow. A result goes straight into the variable that it is assigned to if all
// other readers of the variable can run in an earlier superstep; that may delay the node. With `one_by_one`, every node
// has its own superstep.
Schedule schedule(const Graph& graph, bool one_by_one);

// The value whose memory a value shares: itself, or what its chain of views starts from.
ValueId root_of(const Graph& graph, ValueId id);

}  // namespace pando
