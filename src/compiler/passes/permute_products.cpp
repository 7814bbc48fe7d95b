// SPDX-License-Identifier: Apache-2.0
// A matmul whose result is only read with its axes in another order writes it so, row by row. An epilogue works on
// neighbours, so a matmul that has one keeps the order of its axes.
#include "compiler/passes/pass.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "ops/op_list.h"

namespace pando {

namespace {

bool suits(const Graph& graph, const Node& transpose) {
  const Integers& permutation = transpose.attributes.integers("permutation");
  const Node& product = graph.node(transpose.inputs[0]);
  if (product.op->id != Op::matmul || product.attributes.program("epilogue") != nullptr) return false;
  const auto last = static_cast<std::int64_t>(permutation.size()) - 1;
  const Type& type = transpose.outputs[0];
  return permutation.back() == last &&
         type.shape[static_cast<int>(last)] * static_cast<std::int64_t>(size_of(type.dtype)) >= least_row_bytes;
}

}  // namespace

Graph permute_products(const Graph& graph, const PassContext& context) {
  const auto uses = count_uses(graph);
  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(graph.nodes().size()); ++i) {
    const Node& node = graph.nodes()[static_cast<std::size_t>(i)];
    if (node.op->id != Op::transpose || !suits(graph, node) ||
        uses[static_cast<std::size_t>(node.inputs[0].node)][0] != 1) {
      rewriter.keep(i);
      continue;
    }
    Node product = graph.node(node.inputs[0]);
    for (ValueId& input : product.inputs) input = rewriter[input];
    product.attributes.set("permutation", node.attributes.integers("permutation"));
    product.outputs = node.outputs;
    rewriter.replace({i, 0}, {GraphEditor::append(rewriter.to(), std::move(product)), 0});
  }
  return remove_dead_nodes(rewriter.finish(), context);
}

}  // namespace pando
