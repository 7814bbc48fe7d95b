// SPDX-License-Identifier: Apache-2.0
// Automatic differentiation over a graph.
#pragma once
#include <pando/graph/graph.h>

namespace pando {

// Adds nodes to the graph that compute the gradients of the scalar `loss` with respect to each of `values`, and returns
// the gradients. They are zeros where the loss does not depend on a value. Computes nothing for other values. Throws
// Error if the loss is not a floating-point scalar or a value on the way has no gradient.
PANDO_API std::vector<Value> gradients(Value loss, const std::vector<Value>& values);
// The same for a loss outside the graph: the caller gives its gradients with respect to each of `outputs`.
PANDO_API std::vector<Value> gradients(const std::vector<Value>& outputs, const std::vector<Value>& output_gradients,
                                       const std::vector<Value>& values);

}  // namespace pando
