// SPDX-License-Identifier: Apache-2.0
#include "graph/verify.h"

#include <fmt/format.h>

#include <set>

#include "graph/op_definition.h"

namespace pando {

namespace {

std::string label(const Graph& graph, std::size_t index) {
  const Node& node = graph.nodes()[index];
  return fmt::format("%{} ({}{}{})", index, node.op->name, node.name.empty() ? "" : " ", node.name);
}

void check_value(const Graph& graph, ValueId id, std::size_t limit, const std::string& user) {
  const auto count = static_cast<std::int32_t>(graph.nodes().size());
  if (id.node < 0 || id.node >= count || id.output < 0 ||
      id.output >= static_cast<std::int32_t>(graph.node(id).outputs.size()))
    throw Error(fmt::format("graph: {} uses %{}#{}, which does not exist", user, id.node, id.output));
  if (static_cast<std::size_t>(id.node) >= limit)
    throw Error(
        fmt::format("graph: {} uses %{}, which comes after it: the graph has a cycle; feed a value back "
                    "through a variable instead",
                    user, id.node));
}

void check_types(const Graph& graph, std::size_t index) {
  const Node& node = graph.nodes()[index];
  std::vector<Type> inputs;
  for (ValueId input : node.inputs) inputs.push_back(graph.type(input));
  const std::vector<Type> inferred = node.op->infer({*node.op, inputs, node.attributes, node.name});
  if (inferred != node.outputs)
    throw Error(fmt::format("graph: {} is typed {} but its inputs make it {}", label(graph, index),
                            to_string(node.outputs.at(0)), to_string(inferred.at(0))));
}

// Other kernels would read what lies between the elements of a view.
void check_reads(const Graph& graph, ValueId id, bool reads_views, const std::string& user) {
  if (!reads_views && graph.node(id).op->is_strided)
    throw Error(
        fmt::format("graph: {} uses %{}, a view; only matmul reads views, so use transpose or slice", user, id.node));
}

}  // namespace

void verify(const Graph& graph) {
  std::set<std::string> names;
  for (std::size_t index = 0; index < graph.nodes().size(); ++index) {
    const Node& node = graph.nodes()[index];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      check_value(graph, node.inputs[i], index, label(graph, index));
      check_reads(graph, node.inputs[i], static_cast<int>(i) < node.op->strided_inputs, label(graph, index));
    }
    check_types(graph, index);
    const bool named = is_role(node, Role::variable) || is_role(node, Role::input);
    if (named && !names.insert(node.attributes.text("name")).second)
      throw Error(
          fmt::format("graph: two inputs or variables are named '{}'; rename one", node.attributes.text("name")));
  }
  for (const Output& output : graph.outputs()) {
    check_value(graph, output.value, graph.nodes().size(), fmt::format("output '{}'", output.name));
    check_reads(graph, output.value, false, fmt::format("output '{}'", output.name));
  }
  for (const Assignment& assignment : graph.assignments()) {
    check_value(graph, assignment.variable, graph.nodes().size(), "an assignment");
    check_value(graph, assignment.value, graph.nodes().size(), "an assignment");
    check_reads(graph, assignment.value, false, "an assignment");
    if (!is_role(graph.node(assignment.variable), Role::variable) ||
        graph.type(assignment.variable) != graph.type(assignment.value))
      throw Error(fmt::format("graph: the assignment to %{} does not fit", assignment.variable.node));
  }
}

}  // namespace pando
