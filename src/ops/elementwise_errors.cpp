// SPDX-License-Identifier: Apache-2.0
// Errors of a prediction, element by element. What they compute is in scalar.h.
#include <fmt/format.h>

#include "ops/checks.h"
#include "ops/elementwise.h"

namespace pando {

namespace {

std::vector<Type> infer_huber_error(const OpCall& call) {
  number_attribute(call, "delta", 0);
  return infer_floating(call);
}

std::vector<Type> infer_binary_cross_entropy(const OpCall& call) {
  const double epsilon = call.attributes.number("epsilon");
  if (!(epsilon >= 0 && epsilon < 0.5))
    call.fail(fmt::format("'epsilon' is {} but must be at least 0 and below 0.5", epsilon));
  return infer_floating(call);
}

// Inside the clipped range the derivative of the cross-entropy in p; outside it is flat.
Value binary_cross_entropy_derivative(Value p, Value target, double epsilon) {
  const Value inside =
      ops::logical_and(ops::greater_equal(p, ops::scalar(p, epsilon)), ops::less_equal(p, ops::scalar(p, 1 - epsilon)));
  const Value clipped = ops::clip(p, epsilon, 1 - epsilon);
  return where(inside, (clipped - target) / (clipped * (1.0 - clipped)));
}

}  // namespace

namespace definitions {

const OpDefinition squared_error = {.id = Op::squared_error,
                                    .name = "squared_error",
                                    .doc = "(a - b)^2",
                                    .min_inputs = 2,
                                    .infer = infer_floating,
                                    .gradient = PANDO_BINARY_GRADIENT(g * (a - b) * 2.0, g*(b - a) * 2.0),
                                    .elementwise = true};
const OpDefinition absolute_error = {.id = Op::absolute_error,
                                     .name = "absolute_error",
                                     .doc = "|a - b|",
                                     .min_inputs = 2,
                                     .infer = infer_floating,
                                     .gradient = PANDO_BINARY_GRADIENT(g * ops::sign(a - b), g* ops::sign(b - a)),
                                     .elementwise = true};
const OpDefinition huber_error = {
    .id = Op::huber_error,
    .name = "huber_error",
    .doc = "(a - b)^2 / 2, linear where |a - b| > delta",
    .attributes = {{"delta", 1.0}},
    .min_inputs = 2,
    .infer = infer_huber_error,
    .gradient = PANDO_BINARY_GRADIENT(g * ops::clip(a - b, -parameter("delta"), parameter("delta")),
                                      g* ops::clip(b - a, -parameter("delta"), parameter("delta"))),
    .elementwise = true,
    .parameters = {"delta"}};
const OpDefinition binary_cross_entropy = {
    .id = Op::binary_cross_entropy,
    .name = "binary_cross_entropy",
    .doc = "-(b log a + (1 - b) log(1 - a)) of a probability a, limited to [epsilon, 1 - epsilon], and a target b",
    .attributes = {{"epsilon", 1e-7}},
    .min_inputs = 2,
    .infer = infer_binary_cross_entropy,
    .gradient = PANDO_BINARY_GRADIENT(g * binary_cross_entropy_derivative(a, b, parameter("epsilon")),
                                      g*(ops::log(1.0 - ops::clip(a, parameter("epsilon"), 1 - parameter("epsilon"))) -
                                         ops::log(ops::clip(a, parameter("epsilon"), 1 - parameter("epsilon"))))),
    .elementwise = true,
    .parameters = {"epsilon"}};
const OpDefinition sigmoid_cross_entropy = {.id = Op::sigmoid_cross_entropy,
                                            .name = "sigmoid_cross_entropy",
                                            .doc = "binary_cross_entropy of sigmoid(a) and b, without overflow",
                                            .min_inputs = 2,
                                            .infer = infer_floating,
                                            .gradient = PANDO_BINARY_GRADIENT(g * (ops::sigmoid(a) - b), -g* a),
                                            .elementwise = true};

}  // namespace definitions

}  // namespace pando
