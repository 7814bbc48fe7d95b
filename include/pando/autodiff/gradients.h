// Automatic differentiation over a graph.
#pragma once
#include <pando/graph/graph.h>

namespace pando {

// Adds to the graph what computes the gradients of the scalar `loss` with respect to each of `values`, and returns
// them, zeros where the loss does not depend on a value. Nothing is computed for values nobody asked for.
// Throws Error if the loss is no floating scalar or a value on the way has no gradient.
PANDO_API std::vector<Value> gradients(Value loss, const std::vector<Value>& values);
// The same for a loss that the graph only sees the gradients of: with respect to each of `outputs`.
PANDO_API std::vector<Value> gradients(const std::vector<Value>& outputs, const std::vector<Value>& output_gradients,
                                       const std::vector<Value>& values);

}  // namespace pando
