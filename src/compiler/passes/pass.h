// What a pass over the graph is: a function from a graph to one that computes the same, faster.
#pragma once
#include <pando/graph/graph.h>

#include <functional>

namespace pando {

// Runs one node on host arrays; the backend that will run the plan lends it to the compiler for folding constants.
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
// Kernels want channels last: moves transposes behind elementwise ops until they meet and cancel, or into a matmul.
Graph choose_layouts(const Graph& graph, const PassContext& context);
// Max pooling before bias and activation, which then work on the smaller values; the same for the gradients.
Graph pool_early(const Graph& graph, const PassContext& context);
// A convolution whose only user is a max pooling, and the pooling, as one node.
Graph fuse_convolution_pooling(const Graph& graph, const PassContext& context);
// Chains of elementwise nodes as one node, or as the epilogue of the matmul or convolution that feeds them.
Graph fuse_elementwise(const Graph& graph, const PassContext& context);
// Plain gradient descent along a matmul, and the matmul, as one node: the gradient is never stored.
Graph fuse_updates(const Graph& graph, const PassContext& context);
// The updates of all parameters by one optimizer as one node.
Graph merge_updates(const Graph& graph, const PassContext& context);

}  // namespace pando
