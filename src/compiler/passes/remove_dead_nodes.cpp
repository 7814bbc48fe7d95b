// SPDX-License-Identifier: Apache-2.0
// Walks backwards from outputs and assignments, marks what they need, and keeps that. Inputs and variables stay,
// because they are part of the graph's interface.
#include "compiler/passes/pass.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"

namespace pando {

Graph remove_dead_nodes(const Graph& graph, const PassContext&) {
  std::vector<bool> live(graph.nodes().size(), false);
  const auto mark = [&](ValueId id) { live[static_cast<std::size_t>(id.node)] = true; };
  for (const Output& output : graph.outputs()) mark(output.value);
  for (const Assignment& assignment : graph.assignments()) {
    mark(assignment.variable);
    mark(assignment.value);
  }
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    if (is_role(node, Role::input) || is_role(node, Role::variable)) live[i] = true;
    if (!live[i]) continue;
    for (ValueId input : node.inputs) mark(input);
  }

  Rewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i)
    if (live[i]) rewriter.keep(static_cast<std::int32_t>(i));
  return rewriter.finish();
}

}  // namespace pando
