// SPDX-License-Identifier: Apache-2.0
// The gradient of a max pooling of two by two is zero in three of four places, and after relu in more. A gradient of
// the convolution before it that reads (value, position) instead of the zeros needs a fraction of the multiplications.
// What it leaves out are additions of zero, in the same order, so it gives the same bits for finite images and filters.
// It also takes the place of products of bfloat16 where those are not much faster; its results are more exact. The
// gradient of a narrow filter that does not visit maxima alone reads values and positions too, if nothing else needs
// the zeros: its kernel makes them in the cache, piece by piece.
#include <algorithm>

#include "compiler/passes/pass.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "ops/op_list.h"
#include "ops/window.h"
#include "plan/pooled_gradients.h"

namespace pando {

namespace {

// Fewer channels or filters do not fill blocks of bfloat16.
constexpr std::int64_t least_mixed = 32;

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

// Whether a gradient of a convolution is faster from a pooled gradient, which has this shape.
bool is_worth_it(const Graph& graph, const Node& node, const Shape& pooled, bool has_other_users,
                 const PassContext& context) {
  const bool is_input = node.op->id == Op::conv2d_input_gradient;
  const Shape& filter = is_input ? graph.type(node.inputs[1]).shape : node.outputs[0].shape;
  const bool is_mixed = context.mixed_bfloat16 && std::min(filter[2], filter[3]) >= least_mixed;
  const Capabilities& capabilities = context.capabilities;
  const double gain = !is_mixed                                           ? 1
                      : fills_groups(pooled[0], capabilities.image_group) ? capabilities.mixed_group_gain
                                                                          : capabilities.mixed_gradient_gain;
  // The dense gradient has a sum over the filter for each pixel of the image, or of the gradient that it reads.
  if (is_input) return visits_for_images(filter, places_of(node.outputs[0].shape, pooled), gain);
  const bool is_spread = !is_mixed && !has_other_users && filter[3] <= capabilities.most_spread_filters;
  return is_spread || visits_for_filter(filter, places_of(graph.type(node.inputs[1]).shape, pooled), gain);
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
  const Shape& pooled = graph.type(scatter.inputs[0]).shape;
  const bool has_other_users = uses[static_cast<std::size_t>(gradient.node)][0] > 1;
  return has_kernel(node, pool) && is_worth_it(graph, node, pooled, has_other_users, context) ? &scatter : nullptr;
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
