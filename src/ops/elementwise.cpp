// SPDX-License-Identifier: Apache-2.0
// Arithmetic and functions of numbers, element by element. What they compute is in scalar.h.
#include "ops/elementwise.h"

#include <fmt/format.h>

#include "graph/elementwise_program.h"

namespace pando {

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

Value where(Value condition, Value chosen) { return ops::select(condition, chosen, ops::scalar(chosen, 0)); }

namespace {

using ops::scalar;

std::vector<Type> infer_clip(const OpCall& call) {
  const double min = call.attributes.number("min"), max = call.attributes.number("max");
  if (!(min <= max)) call.fail(fmt::format("'min' is {} and 'max' {}; min must not be above max", min, max));
  return infer_numeric(call);
}

std::vector<Type> infer_cast(const OpCall& call) { return {{call.attributes.dtype("dtype"), call.shape(0)}}; }

std::vector<Type> infer_fused(const OpCall& call) {
  const auto& program = call.attributes.program("program");
  if (!program || program->operands.size() != call.inputs.size()) call.fail("the program does not match the inputs");
  std::vector<Type> types;
  for (std::int32_t result : program->results) types.push_back({program->dtype(result), broadcast_inputs(call)});
  return types;
}

// a^0 is 1 everywhere, even at 0, where the formula is 0 times infinity.
Value power_gradient_of_base(Value a, Value b, Value g) {
  return where(ops::not_equal(b, scalar(b, 0)), g * b * ops::power(a, b - 1.0));
}

// 0^b is 0 for every b above 0; PyTorch counts b = 0 among these.
Value power_gradient_of_exponent(Value a, Value b, Value y, Value g) {
  const Value has_slope = ops::logical_or(ops::not_equal(a, scalar(a, 0)), ops::less(b, scalar(b, 0)));
  return where(has_slope, g * y * ops::log(a));
}

std::vector<Value> cast_gradient(const GradientCall& call) {
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
const OpDefinition tanh = {.id = Op::tanh,
                           .name = "tanh",
                           .doc = "hyperbolic tangent",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(g * (1.0 - ops::square(y))),
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
