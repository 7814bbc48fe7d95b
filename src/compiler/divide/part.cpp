// SPDX-License-Identifier: Apache-2.0
// Copies by need: a node is copied when a copied node first asks for it. So a part never holds dead nodes, and its
// nodes stand in an order in which they can run.
#include "compiler/divide/part.h"

#include <pando/ops/ops.h>

#include <fmt/format.h>

#include <algorithm>

#include "graph/rewrite.h"

namespace pando {

std::vector<bool> nodes_depending_on(const Graph& graph, bool (*is_one)(const Node& node)) {
  std::vector<bool> depends(graph.nodes().size(), false);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    depends[i] = is_one(node) || std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
                   return depends[static_cast<std::size_t>(input.node)];
                 });
  }
  return depends;
}

std::string port_name(PortKind kind, std::int32_t number) { return fmt::format("{}{}", name(kind), number); }

Value GraphPart::copy(ValueId id) {
  if (const auto known = replaced_.find(id); known != replaced_.end()) return known->second;
  if (const auto cut = cuts_.find(id); cut != cuts_.end()) {
    const auto [kind, number] = cut->second;
    const Type& type = from_.type(id);
    return replaced_[id] = ops::input(part_, port_name(kind, number), type.dtype, type.shape, kind, number);
  }
  std::vector<Value>& outputs = mapped_[static_cast<std::size_t>(id.node)];
  if (outputs.empty()) {
    Node node = from_.node(id);
    for (ValueId& input : node.inputs) input = copy(input).id();
    const auto count = static_cast<std::int32_t>(node.outputs.size());
    const std::int32_t number = GraphEditor::append(part_, std::move(node));
    for (std::int32_t i = 0; i < count; ++i) outputs.emplace_back(part_, ValueId{number, i});
  }
  return outputs[static_cast<std::size_t>(id.output)];
}

void GraphPart::add_output(const Output& output) {
  part_.add_output(output.name, copy(output.value), output.kind, output.number);
  GraphEditor::outputs(part_).back().every_step = output.every_step;
}

void GraphPart::add_port(ValueId value, PortKind kind, std::int32_t number) {
  part_.add_output(port_name(kind, number), copy(value), kind, number);
}

}  // namespace pando
