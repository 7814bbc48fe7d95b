// SPDX-License-Identifier: Apache-2.0
// Rewriter: how a pass makes a new graph out of an old one, node by node.
#pragma once
#include <pando/graph/graph.h>

#include <algorithm>
#include <map>

namespace pando {

// Lets passes append ready nodes and set outputs and assignments; front ends use Graph::add and a Trace.
class GraphEditor {
 public:
  static std::int32_t append(Graph& graph, Node node) {
    graph.last_stage_ = std::max(graph.last_stage_, node.stage);
    graph.nodes_.push_back(std::move(node));
    return static_cast<std::int32_t>(graph.nodes_.size() - 1);
  }
  // A node of stage i then has stage `numbers[i]`.
  static void renumber_stages(Graph& graph, const std::vector<int>& numbers) {
    graph.last_stage_ = 0;
    for (Node& node : graph.nodes_) {
      if (node.stage != any_stage) node.stage = numbers[static_cast<std::size_t>(node.stage)];
      graph.last_stage_ = std::max(graph.last_stage_, node.stage);
    }
  }
  // The variable keeps its value, until it is assigned again.
  static void unassign(Graph& graph, ValueId variable) {
    std::erase_if(graph.assignments_, [&](const Assignment& assignment) { return assignment.variable == variable; });
  }
  static std::vector<Output>& outputs(Graph& graph) { return graph.outputs_; }
  static std::vector<Assignment>& assignments(Graph& graph) { return graph.assignments_; }
};

// Walk the old nodes in order; keep() or replace() each; values that were not mapped must have no users left.
class Rewriter {
 public:
  explicit Rewriter(const Graph& from);

  const Graph& from() const { return from_; }
  Graph& to() { return to_; }
  // The new value that stands for an old one.
  ValueId operator[](ValueId old) const;
  bool has(ValueId old) const;
  // Copies an old node with its inputs mapped; returns the new node's number.
  std::int32_t keep(std::int32_t old);
  void replace(ValueId old, ValueId replacement);
  // Maps outputs and assignments too.
  Graph finish();

 private:
  const Graph& from_;
  Graph to_;
  std::vector<std::vector<ValueId>> mapped_;
};

// The number of uses of each value by nodes, outputs and assignments, indexed by node, then output.
std::vector<std::vector<int>> count_uses(const Graph& graph);

}  // namespace pando
