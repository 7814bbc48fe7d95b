// SPDX-License-Identifier: Apache-2.0
// What a pass over the graph is: a function from a graph to one that computes the same, faster. The list of all passes,
// with the reasons for their order, is in compiler/compile.cpp.
//
// Each pass is shown at work on the text form of a graph: nodes before it on the left, after it on the right. %x, %w
// and other names stand for values that are made elsewhere. Nodes that lose their last user are left out on the right;
// some passes leave them to remove_dead_nodes.
#pragma once
#include <pando/base/function.h>
#include <pando/graph/graph.h>

#include "plan/capabilities.h"
#include "plan/pooled_gradients.h"

namespace pando {

// Runs one node on host arrays, for folding constants. Nothing is returned for a node that the step must refuse.
using Evaluate = Function<std::vector<Array>(const Node& node, const std::vector<Array>& inputs)>;

// Whether a gradient of a convolution is faster on the backend if it reads the gradient of the max pooling as values
// and positions.
using PrefersPooledGradient = Function<bool(const PooledGradientChoice& choice)>;

struct PassContext {
  Evaluate evaluate = {};
  Capabilities capabilities = {};
  PrefersPooledGradient prefers_pooled_gradient = prefers_fewer_products;
  // Whether products may round their factors to bfloat16.
  bool mixed_bfloat16 = false;
};

using GraphPass = Graph (*)(const Graph& graph, const PassContext& context);

// Drops what neither an output nor an assignment needs; inputs and variables stay.
//
//   %1 = relu(%x)                              %1 = relu(%x)
//   %2 = tanh(%x)                         ->   output y = %1
//   output y = %1
Graph remove_dead_nodes(const Graph& graph, const PassContext& context);

// Computes now what depends on constants alone, unless the result is much larger than they are.
//
//   %1 = constant() {value = <1, 2>}           %3 = constant() {value = <3, 6>}
//   %2 = constant() {value = <3>}         ->
//   %3 = multiply(%1, %2)
Graph fold_constants(const Graph& graph, const PassContext& context);

// Removes what changes nothing: x * 1, x + 0, reshapes of reshapes, broadcasts that an elementwise op does itself,
// zeros that place the parts of a sum side by side.
//
//   %1 = constant() {value = <1>}              %4 = add(%x, %b)
//   %2 = multiply(%x, %1)                 ->
//   %3 = broadcast(%b) {shape = [2, 3]}
//   %4 = add(%2, %3)
//
//   %1 = pad(%x) {after = [3]}                 %3 = concat(%x, %y)
//   %2 = pad(%y) {before = [2]}           ->
//   %3 = add(%1, %2)
Graph simplify(const Graph& graph, const PassContext& context);

// Keeps one of several nodes that compute the same.
//
//   %1 = exp(%x)                               %1 = exp(%x)
//   %2 = exp(%x)                          ->   %3 = add(%1, %1)
//   %3 = add(%1, %2)
Graph merge_common_subexpressions(const Graph& graph, const PassContext& context);

// Kernels want channels last: moves transposes past elementwise ops until they meet and cancel, or into a matmul.
//
//   %1 = transpose(%x) {permutation = [0, 2, 3, 1]}      %2 = relu(%x)
//   %2 = relu(%1)                                   ->
//   %3 = transpose(%2) {permutation = [0, 3, 1, 2]}
//
//   %1 = transpose(%x) {permutation = [1, 0]}       ->   %2 = matmul(%x, %y) {transpose_a = true}
//   %2 = matmul(%1, %y)
Graph choose_layouts(const Graph& graph, const PassContext& context);

// Moves max pooling before bias and activation, which then have fewer values to work on. Does the same for the
// gradients.
//
//   %1 = conv2d(%x, %w)                        %1 = conv2d(%x, %w)
//   %2 = add(%1, %b)                      ->   %4 = max_pool(%1)
//   %3 = relu(%2)                              %2 = add(%4#0, %b)
//   %4 = max_pool(%3)                          %3 = relu(%2)
Graph pool_early(const Graph& graph, const PassContext& context);

// Makes one node of a max pooling and the convolution before it, if the convolution has no other user.
//
//   %1 = conv2d(%x, %w)                   ->   %2 = conv2d_max_pool(%x, %w)
//   %2 = max_pool(%1)
Graph fuse_convolution_pooling(const Graph& graph, const PassContext& context);

// Joins the gradient of a max pooling with each gradient of the convolution before it. The new node visits only the
// largest elements where that is faster. Otherwise it makes the zeros between them, but never stores them.
//
//   %1 = max_pool_gradient(%g, %positions)     %2 = conv2d_max_pool_weight_gradient(%x, %g, %positions)
//   %2 = conv2d_weight_gradient(%x, %1)   ->   %3 = conv2d_max_pool_input_gradient(%g, %w, %positions)
//   %3 = conv2d_input_gradient(%1, %w)
Graph fuse_pooling_gradients(const Graph& graph, const PassContext& context);

// Makes one node of a matmul and plain gradient descent along its result, so the gradient is never stored.
//
//   %1 = matmul(%x, %g) {transpose_a = true}   ->   %2 = matmul_update(%x, %g, %w, %rate) {transpose_a = true}
//   %2 = sgd_update(%rate, %w, %1)                  assign %w = %2
//   assign %w = %2
Graph fuse_updates(const Graph& graph, const PassContext& context);

// Makes one node of the updates of all parameters by one optimizer.
//
//   %1 = sgd_update(%rate, %w, %dw)       ->   %1 = sgd_update(%rate, %w, %dw, %b, %db) {groups = 2}
//   %2 = sgd_update(%rate, %b, %db)            assign %w = %1#0
//   assign %w = %1                             assign %b = %1#1
//   assign %b = %2
Graph merge_updates(const Graph& graph, const PassContext& context);

// Makes one node of a chain of elementwise nodes. If a matmul, a convolution or the gradient of its images feeds the
// chain, it becomes the epilogue of that node.
//
//   %1 = exp(%x)                          ->   %2 = fused(%x) {program = (t1 = exp(t0); t2 = negate(t1); -> t2)}
//   %2 = negate(%1)
//
//   %1 = matmul(%x, %w)                   ->   %3 = matmul(%x, %w, %b)
//   %2 = add(%1, %b)                                {epilogue = (t2 = add(t0, t1); t3 = relu(t2); -> t3)}
//   %3 = relu(%2)
Graph fuse_elementwise(const Graph& graph, const PassContext& context);

// A matmul reads and writes matrices inside other values only if their rows are at least this long. Shorter rows would
// waste most of the cache lines that they lie in.
inline constexpr std::int64_t least_row_bytes = 32;

// A matmul reads parts of another value, such as the heads of an attention, where they are. %x has the shape [8, 4, 6].
//
//   %1 = slice(%x) {starts = [0, 0, 2], sizes = [8, 4, 2]}
//   %2 = transpose(%1) {permutation = [1, 0, 2]}
//   %3 = matmul(%2, %w)
//
// ->
//
//   %2 = view(%x) {shape = [4, 8, 2], strides = [6, 24, 1], offset = 2}
//   %3 = matmul(%2, %w)
Graph read_factors_in_place(const Graph& graph, const PassContext& context);

// A matmul writes its result with the axes in the order in which it is read.
//
//   %1 = matmul(%x, %y)                                 ->   %2 = matmul(%x, %y) {permutation = [1, 0, 2]}
//   %2 = transpose(%1) {permutation = [1, 0, 2]}
Graph permute_products(const Graph& graph, const PassContext& context);

}  // namespace pando
