// SPDX-License-Identifier: Apache-2.0
// Walks the nodes in order and runs each one whose inputs are all constants. Its results are constants too, so that
// whole chains are folded in one walk.
#include "compiler/passes/pass.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "ops/op_list.h"

namespace pando {

namespace {

// A folded constant stays in memory for good. Up to this size it is smaller than the code it saves, whatever its inputs
// are.
constexpr std::size_t always_folded_bytes = 4096;

bool is_foldable(const Graph& graph, const Node& node) {
  if (!is_role(node, Role::compute) || node.inputs.empty()) return false;
  std::size_t bytes_in = 0, bytes_out = 0;
  for (ValueId input : node.inputs) {
    if (!is_role(graph.node(input), Role::constant)) return false;
    bytes_in += graph.node(input).attributes.array("value").bytes();
  }
  for (const Type& type : node.outputs)
    bytes_out += static_cast<std::size_t>(type.shape.elements()) * size_of(type.dtype);
  return bytes_out <= std::max(always_folded_bytes, bytes_in);
}

}  // namespace

Graph fold_constants(const Graph& graph, const PassContext& context) {
  Rewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const std::int32_t kept = rewriter.keep(index);
    const Node node = rewriter.to().nodes()[static_cast<std::size_t>(kept)];
    if (!context.evaluate || !is_foldable(rewriter.to(), node)) continue;
    std::vector<Array> inputs;
    for (ValueId input : node.inputs) inputs.push_back(rewriter.to().node(input).attributes.array("value"));
    const std::vector<Array> results = context.evaluate(node, inputs);
    for (std::size_t k = 0; k < results.size(); ++k) {
      const std::int32_t constant = GraphEditor::append(
          rewriter.to(), {&definitions::constant, {}, {{"value", results[k]}}, {node.outputs[k]}, node.name});
      rewriter.replace({index, static_cast<std::int32_t>(k)}, {constant, 0});
    }
  }
  return rewriter.finish();
}

}  // namespace pando
