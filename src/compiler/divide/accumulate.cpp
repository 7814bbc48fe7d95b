// SPDX-License-Identifier: Apache-2.0
// Clearing by 0 * sum would keep a NaN, and adding to 0 loses the sign of zero: so the first micro-batch of an update
// has its own graph.
#include <pando/ops/ops.h>

#include "compiler/divide/divide.h"

namespace pando {

Graph accumulate(const Graph& backward, bool first) {
  Graph graph;
  GraphPart part(backward, graph);
  for (const Output& output : backward.outputs()) {
    if (output.kind != PortKind::sum) {
      part.add_output(output);
      continue;
    }
    const Value value = part.copy(output.value);
    const Value sum =
        ops::variable(graph, sum_name(output.number), value.dtype(), value.shape(), VariableRole::sum, output.number);
    graph.assign(sum, first ? value : sum + value);
  }
  for (const Assignment& assignment : backward.assignments()) part.assign(assignment);
  return graph;
}

}  // namespace pando
