// What a pass over the graph is: a function from a graph to one that computes the same, faster.
#pragma once
#include <pando/graph/graph.h>

#include <functional>

namespace pando {

// Runs one node on host arrays; the backend that will run the plan gives it to the compiler for folding constants.
using Evaluate = std::function<std::vector<Array>(const Node& node, const std::vector<Array>& inputs)>;

struct PassContext {
  Evaluate evaluate;
};

using GraphPass = Graph (*)(const Graph& graph, const PassContext& context);

// Drops what neither an output nor an assignment needs; inputs and variables stay.
Graph remove_dead_nodes(const Graph& graph, const PassContext& context);
// Computes now what depends on constants alone, unless the result is much larger than they are.
Graph fold_constants(const Graph& graph, const PassContext& context);
// Removes what changes nothing: x * 1, x + 0, reshapes of reshapes, broadcasts that an elementwise op does itself.
Graph simplify(const Graph& graph, const PassContext& context);
// Keeps one of several nodes that compute the same.
Graph merge_common_subexpressions(const Graph& graph, const PassContext& context);
// Kernels want channels last: moves transposes past elementwise ops until they meet and cancel, or into a matmul.
Graph choose_layouts(const Graph& graph, const PassContext& context);
// Moves max pooling before bias and activation, which then work on fewer values; the same for the gradients.
Graph pool_early(const Graph& graph, const PassContext& context);
// Joins a convolution and the max pooling that is its only user into one node.
Graph fuse_convolution_pooling(const Graph& graph, const PassContext& context);
// Joins chains of elementwise nodes into one node, or into the epilogue of the matmul or convolution that feeds them.
Graph fuse_elementwise(const Graph& graph, const PassContext& context);
// Joins a matmul and the plain gradient descent that uses it into one node: the gradient is never stored.
Graph fuse_updates(const Graph& graph, const PassContext& context);
// Joins the updates of all parameters by one optimizer into one node.
Graph merge_updates(const Graph& graph, const PassContext& context);

}  // namespace pando
