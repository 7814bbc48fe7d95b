// SPDX-License-Identifier: Apache-2.0
// Descent without momentum and weight decay needs each element of the gradient once. So the kernel of the product that
// makes the gradient can subtract it, times the rate, from the parameter at once.
#include "compiler/passes/pass.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "ops/op_list.h"
#include "ops/update.h"

namespace pando {

namespace {

bool is_plain_descent(const Node& node) {
  return node.op->id == Op::sgd_update && node.attributes.integer("groups") == 1 &&
         node.attributes.number("momentum") == 0 && node.attributes.number("weight_decay") == 0;
}

}  // namespace

Graph fuse_updates(const Graph& graph, const PassContext&) {
  const auto uses = count_uses(graph);
  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(graph.nodes().size()); ++i) {
    const Node& update = graph.nodes()[static_cast<std::size_t>(i)];
    const UpdateLayout layout = is_plain_descent(update) ? update_layout(update) : UpdateLayout{};
    const ValueId gradient =
        is_plain_descent(update) ? update.inputs[static_cast<std::size_t>(layout.input(0, 1))] : ValueId{};
    if (gradient.node < 0 || graph.node(gradient).op->id != Op::matmul ||
        graph.node(gradient).attributes.program("epilogue") || uses[static_cast<std::size_t>(gradient.node)][0] != 1) {
      rewriter.keep(i);
      continue;
    }
    const Node& product = graph.node(gradient);
    const ValueId rate = update.inputs[0], parameter = update.inputs[static_cast<std::size_t>(layout.input(0, 0))];
    Node fused{&definitions::matmul_update,
               {rewriter[product.inputs[0]], rewriter[product.inputs[1]], rewriter[parameter], rewriter[rate]},
               {},
               update.outputs,
               product.name,
               product.stage,
               product.layer};
    for (const char* flag : {"transpose_a", "transpose_b"}) fused.attributes.set(flag, product.attributes.flag(flag));
    rewriter.replace({i, 0}, {GraphEditor::append(rewriter.to(), std::move(fused)), 0});
  }
  return rewriter.finish();
}

}  // namespace pando
