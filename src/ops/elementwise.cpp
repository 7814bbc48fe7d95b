// SPDX-License-Identifier: Apache-2.0
// Ops that compute each element from the broadcast elements of their inputs. What they compute is in scalar.h.
#include <pando/ops/ops.h>

#include <fmt/format.h>

#include "graph/elementwise_program.h"
#include "ops/infer.h"
#include "ops/checks.h"

namespace pando {

namespace {

Shape broadcast_inputs(const OpCall& call) {
  Shape shape = call.shape(0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    try {
      shape = broadcast_shapes(shape, call.shape(i));
    } catch (const Error& error) {
      call.fail(fmt::format("{}; reshape or broadcast one of them", error.what()));
    }
  }
  return shape;
}

std::vector<Type> infer_floating(const OpCall& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i) require_floating(call, i);
  require_same_dtype(call);
  return {{call.dtype(0), broadcast_inputs(call)}};
}

std::vector<Type> infer_numeric(const OpCall& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    require_dtype(call, i, {DType::float32, DType::float64, DType::int32, DType::int64});
  require_same_dtype(call);
  return {{call.dtype(0), broadcast_inputs(call)}};
}

std::vector<Type> infer_integer(const OpCall& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i) require_dtype(call, i, {DType::int32, DType::int64});
  require_same_dtype(call);
  return {{call.dtype(0), broadcast_inputs(call)}};
}

std::vector<Type> infer_clip(const OpCall& call) {
  const double min = call.attributes.number("min"), max = call.attributes.number("max");
  if (!(min <= max)) call.fail(fmt::format("'min' is {} and 'max' {}; min must not be above max", min, max));
  return infer_numeric(call);
}

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

std::vector<Type> infer_comparison(const OpCall& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    require_dtype(call, i, {DType::float32, DType::float64, DType::int32, DType::int64, DType::boolean});
  require_same_dtype(call);
  return {{DType::boolean, broadcast_inputs(call)}};
}

std::vector<Type> infer_logical(const OpCall& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i) require_dtype(call, i, {DType::boolean});
  return {{DType::boolean, broadcast_inputs(call)}};
}

std::vector<Type> infer_select(const OpCall& call) {
  require_dtype(call, 0, {DType::boolean});
  for (std::size_t i : {1, 2}) require_dtype(call, i, {DType::float32, DType::float64, DType::int32, DType::int64});
  if (call.dtype(1) != call.dtype(2))
    call.fail(
        fmt::format("inputs are {} and {}; cast one of them", to_string(call.inputs[1]), to_string(call.inputs[2])));
  return {{call.dtype(1), broadcast_inputs(call)}};
}

std::vector<Type> infer_cast(const OpCall& call) { return {{call.attributes.dtype("dtype"), call.shape(0)}}; }

std::vector<Type> infer_fused(const OpCall& call) {
  const auto& program = call.attributes.program("program");
  if (!program || program->operands.size() != call.inputs.size()) call.fail("the program does not match the inputs");
  std::vector<Type> types;
  for (std::int32_t result : program->results) types.push_back({program->dtype(result), broadcast_inputs(call)});
  return types;
}

using Gradients = std::vector<Value>;
using ops::scalar;
using ops::select;

// A unary op's gradient: the gradient of the result times a factor made of x and y.
#define PANDO_UNARY_GRADIENT(expression)                                                                            \
  [](const GradientCall& call) -> Gradients {                                                                       \
    [[maybe_unused]] const Value g = call.gradients[0], x = call.inputs[0], y = call.outputs[0];                    \
    [[maybe_unused]] const auto parameter = [&](std::string_view key) { return call.node.attributes.number(key); }; \
    return {(expression)};                                                                                          \
  }

// A binary op's gradients, each built only if needed and summed over what was broadcast.
#define PANDO_BINARY_GRADIENT(expression_a, expression_b)                                                            \
  [](const GradientCall& call) -> Gradients {                                                                        \
    [[maybe_unused]] const Value g = call.gradients[0], a = call.inputs[0], b = call.inputs[1], y = call.outputs[0]; \
    [[maybe_unused]] const auto parameter = [&](std::string_view key) { return call.node.attributes.number(key); };  \
    return {call.needed[0] ? ops::sum_to((expression_a), a.shape()) : Value(),                                       \
            call.needed[1] ? ops::sum_to((expression_b), b.shape()) : Value()};                                      \
  }

Value where(Value condition, Value chosen) { return select(condition, chosen, scalar(chosen, 0)); }

// a^0 is 1 everywhere, even at 0, where the formula is 0 times infinity.
Value power_gradient_of_base(Value a, Value b, Value g) {
  return where(ops::not_equal(b, scalar(b, 0)), g * b * ops::power(a, b - 1.0));
}

// 0^b is 0 for every b above 0; PyTorch counts b = 0 among these.
Value power_gradient_of_exponent(Value a, Value b, Value y, Value g) {
  const Value has_slope = ops::logical_or(ops::not_equal(a, scalar(a, 0)), ops::less(b, scalar(b, 0)));
  return where(has_slope, g * y * ops::log(a));
}

// exp(-x^2) * 2 / sqrt(pi), the derivative of erf.
Value erf_derivative(Value x) { return ops::exp(-ops::square(x)) * 1.1283791670955126; }

// 1 - x^2, accurate near 1.
Value one_less_square(Value x) { return (1.0 - x) * (x + 1.0); }

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

// Inside the clipped range the derivative of the cross-entropy in p; outside it is flat.
Value binary_cross_entropy_derivative(Value p, Value target, double epsilon) {
  const Value inside =
      ops::logical_and(ops::greater_equal(p, scalar(p, epsilon)), ops::less_equal(p, scalar(p, 1 - epsilon)));
  const Value clipped = ops::clip(p, epsilon, 1 - epsilon);
  return where(inside, (clipped - target) / (clipped * (1.0 - clipped)));
}

Gradients select_gradient(const GradientCall& call) {
  const Value g = call.gradients[0], condition = call.inputs[0], zero = scalar(g, 0);
  return {Value(), call.needed[1] ? ops::sum_to(select(condition, g, zero), call.inputs[1].shape()) : Value(),
          call.needed[2] ? ops::sum_to(select(condition, zero, g), call.inputs[2].shape()) : Value()};
}

Gradients cast_gradient(const GradientCall& call) {
  if (!is_floating(call.inputs[0].dtype()) || !is_floating(call.outputs[0].dtype())) return {Value()};
  return {ops::cast(call.gradients[0], call.inputs[0].dtype())};
}

}  // namespace

namespace definitions {

const OpDefinition negate = {.id = Op::negate,
                             .name = "negate",
                             .doc = "-x",
                             .infer = infer_numeric,
                             .gradient = PANDO_UNARY_GRADIENT(-g),
                             .elementwise = true};
const OpDefinition abs = {.id = Op::abs,
                          .name = "abs",
                          .doc = "|x|",
                          .infer = infer_numeric,
                          .gradient = PANDO_UNARY_GRADIENT(g * ops::sign(x)),
                          .elementwise = true};
const OpDefinition sign = {
    .id = Op::sign, .name = "sign", .doc = "-1, 0 or 1", .infer = infer_numeric, .elementwise = true, .monotone = true};
const OpDefinition square = {.id = Op::square,
                             .name = "square",
                             .doc = "x * x",
                             .infer = infer_numeric,
                             .gradient = PANDO_UNARY_GRADIENT(g * x * 2.0),
                             .elementwise = true};
const OpDefinition clip = {
    .id = Op::clip,
    .name = "clip",
    .doc = "x limited to [min, max]",
    .attributes = {{"min", 0.0}, {"max", 0.0}},
    .infer = infer_clip,
    .gradient = PANDO_UNARY_GRADIENT(where(ops::logical_and(ops::greater_equal(x, scalar(x, parameter("min"))),
                                                            ops::less_equal(x, scalar(x, parameter("max")))),
                                           g)),
    .elementwise = true,
    .parameters = {"min", "max"},
    .monotone = true};
const OpDefinition sqrt = {.id = Op::sqrt,
                           .name = "sqrt",
                           .doc = "square root",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(g * 0.5 / y),
                           .elementwise = true};
const OpDefinition rsqrt = {.id = Op::rsqrt,
                            .name = "rsqrt",
                            .doc = "1 / sqrt(x)",
                            .infer = infer_floating,
                            .gradient = PANDO_UNARY_GRADIENT(g * -0.5 * y / x),
                            .elementwise = true};
const OpDefinition exp = {.id = Op::exp,
                          .name = "exp",
                          .doc = "e to the power of x",
                          .infer = infer_floating,
                          .gradient = PANDO_UNARY_GRADIENT(g * y),
                          .elementwise = true};
const OpDefinition log = {.id = Op::log,
                          .name = "log",
                          .doc = "natural logarithm",
                          .infer = infer_floating,
                          .gradient = PANDO_UNARY_GRADIENT(g / x),
                          .elementwise = true};
const OpDefinition sin = {.id = Op::sin,
                          .name = "sin",
                          .doc = "sine",
                          .infer = infer_floating,
                          .gradient = PANDO_UNARY_GRADIENT(g * ops::cos(x)),
                          .elementwise = true};
const OpDefinition cos = {.id = Op::cos,
                          .name = "cos",
                          .doc = "cosine",
                          .infer = infer_floating,
                          .gradient = PANDO_UNARY_GRADIENT(-g * ops::sin(x)),
                          .elementwise = true};
const OpDefinition expm1 = {.id = Op::expm1,
                            .name = "expm1",
                            .doc = "exp(x) - 1, accurate near 0",
                            .infer = infer_floating,
                            .gradient = PANDO_UNARY_GRADIENT(g * (y + 1.0)),
                            .elementwise = true};
const OpDefinition log1p = {.id = Op::log1p,
                            .name = "log1p",
                            .doc = "log(1 + x), accurate near 0",
                            .infer = infer_floating,
                            .gradient = PANDO_UNARY_GRADIENT(g / (x + 1.0)),
                            .elementwise = true};
const OpDefinition asin = {.id = Op::asin,
                           .name = "asin",
                           .doc = "arc sine, in radians",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(g * ops::rsqrt(one_less_square(x))),
                           .elementwise = true};
const OpDefinition acos = {.id = Op::acos,
                           .name = "acos",
                           .doc = "arc cosine, in radians",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(-g * ops::rsqrt(one_less_square(x))),
                           .elementwise = true};
const OpDefinition atan = {.id = Op::atan,
                           .name = "atan",
                           .doc = "arc tangent, in radians",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(g / (ops::square(x) + 1.0)),
                           .elementwise = true};
const OpDefinition sinh = {.id = Op::sinh,
                           .name = "sinh",
                           .doc = "hyperbolic sine",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(g * ops::cosh(x)),
                           .elementwise = true};
const OpDefinition cosh = {.id = Op::cosh,
                           .name = "cosh",
                           .doc = "hyperbolic cosine",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(g * ops::sinh(x)),
                           .elementwise = true};
const OpDefinition asinh = {.id = Op::asinh,
                            .name = "asinh",
                            .doc = "inverse of the hyperbolic sine",
                            .infer = infer_floating,
                            .gradient = PANDO_UNARY_GRADIENT(g * ops::rsqrt(ops::square(x) + 1.0)),
                            .elementwise = true};
const OpDefinition acosh = {.id = Op::acosh,
                            .name = "acosh",
                            .doc = "inverse of the hyperbolic cosine; NaN below 1",
                            .infer = infer_floating,
                            .gradient = PANDO_UNARY_GRADIENT(g * ops::rsqrt((x - 1.0) * (x + 1.0))),
                            .elementwise = true};
const OpDefinition atanh = {.id = Op::atanh,
                            .name = "atanh",
                            .doc = "inverse of the hyperbolic tangent; NaN outside [-1, 1]",
                            .infer = infer_floating,
                            .gradient = PANDO_UNARY_GRADIENT(g / one_less_square(x)),
                            .elementwise = true};
const OpDefinition floor = {.id = Op::floor,
                            .name = "floor",
                            .doc = "the largest integer not above x",
                            .infer = infer_floating,
                            .elementwise = true,
                            .monotone = true};
const OpDefinition round = {.id = Op::round,
                            .name = "round",
                            .doc = "the nearest integer; of two that are as near, the even one",
                            .infer = infer_floating,
                            .elementwise = true,
                            .monotone = true};
const OpDefinition erf = {.id = Op::erf,
                          .name = "erf",
                          .doc = "the error function",
                          .infer = infer_floating,
                          .gradient = PANDO_UNARY_GRADIENT(g * erf_derivative(x)),
                          .elementwise = true};
const OpDefinition erfc = {.id = Op::erfc,
                           .name = "erfc",
                           .doc = "1 - erf(x), accurate where it is small",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(-g * erf_derivative(x)),
                           .elementwise = true};
const OpDefinition erfinv = {.id = Op::erfinv,
                             .name = "erfinv",
                             .doc = "the inverse of erf; NaN outside [-1, 1]",
                             .infer = infer_floating,
                             .gradient = PANDO_UNARY_GRADIENT(g * ops::exp(ops::square(y)) * 0.886226925452758),
                             .elementwise = true};
const OpDefinition lgamma = {.id = Op::lgamma,
                             .name = "lgamma",
                             .doc = "the logarithm of |gamma(x)|",
                             .infer = infer_floating,
                             .gradient = PANDO_UNARY_GRADIENT(g * ops::digamma(x)),
                             .elementwise = true};
const OpDefinition digamma = {.id = Op::digamma,
                              .name = "digamma",
                              .doc = "the derivative of lgamma",
                              .infer = infer_floating,
                              .gradient = PANDO_UNARY_GRADIENT(g * ops::trigamma(x)),
                              .elementwise = true};
const OpDefinition trigamma = {.id = Op::trigamma,
                               .name = "trigamma",
                               .doc = "the derivative of digamma",
                               .infer = infer_floating,
                               .elementwise = true};
const OpDefinition tanh = {.id = Op::tanh,
                           .name = "tanh",
                           .doc = "hyperbolic tangent",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(g * (1.0 - ops::square(y))),
                           .elementwise = true};
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
    .gradient = PANDO_UNARY_GRADIENT(ops::select(ops::less(x, scalar(x, 0)), g* parameter("alpha"), g)),
    .elementwise = true,
    .parameters = {"alpha"}};
const OpDefinition elu = {
    .id = Op::elu,
    .name = "elu",
    .doc = "x, or alpha * (exp(x) - 1) where x < 0",
    .attributes = {{"alpha", 1.0}},
    .infer = infer_floating,
    .gradient = PANDO_UNARY_GRADIENT(ops::select(ops::less(x, scalar(x, 0)), g*(y + parameter("alpha")), g)),
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

const OpDefinition add = {.id = Op::add,
                          .name = "add",
                          .doc = "a + b",
                          .min_inputs = 2,
                          .infer = infer_numeric,
                          .gradient = PANDO_BINARY_GRADIENT(g, g),
                          .elementwise = true};
const OpDefinition subtract = {.id = Op::subtract,
                               .name = "subtract",
                               .doc = "a - b",
                               .min_inputs = 2,
                               .infer = infer_numeric,
                               .gradient = PANDO_BINARY_GRADIENT(g, -g),
                               .elementwise = true};
const OpDefinition multiply = {.id = Op::multiply,
                               .name = "multiply",
                               .doc = "a * b",
                               .min_inputs = 2,
                               .infer = infer_numeric,
                               .gradient = PANDO_BINARY_GRADIENT(g * b, g* a),
                               .elementwise = true};
const OpDefinition maximum = {
    .id = Op::maximum,
    .name = "maximum",
    .doc = "the larger of a and b; the gradient of equal ones goes to a",
    .min_inputs = 2,
    .infer = infer_numeric,
    .gradient = PANDO_BINARY_GRADIENT(where(ops::greater_equal(a, b), g), where(ops::less(a, b), g)),
    .elementwise = true};
const OpDefinition minimum = {
    .id = Op::minimum,
    .name = "minimum",
    .doc = "the smaller of a and b; the gradient of equal ones goes to a",
    .min_inputs = 2,
    .infer = infer_numeric,
    .gradient = PANDO_BINARY_GRADIENT(where(ops::less_equal(a, b), g), where(ops::greater(a, b), g)),
    .elementwise = true};
const OpDefinition floor_divide = {.id = Op::floor_divide,
                                   .name = "floor_divide",
                                   .doc = "the largest integer not above a / b; of integers, 0 where b is 0",
                                   .min_inputs = 2,
                                   .infer = infer_numeric,
                                   .elementwise = true};
const OpDefinition remainder = {.id = Op::remainder,
                                .name = "remainder",
                                .doc = "what floor_divide leaves of a, with the sign of b; of integers, 0 where b is 0",
                                .min_inputs = 2,
                                .infer = infer_numeric,
                                .gradient = PANDO_BINARY_GRADIENT(g, -g* ops::floor_divide(a, b)),
                                .elementwise = true};
const OpDefinition bitwise_and = {.id = Op::bitwise_and,
                                  .name = "bitwise_and",
                                  .doc = "the bits that a and b have",
                                  .min_inputs = 2,
                                  .infer = infer_integer,
                                  .elementwise = true};
const OpDefinition bitwise_or = {.id = Op::bitwise_or,
                                 .name = "bitwise_or",
                                 .doc = "the bits that a or b has",
                                 .min_inputs = 2,
                                 .infer = infer_integer,
                                 .elementwise = true};
const OpDefinition bitwise_xor = {.id = Op::bitwise_xor,
                                  .name = "bitwise_xor",
                                  .doc = "the bits that one of a and b has",
                                  .min_inputs = 2,
                                  .infer = infer_integer,
                                  .elementwise = true};
const OpDefinition shift_left = {
    .id = Op::shift_left,
    .name = "shift_left",
    .doc = "the bits of a moved up by b places; 0 if b is negative or not below their number",
    .min_inputs = 2,
    .infer = infer_integer,
    .elementwise = true};
const OpDefinition shift_right = {.id = Op::shift_right,
                                  .name = "shift_right",
                                  .doc =
                                      "the bits of a moved down by b places, with its sign; if b is negative or not "
                                      "below their number, the sign alone",
                                  .min_inputs = 2,
                                  .infer = infer_integer,
                                  .elementwise = true};
const OpDefinition divide = {.id = Op::divide,
                             .name = "divide",
                             .doc = "a / b",
                             .min_inputs = 2,
                             .infer = infer_floating,
                             .gradient = PANDO_BINARY_GRADIENT(g / b, -g* y / b),
                             .elementwise = true};
const OpDefinition power = {
    .id = Op::power,
    .name = "power",
    .doc = "a to the power of b",
    .min_inputs = 2,
    .infer = infer_floating,
    .gradient = PANDO_BINARY_GRADIENT(power_gradient_of_base(a, b, g), power_gradient_of_exponent(a, b, y, g)),
    .elementwise = true};
const OpDefinition atan2 = {.id = Op::atan2,
                            .name = "atan2",
                            .doc = "the angle of the point (b, a), from -pi to pi",
                            .min_inputs = 2,
                            .infer = infer_floating,
                            .gradient = PANDO_BINARY_GRADIENT(g * b / (ops::square(a) + ops::square(b)),
                                                              -g* a / (ops::square(a) + ops::square(b))),
                            .elementwise = true};
const OpDefinition relu_gradient = {.id = Op::relu_gradient,
                                    .name = "relu_gradient",
                                    .doc = "0 where y <= 0, else g",
                                    .min_inputs = 2,
                                    .infer = infer_floating,
                                    .gradient = PANDO_BINARY_GRADIENT(ops::relu_gradient(g, b), scalar(b, 0) * b),
                                    .elementwise = true};
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

#define PANDO_COMPARISON_DEFINITION(op, text) \
  const OpDefinition op = {                   \
      .id = Op::op, .name = #op, .doc = text, .min_inputs = 2, .infer = infer_comparison, .elementwise = true};
PANDO_COMPARISON_DEFINITION(equal, "whether a = b")
PANDO_COMPARISON_DEFINITION(not_equal, "whether a and b differ")
PANDO_COMPARISON_DEFINITION(less, "whether a < b")
PANDO_COMPARISON_DEFINITION(less_equal, "whether a <= b")
PANDO_COMPARISON_DEFINITION(greater, "whether a > b")
PANDO_COMPARISON_DEFINITION(greater_equal, "whether a >= b")
#undef PANDO_COMPARISON_DEFINITION

const OpDefinition logical_and = {.id = Op::logical_and,
                                  .name = "logical_and",
                                  .doc = "a and b",
                                  .min_inputs = 2,
                                  .infer = infer_logical,
                                  .elementwise = true};
const OpDefinition logical_or = {.id = Op::logical_or,
                                 .name = "logical_or",
                                 .doc = "a or b",
                                 .min_inputs = 2,
                                 .infer = infer_logical,
                                 .elementwise = true};
const OpDefinition logical_not = {
    .id = Op::logical_not, .name = "logical_not", .doc = "not a", .infer = infer_logical, .elementwise = true};
const OpDefinition select = {.id = Op::select,
                             .name = "select",
                             .doc = "a where the condition holds, else b",
                             .min_inputs = 3,
                             .infer = infer_select,
                             .gradient = select_gradient,
                             .elementwise = true};
const OpDefinition cast = {.id = Op::cast,
                           .name = "cast",
                           .doc = "x as another dtype; a number that it lacks becomes the nearest one that it has",
                           .attributes = {{"dtype", DType::float32}},
                           .infer = infer_cast,
                           .gradient = cast_gradient,
                           .elementwise = true};
const OpDefinition fused = {.id = Op::fused,
                            .name = "fused",
                            .doc = "a chain of elementwise ops, made by the compiler",
                            .attributes = {{"program", std::shared_ptr<const ElementwiseProgram>()}},
                            .min_inputs = 1,
                            .max_inputs = -1,
                            .infer = infer_fused,
                            .elementwise = true};

}  // namespace definitions

}  // namespace pando
