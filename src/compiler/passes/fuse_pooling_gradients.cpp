// SPDX-License-Identifier: Apache-2.0
// The gradient of a max pooling of two by two is zero in three of four places, and after relu in more. A gradient of
// the convolution before it that reads (value, position) instead of the zeros needs a fraction of the multiplications.
// What it leaves out are additions of zero, in the same order, so it gives the same bits for finite images and filters.
// It also takes the place of products of bfloat16, which were not faster on x86-64; its results are more exact.
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

// Compares the multiplications for one element of the pooled gradient.
bool is_worth_it(const Graph& graph, const Node& node, const Window& pool) {
  const std::int64_t places = pool.strides[0] * pool.strides[1];
  if (node.op->id == Op::conv2d_input_gradient) {
    const Shape& filter = graph.type(node.inputs[1]).shape;
    const std::int64_t products = filter[0] * filter[1] * whole_vectors(filter[2]);
    return places * products > products + find_cost;
  }
  const Shape& filter = node.outputs[0].shape;
  const std::int64_t products = filter[0] * filter[1] * filter[2];
  const std::int64_t dense = places * products * whole_vectors(filter[3]) / std::max<std::int64_t>(filter[3], 1);
  return dense > filter[0] * whole_vectors(filter[1] * filter[2]) + find_cost;
}

// The gradient of a pooling that a gradient of a convolution takes in; null if it must not, or is another op.
const Node* scatter_of(const Graph& graph, const Node& node) {
  const int input = gradient_input(node);
  if (input < 0) return nullptr;
  const Node& scatter = graph.node(node.inputs[static_cast<std::size_t>(input)]);
  if (scatter.op->id != Op::max_pool_gradient) return nullptr;
  const Window pool = pool_window(scatter.attributes);
  return has_kernel(node, pool) && is_worth_it(graph, node, pool) ? &scatter : nullptr;
}

}  // namespace

Graph fuse_pooling_gradients(const Graph& graph, const PassContext&) {
  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(graph.nodes().size()); ++i) {
    Node fused = graph.nodes()[static_cast<std::size_t>(i)];
    const Node* scatter = scatter_of(graph, fused);
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
