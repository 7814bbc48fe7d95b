// SPDX-License-Identifier: Apache-2.0
// The kernel of conv2d_max_pool pools each piece of the convolution while it is in the cache, so that the result of the
// convolution, several times as large as the pooled one, is never written to memory.
#include "compiler/passes/pass.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "ops/op_list.h"

namespace pando {

Graph fuse_convolution_pooling(const Graph& graph, const PassContext&) {
  const auto uses = count_uses(graph);
  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(graph.nodes().size()); ++i) {
    const Node& pooling = graph.nodes()[static_cast<std::size_t>(i)];
    const ValueId source = pooling.op->id == Op::max_pool ? pooling.inputs[0] : ValueId{};
    if (source.node < 0 || graph.node(source).op->id != Op::conv2d ||
        uses[static_cast<std::size_t>(source.node)][0] != 1) {
      rewriter.keep(i);
      continue;
    }
    Node fused = graph.node(source);
    fused.op = &definitions::conv2d_max_pool;
    for (ValueId& input : fused.inputs) input = rewriter[input];
    fused.attributes.set("pool_window", pooling.attributes.integers("window"));
    fused.attributes.set("pool_strides", pooling.attributes.integers("strides"));
    fused.attributes.set("pool_padding", pooling.attributes.integers("padding"));
    fused.outputs = pooling.outputs;
    const std::int32_t added = GraphEditor::append(rewriter.to(), std::move(fused));
    rewriter.replace({i, 0}, {added, 0});
    rewriter.replace({i, 1}, {added, 1});
  }
  return rewriter.finish();
}

}  // namespace pando
