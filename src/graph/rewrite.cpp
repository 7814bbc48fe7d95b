// SPDX-License-Identifier: Apache-2.0
#include "graph/rewrite.h"

#include <fmt/format.h>

namespace pando {

Rewriter::Rewriter(const Graph& from) : from_(from) {
  for (const Node& node : from.nodes()) mapped_.emplace_back(node.outputs.size());
}

bool Rewriter::has(ValueId old) const {
  return mapped_[static_cast<std::size_t>(old.node)][static_cast<std::size_t>(old.output)].node >= 0;
}

ValueId Rewriter::operator[](ValueId old) const {
  if (!has(old)) throw InternalError(fmt::format("a pass dropped %{} though it is used", old.node));
  return mapped_[static_cast<std::size_t>(old.node)][static_cast<std::size_t>(old.output)];
}

std::int32_t Rewriter::keep(std::int32_t old) {
  Node copy = from_.nodes()[static_cast<std::size_t>(old)];
  for (ValueId& input : copy.inputs) input = (*this)[input];
  const auto count = static_cast<std::int32_t>(copy.outputs.size());
  const std::int32_t node = GraphEditor::append(to_, std::move(copy));
  for (std::int32_t i = 0; i < count; ++i) replace({old, i}, {node, i});
  return node;
}

void Rewriter::replace(ValueId old, ValueId replacement) {
  mapped_[static_cast<std::size_t>(old.node)][static_cast<std::size_t>(old.output)] = replacement;
}

Graph Rewriter::finish() {
  for (const Output& output : from_.outputs())
    GraphEditor::outputs(to_).push_back(
        {output.name, (*this)[output.value], output.every_step, output.kind, output.number});
  for (const Assignment& assignment : from_.assignments())
    GraphEditor::assignments(to_).push_back({(*this)[assignment.variable], (*this)[assignment.value]});
  return std::move(to_);
}

std::vector<std::vector<int>> count_uses(const Graph& graph) {
  std::vector<std::vector<int>> uses;
  for (const Node& node : graph.nodes()) uses.emplace_back(node.outputs.size(), 0);
  const auto use = [&](ValueId id) { ++uses[static_cast<std::size_t>(id.node)][static_cast<std::size_t>(id.output)]; };
  for (const Node& node : graph.nodes())
    for (ValueId input : node.inputs) use(input);
  for (const Output& output : graph.outputs()) use(output.value);
  for (const Assignment& assignment : graph.assignments()) use(assignment.value);
  return uses;
}

}  // namespace pando
