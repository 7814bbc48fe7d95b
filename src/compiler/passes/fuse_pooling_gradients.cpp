// SPDX-License-Identifier: Apache-2.0
// The gradient of a max pooling of two by two is zero in three of four places, and after relu in more. A gradient of
// the convolution before it that reads (value, position) instead of the zeros needs a fraction of the multiplications.
// What it leaves out are additions of zero, in the same order, so it gives the same bits for finite images and filters.
// The backend says where that is faster than to multiply the zeros.
#include "compiler/passes/pass.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "ops/op_list.h"
#include "ops/window.h"

namespace pando {

namespace {

// Which input of a gradient of a convolution is the gradient of its result; -1 if the node is another op.
int gradient_input(const Node& node) {
  if (node.op->id == Op::conv2d_input_gradient) return 0;
  return node.op->id == Op::conv2d_weight_gradient ? 1 : -1;
}

bool has_kernel(const Node& node, const Window& pool) {
  const Integers ones = {1, 1};
  const bool is_plain = node.attributes.integer("groups") == 1 && node.attributes.integers("dilations") == ones;
  const bool overlaps = pool.strides[0] < pool.kernel[0] || pool.strides[1] < pool.kernel[1];
  return is_plain && !overlaps &&
         (node.op->id == Op::conv2d_weight_gradient || node.attributes.integers("strides") == ones);
}

// What the backend is asked about a gradient of a convolution; the gradient of the pooling has this shape.
PooledGradientChoice choice_of(const Graph& graph, const Node& node, const Shape& pooled) {
  if (node.op->id == Op::conv2d_input_gradient)
    return {.filter = graph.type(node.inputs[1]).shape, .pooled = pooled, .pixels = node.outputs[0].shape};
  return {
      .of_filter = true, .filter = node.outputs[0].shape, .pooled = pooled, .pixels = graph.type(node.inputs[1]).shape};
}

// The gradient of a pooling that a gradient of a convolution takes in; null if it must not, or is another op.
const Node* scatter_of(const Graph& graph, const Node& node, const std::vector<std::vector<int>>& uses,
                       const PassContext& context) {
  const int input = gradient_input(node);
  if (input < 0) return nullptr;
  const ValueId gradient = node.inputs[static_cast<std::size_t>(input)];
  const Node& scatter = graph.node(gradient);
  if (scatter.op->id != Op::max_pool_gradient) return nullptr;
  const Window pool = pool_window(scatter.attributes);
  PooledGradientChoice choice = choice_of(graph, node, graph.type(scatter.inputs[0]).shape);
  choice.mixed_bfloat16 = context.mixed_bfloat16;
  choice.keeps_zeros = uses[static_cast<std::size_t>(gradient.node)][0] > 1;
  return has_kernel(node, pool) && context.prefers_pooled_gradient(choice) ? &scatter : nullptr;
}

}  // namespace

Graph fuse_pooling_gradients(const Graph& graph, const PassContext& context) {
  const auto uses = count_uses(graph);
  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(graph.nodes().size()); ++i) {
    Node fused = graph.nodes()[static_cast<std::size_t>(i)];
    const Node* scatter = scatter_of(graph, fused, uses, context);
    if (scatter == nullptr) {
      rewriter.keep(i);
      continue;
    }
    fused.inputs[static_cast<std::size_t>(gradient_input(fused))] = scatter->inputs[0];
    fused.inputs.push_back(scatter->inputs[1]);
    for (ValueId& input : fused.inputs) input = rewriter[input];
    fused.op = fused.op->id == Op::conv2d_input_gradient ? &definitions::conv2d_max_pool_input_gradient
                                                         : &definitions::conv2d_max_pool_weight_gradient;
    for (const char* name : {"window", "strides", "padding"})
      fused.attributes.set(std::string("pool_") + name, scatter->attributes.integers(name));
    rewriter.replace({i, 0}, {GraphEditor::append(rewriter.to(), std::move(fused)), 0});
  }
  return rewriter.finish();
}

}  // namespace pando
