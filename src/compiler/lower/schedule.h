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

// Each node as early as its inputs allow. A result goes straight into the variable it is assigned to if everybody else
// who reads the variable can do so in an earlier superstep; that may move the node back. With `one_by_one`, every
// node has a superstep of its own.
Schedule schedule(const Graph& graph, bool one_by_one);

// The value whose memory a value shares: itself, or what its chain of views starts from.
ValueId root_of(const Graph& graph, ValueId id);

}  // namespace pando
