// SPDX-License-Identifier: Apache-2.0
// The gradient of a max pooling of two by two is zero in three of four places, and after relu in more. A gradient of
// the convolution before it that reads (value, position) instead of the zeros needs a fraction of the multiplications.
// What it leaves out are additions of zero, in the same order, so it gives the same bits for finite images and filters.
// It also takes the place of products of bfloat16 where those are not much faster; its results are more exact.
#include <algorithm>

#include "compiler/passes/pass.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "ops/op_list.h"
#include "ops/window.h"

namespace pando {

namespace {

// Multiplications are counted in vectors of this many lanes, the longest there are.
constexpr std::int64_t lanes = 16;
// Finding an element that is not zero, and starting its sums, takes as long as this many multiplications.
constexpr std::int64_t find_cost = 128;
// The gradient of an image loads and stores a sum for each multiplication, which takes a little longer, and so does
// that of a filter with longer rows than this, whose sums are far apart.
constexpr double cost_of_stores = 1.1, cost_of_long_rows = 1.3;
constexpr std::int64_t long_row = 256;
// Fewer channels or filters do not fill blocks of bfloat16.
constexpr std::int64_t least_mixed = 32;

std::int64_t whole_vectors(std::int64_t elements) { return (elements + lanes - 1) / lanes * lanes; }

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

double as_double(std::int64_t count) { return static_cast<double>(count); }

// Compares the multiplications of a dense gradient for each element of the pooled one, of which there are `pooled` in
// an image, with those for one that is not zero.
bool is_worth_it(const Graph& graph, const Node& node, const Shape& pooled, const PassContext& context) {
  const bool is_input = node.op->id == Op::conv2d_input_gradient;
  const Shape& filter = is_input ? graph.type(node.inputs[1]).shape : node.outputs[0].shape;
  // The places where the dense gradient has a sum over the filter: pixels of the image, or of the gradient it reads.
  const Shape& image = is_input ? node.outputs[0].shape : graph.type(node.inputs[1]).shape;
  const double places = as_double(image[1] * image[2]) / std::max(as_double(pooled[1] * pooled[2]), 1.0);
  const bool is_mixed = context.mixed_bfloat16 && std::min(filter[2], filter[3]) >= least_mixed;
  const Capabilities& capabilities = context.capabilities;
  const double gain = !is_mixed                                           ? 1
                      : fills_groups(pooled[0], capabilities.image_group) ? capabilities.mixed_group_gain
                                                                          : capabilities.mixed_gradient_gain;
  if (is_input) {
    const double products = as_double(filter[0] * filter[1] * whole_vectors(filter[2]));
    return places * products > gain * cost_of_stores * (products + find_cost);
  }
  const double filled = as_double(whole_vectors(filter[3])) / std::max(as_double(filter[3]), 1.0);
  const std::int64_t row = filter[1] * filter[2];
  const double found = as_double(filter[0] * whole_vectors(row) + find_cost) * (row > long_row ? cost_of_long_rows : 1);
  return places * as_double(filter[0] * row) * filled > gain * found;
}

// The gradient of a pooling that a gradient of a convolution takes in; null if it must not, or is another op.
const Node* scatter_of(const Graph& graph, const Node& node, const PassContext& context) {
  const int input = gradient_input(node);
  if (input < 0) return nullptr;
  const Node& scatter = graph.node(node.inputs[static_cast<std::size_t>(input)]);
  if (scatter.op->id != Op::max_pool_gradient) return nullptr;
  const Window pool = pool_window(scatter.attributes);
  const Shape& pooled = graph.type(scatter.inputs[0]).shape;
  return has_kernel(node, pool) && is_worth_it(graph, node, pooled, context) ? &scatter : nullptr;
}

}  // namespace

Graph fuse_pooling_gradients(const Graph& graph, const PassContext& context) {
  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(graph.nodes().size()); ++i) {
    Node fused = graph.nodes()[static_cast<std::size_t>(i)];
    const Node* scatter = scatter_of(graph, fused, context);
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
