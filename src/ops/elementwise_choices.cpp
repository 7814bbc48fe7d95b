// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic, and the choice between two values. What they compute is in scalar.h.
#include <fmt/format.h>

#include "ops/elementwise.h"

namespace pando {

namespace {

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

std::vector<Value> select_gradient(const GradientCall& call) {
  const Value g = call.gradients[0], condition = call.inputs[0], zero = ops::scalar(g, 0);
  return {Value(), call.needed[1] ? ops::sum_to(ops::select(condition, g, zero), call.inputs[1].shape()) : Value(),
          call.needed[2] ? ops::sum_to(ops::select(condition, zero, g), call.inputs[2].shape()) : Value()};
}

}  // namespace

namespace definitions {

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

}  // namespace definitions

}  // namespace pando
