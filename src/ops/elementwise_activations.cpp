// SPDX-License-Identifier: Apache-2.0
// Activations and their derivatives. What they compute is in scalar.h.
#include "ops/elementwise.h"

namespace pando {

namespace {

// The second derivative of gelu: the density of the normal distribution, times 2 - x^2.
Value gelu_curvature(Value x) {
  const Value square = ops::square(x);
  return ops::exp(square * -0.5) * (2.0 - square) * 0.3989422804014327;
}

// gelu_tanh is x times the sigmoid of u.
Value gelu_tanh_curvature(Value x) {
  constexpr double factor = 2 * 0.79788456080286536, cubic = 0.044715;
  const Value square = ops::square(x);
  const Value s = ops::sigmoid(x * (square * cubic + 1.0) * factor), slope = s * (1.0 - s);
  const Value u1 = (square * (3 * cubic) + 1.0) * factor, u2 = x * (6 * cubic * factor);
  return slope * (u1 * 2.0 + x * ((1.0 - s * 2.0) * ops::square(u1) + u2));
}

Value silu_curvature(Value x) {
  const Value s = ops::sigmoid(x);
  return s * (1.0 - s) * (x * (1.0 - s * 2.0) + 2.0);
}

}  // namespace

namespace definitions {

const OpDefinition sigmoid = {.id = Op::sigmoid,
                              .name = "sigmoid",
                              .doc = "1 / (1 + exp(-x))",
                              .infer = infer_floating,
                              .gradient = PANDO_UNARY_GRADIENT(g * y * (1.0 - y)),
                              .elementwise = true};
const OpDefinition relu = {.id = Op::relu,
                           .name = "relu",
                           .doc = "max(x, 0)",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(ops::relu_gradient(g, y)),
                           .elementwise = true,
                           .monotone = true};
const OpDefinition leaky_relu = {
    .id = Op::leaky_relu,
    .name = "leaky_relu",
    .doc = "x, or alpha * x where x < 0",
    .attributes = {{"alpha", 0.01}},
    .infer = infer_floating,
    .gradient = PANDO_UNARY_GRADIENT(ops::select(ops::less(x, ops::scalar(x, 0)), g* parameter("alpha"), g)),
    .elementwise = true,
    .parameters = {"alpha"}};
const OpDefinition elu = {
    .id = Op::elu,
    .name = "elu",
    .doc = "x, or alpha * (exp(x) - 1) where x < 0",
    .attributes = {{"alpha", 1.0}},
    .infer = infer_floating,
    .gradient = PANDO_UNARY_GRADIENT(ops::select(ops::less(x, ops::scalar(x, 0)), g*(y + parameter("alpha")), g)),
    .elementwise = true,
    .parameters = {"alpha"}};
const OpDefinition gelu = {.id = Op::gelu,
                           .name = "gelu",
                           .doc = "x * (1 + erf(x / sqrt(2))) / 2",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(g * ops::gelu_derivative(x)),
                           .elementwise = true};
const OpDefinition gelu_derivative = {.id = Op::gelu_derivative,
                                      .name = "gelu_derivative",
                                      .doc = "the derivative of gelu",
                                      .infer = infer_floating,
                                      .gradient = PANDO_UNARY_GRADIENT(g * gelu_curvature(x)),
                                      .elementwise = true};
const OpDefinition gelu_tanh = {.id = Op::gelu_tanh,
                                .name = "gelu_tanh",
                                .doc = "gelu with erf approximated by tanh",
                                .infer = infer_floating,
                                .gradient = PANDO_UNARY_GRADIENT(g * ops::gelu_tanh_derivative(x)),
                                .elementwise = true};
const OpDefinition gelu_tanh_derivative = {.id = Op::gelu_tanh_derivative,
                                           .name = "gelu_tanh_derivative",
                                           .doc = "the derivative of gelu_tanh",
                                           .infer = infer_floating,
                                           .gradient = PANDO_UNARY_GRADIENT(g * gelu_tanh_curvature(x)),
                                           .elementwise = true};
const OpDefinition silu = {.id = Op::silu,
                           .name = "silu",
                           .doc = "x * sigmoid(x)",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(g * ops::silu_derivative(x)),
                           .elementwise = true};
const OpDefinition silu_derivative = {.id = Op::silu_derivative,
                                      .name = "silu_derivative",
                                      .doc = "the derivative of silu",
                                      .infer = infer_floating,
                                      .gradient = PANDO_UNARY_GRADIENT(g * silu_curvature(x)),
                                      .elementwise = true};
const OpDefinition softplus = {.id = Op::softplus,
                               .name = "softplus",
                               .doc = "log(1 + exp(x))",
                               .infer = infer_floating,
                               .gradient = PANDO_UNARY_GRADIENT(g * ops::sigmoid(x)),
                               .elementwise = true};
const OpDefinition relu_gradient = {.id = Op::relu_gradient,
                                    .name = "relu_gradient",
                                    .doc = "0 where y <= 0, else g",
                                    .min_inputs = 2,
                                    .infer = infer_floating,
                                    .gradient = PANDO_BINARY_GRADIENT(ops::relu_gradient(g, b), ops::scalar(b, 0) * b),
                                    .elementwise = true};

}  // namespace definitions

}  // namespace pando
