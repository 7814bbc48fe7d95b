// SPDX-License-Identifier: Apache-2.0
// What the files of elementwise ops share: their types, and how their gradients are written.
#pragma once
#include <pando/ops/ops.h>

#include "ops/infer.h"

namespace pando {

// The shape that the inputs broadcast to. Throws if there is none.
Shape broadcast_inputs(const OpCall& call);
// The type of the inputs, which must be one, with that shape.
std::vector<Type> infer_floating(const OpCall& call);
std::vector<Type> infer_numeric(const OpCall& call);

// `chosen` where the condition holds, else 0.
Value where(Value condition, Value chosen);

}  // namespace pando

// A unary op's gradient: the gradient of the result times a factor made of x and y.
#define PANDO_UNARY_GRADIENT(expression)                                                                            \
  [](const GradientCall& call) -> std::vector<Value> {                                                              \
    [[maybe_unused]] const Value g = call.gradients[0], x = call.inputs[0], y = call.outputs[0];                    \
    [[maybe_unused]] const auto parameter = [&](std::string_view key) { return call.node.attributes.number(key); }; \
    return {(expression)};                                                                                          \
  }

// A binary op's gradients, each built only if needed and summed over what was broadcast.
#define PANDO_BINARY_GRADIENT(expression_a, expression_b)                                                            \
  [](const GradientCall& call) -> std::vector<Value> {                                                               \
    [[maybe_unused]] const Value g = call.gradients[0], a = call.inputs[0], b = call.inputs[1], y = call.outputs[0]; \
    [[maybe_unused]] const auto parameter = [&](std::string_view key) { return call.node.attributes.number(key); };  \
    return {call.needed[0] ? ops::sum_to((expression_a), a.shape()) : Value(),                                       \
            call.needed[1] ? ops::sum_to((expression_b), b.shape()) : Value()};                                      \
  }
