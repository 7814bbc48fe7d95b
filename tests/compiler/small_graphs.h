// SPDX-License-Identifier: Apache-2.0
// What the tests of passes share: a small graph, and a line that says what a graph computes.
#pragma once
#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>

#include <string>

#include "compiler/compile.h"
#include "graph/op_definition.h"
#include "ops/op_list.h"

namespace pando {

// The ops of a graph in order, without sources: "matmul relu".
inline std::string ops_of(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes())
    if (is_role(node, Role::compute)) text.append(node.op->name).append(" ");
  if (!text.empty()) text.pop_back();
  return text;
}

inline std::string after(GraphPass pass, const Graph& graph) { return ops_of(remove_dead_nodes(pass(graph, {}), {})); }

// conv + bias + relu + pool with their gradients, as a front end builds them.
inline Graph convolution_step() {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {2, 10, 10, 1});
  const Value w = ops::variable(graph, "w", DType::float32, {3, 3, 1, 4});
  const Value b = ops::variable(graph, "b", DType::float32, {4});
  const Value y = ops::max_pool(ops::relu(ops::conv2d(x, w) + b));
  const Value loss = ops::reduce_mean(ops::square(y));
  graph.add_output("loss", loss);
  const Value rate = ops::scalar(loss, 0.1);
  const std::vector<Value> slopes = gradients(loss, {w, b});
  graph.assign(w, ops::sgd_update(rate, w, slopes[0], {})[0]);
  graph.assign(b, ops::sgd_update(rate, b, slopes[1], {})[0]);
  return graph;
}

}  // namespace pando
