// SPDX-License-Identifier: Apache-2.0
// The maximum of a window commutes with ops that never fall when their operand grows: relu, or adding one bias
// everywhere. With the pooling first, they and their gradients work on a fraction of the elements.
#include <algorithm>

#include "compiler/passes/pass.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "ops/op_list.h"

namespace pando {

namespace {

bool is_op(const Node& node, Op op) { return node.op->id == op; }

// The max_pool whose positions a max_pool_gradient scatters by; null if they come from elsewhere.
const Node* pooling_of(const Graph& graph, const Node& gradient) {
  const ValueId positions = gradient.inputs[1];
  return is_op(graph.node(positions), Op::max_pool) && positions.output == 1 ? &graph.node(positions) : nullptr;
}

// relu_gradient(max_pool_gradient(g, positions), y) = max_pool_gradient(relu_gradient(g, max_pool(y)), positions): the
// gradient is zero except at the largest elements, and there y is what was pooled.
bool pool_relu_gradient(Rewriter& rewriter, std::int32_t index) {
  const Node& node = rewriter.from().nodes()[static_cast<std::size_t>(index)];
  if (!is_op(node, Op::relu_gradient)) return false;
  const Node& scatter = rewriter.from().node(node.inputs[0]);
  if (!is_op(scatter, Op::max_pool_gradient)) return false;
  const Node* pooling = pooling_of(rewriter.from(), scatter);
  if (pooling == nullptr || pooling->inputs[0] != node.inputs[1]) return false;

  const ValueId pooled{scatter.inputs[1].node, 0};
  Node masked = node;
  masked.inputs = {rewriter[scatter.inputs[0]], rewriter[pooled]};
  masked.outputs = {rewriter.from().type(pooled)};
  Node scattered = scatter;
  scattered.inputs = {{GraphEditor::append(rewriter.to(), std::move(masked)), 0}, rewriter[scatter.inputs[1]]};
  rewriter.replace({index, 0}, {GraphEditor::append(rewriter.to(), std::move(scattered)), 0});
  return true;
}

// Every window has one largest place: summed over height and width, the scattered gradient is the gradient.
bool sum_before_scatter(Rewriter& rewriter, std::int32_t index) {
  Node node = rewriter.from().nodes()[static_cast<std::size_t>(index)];
  if (!is_op(node, Op::reduce_sum)) return false;
  const ValueId scattered = rewriter[node.inputs[0]];
  const Node& scatter = rewriter.to().node(scattered);
  if (!is_op(scatter, Op::max_pool_gradient)) return false;
  const Integers& axes = node.attributes.integers("axes");
  const auto reduces = [&](std::int64_t axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
  if (!reduces(1) || !reduces(2)) return false;
  node.inputs = {scatter.inputs[0]};
  rewriter.replace({index, 0}, {GraphEditor::append(rewriter.to(), std::move(node)), 0});
  return true;
}

Graph pool_gradients(const Graph& graph) {
  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(graph.nodes().size()); ++i)
    if (!pool_relu_gradient(rewriter, i) && !sum_before_scatter(rewriter, i)) rewriter.keep(i);
  return rewriter.finish();
}

// Whether max pooling may move before the node: operand 0 is then what is pooled, and the other operands are constant
// over the image.
bool commutes_with_pooling(const Graph& graph, const Node& node) {
  const Type& type = node.outputs[0];
  if (graph.type(node.inputs[0]) != type) return false;
  if (node.op->monotone) return true;
  if (!is_op(node, Op::add)) return false;
  const Shape& bias = graph.type(node.inputs[1]).shape;
  return bias.rank() == 0 || bias.elements() == bias[bias.rank() - 1];
}

// Moves a pooling before the chain of single-use nodes that feed it.
void pool_before(Rewriter& rewriter, std::int32_t index, const std::vector<std::vector<int>>& uses) {
  const Graph& from = rewriter.from();
  Node pooling = from.nodes()[static_cast<std::size_t>(index)];
  std::vector<const Node*> chain;
  ValueId source = pooling.inputs[0];
  const auto single_use = [&](ValueId id) { return uses[static_cast<std::size_t>(id.node)][0] == 1; };
  while (from.node(source).op->elementwise && single_use(source) && commutes_with_pooling(from, from.node(source))) {
    chain.push_back(&from.node(source));
    source = chain.back()->inputs[0];
  }
  pooling.inputs = {rewriter[source]};
  const Type pooled = pooling.outputs[0];
  const std::int32_t added = GraphEditor::append(rewriter.to(), std::move(pooling));
  ValueId value{added, 0};
  for (std::size_t i = chain.size(); i-- > 0;) {
    Node moved = *chain[i];
    for (std::size_t k = 1; k < moved.inputs.size(); ++k) moved.inputs[k] = rewriter[moved.inputs[k]];
    moved.inputs[0] = value;
    moved.outputs = {pooled};
    value = {GraphEditor::append(rewriter.to(), std::move(moved)), 0};
  }
  rewriter.replace({index, 0}, value);
  rewriter.replace({index, 1}, {added, 1});
}

Graph pool_values(const Graph& graph) {
  const auto uses = count_uses(graph);
  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(graph.nodes().size()); ++i) {
    if (is_op(graph.nodes()[static_cast<std::size_t>(i)], Op::max_pool)) pool_before(rewriter, i, uses);
    else rewriter.keep(i);
  }
  return rewriter.finish();
}

}  // namespace

Graph pool_early(const Graph& graph, const PassContext& context) {
  // The gradients go first: they free the unpooled activation of its other user.
  return remove_dead_nodes(pool_values(remove_dead_nodes(pool_gradients(graph), context)), context);
}

}  // namespace pando
