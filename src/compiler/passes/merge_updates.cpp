// SPDX-License-Identifier: Apache-2.0
// A model has many small parameters, whose updates would be many small kernels. Those of one optimizer with one rate
// become the groups of one update, whose kernel divides all elements evenly among the tiles.
#include <fmt/format.h>

#include <map>

#include "compiler/passes/pass.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "ops/update.h"

namespace pando {

namespace {

// Updates with the same key differ only in their groups.
std::string key_of(const Node& node, const UpdateLayout& layout) {
  std::string key(node.op->name);
  for (int i = 0; i < layout.scalars; ++i)
    key += fmt::format("%{}#{}", node.inputs[static_cast<std::size_t>(i)].node,
                       node.inputs[static_cast<std::size_t>(i)].output);
  for (const auto& [name, value] : node.attributes) {
    if (name == "groups") continue;
    if (const double* number = std::get_if<double>(&value)) key += fmt::format("|{}={:a}", name, *number);
    if (const bool* flag = std::get_if<bool>(&value)) key += fmt::format("|{}={}", name, *flag);
  }
  return fmt::format("{}|{}", key, name(node.outputs.at(0).dtype));
}

// Merging moves an update to the end of the graph, so no node may use its results.
std::vector<bool> find_used_by_nodes(const Graph& graph) {
  std::vector<bool> used(graph.nodes().size(), false);
  for (const Node& node : graph.nodes())
    for (ValueId input : node.inputs) used[static_cast<std::size_t>(input.node)] = true;
  return used;
}

void append_merged(Rewriter& rewriter, const std::vector<std::int32_t>& members) {
  const auto node_at = [&](std::int32_t i) -> const Node& {
    return rewriter.from().nodes()[static_cast<std::size_t>(i)];
  };
  const UpdateLayout layout = update_layout(node_at(members[0]));
  Node merged = node_at(members[0]);
  merged.inputs.resize(static_cast<std::size_t>(layout.scalars));
  merged.outputs.clear();
  std::int64_t groups = 0;
  for (std::int32_t member : members) {
    const Node& node = node_at(member);
    groups += node.attributes.integer("groups");
    merged.inputs.insert(merged.inputs.end(), node.inputs.begin() + layout.scalars, node.inputs.end());
    merged.outputs.insert(merged.outputs.end(), node.outputs.begin(), node.outputs.end());
  }
  for (ValueId& input : merged.inputs) input = rewriter[input];
  merged.attributes.set("groups", groups);
  merged.name = merged.layer = "update";
  const std::int32_t added = GraphEditor::append(rewriter.to(), std::move(merged));
  std::int32_t output = 0;
  for (std::int32_t member : members)
    for (std::size_t k = 0; k < node_at(member).outputs.size(); ++k)
      rewriter.replace({member, static_cast<std::int32_t>(k)}, {added, output++});
}

}  // namespace

Graph merge_updates(const Graph& graph, const PassContext&) {
  const std::vector<bool> used = find_used_by_nodes(graph);
  std::map<std::string, std::vector<std::int32_t>> merged;
  Rewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    if (graph.nodes()[i].op->is_update && !used[i])
      merged[key_of(graph.nodes()[i], update_layout(graph.nodes()[i]))].push_back(index);
    else rewriter.keep(index);
  }
  for (const auto& [key, members] : merged) append_merged(rewriter, members);
  return rewriter.finish();
}

}  // namespace pando
