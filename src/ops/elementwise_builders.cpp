// SPDX-License-Identifier: Apache-2.0
// Builders of the elementwise ops: those without attributes are made from their list.
#include <pando/ops/ops.h>

#include "ops/build.h"
#include "ops/op_list.h"

namespace pando::ops {

Value clip(Value x, double min, double max) { return build(definitions::clip, {x}, {{"min", min}, {"max", max}}); }
Value leaky_relu(Value x, double alpha) { return build(definitions::leaky_relu, {x}, {{"alpha", alpha}}); }
Value elu(Value x, double alpha) { return build(definitions::elu, {x}, {{"alpha", alpha}}); }
Value huber_error(Value a, Value b, double delta) {
  return build(definitions::huber_error, {a, b}, {{"delta", delta}});
}
Value binary_cross_entropy(Value probability, Value target, double epsilon) {
  return build(definitions::binary_cross_entropy, {probability, target}, {{"epsilon", epsilon}});
}
Value cast(Value x, DType dtype) { return x.dtype() == dtype ? x : build(definitions::cast, {x}, {{"dtype", dtype}}); }
Value select(Value condition, Value a, Value b) { return build(definitions::select, {condition, a, b}); }

#define PANDO_OP(name)
#define PANDO_BUILD_1(name) \
  Value name(Value x) { return build(definitions::name, {x}); }
#define PANDO_BUILD_2(name) \
  Value name(Value a, Value b) { return build(definitions::name, {a, b}); }
#define PANDO_UNARY(name) PANDO_BUILD_1(name)
#define PANDO_UNARY_NUMERIC(name) PANDO_BUILD_1(name)
#define PANDO_LOGICAL_1(name) PANDO_BUILD_1(name)
#define PANDO_BINARY(name) PANDO_BUILD_2(name)
#define PANDO_BINARY_NUMERIC(name) PANDO_BUILD_2(name)
#define PANDO_BINARY_INTEGER(name) PANDO_BUILD_2(name)
#define PANDO_COMPARISON(name) PANDO_BUILD_2(name)
#define PANDO_LOGICAL_2(name) PANDO_BUILD_2(name)
#define PANDO_UNARY_WITH_NUMBERS(name)
#define PANDO_UNARY_NUMERIC_WITH_NUMBERS(name)
#define PANDO_BINARY_WITH_NUMBERS(name)
#include <pando/ops/elementwise.def>
#undef PANDO_OP
#undef PANDO_BUILD_1
#undef PANDO_BUILD_2

}  // namespace pando::ops
