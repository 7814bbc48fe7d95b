// Builders of the elementwise ops.
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

#define PANDO_BUILD_1(op) \
  Value op(Value x) { return build(definitions::op, {x}); }
#define PANDO_BUILD_2(op) \
  Value op(Value a, Value b) { return build(definitions::op, {a, b}); }
PANDO_BUILD_1(negate)
PANDO_BUILD_1(abs)
PANDO_BUILD_1(sign)
PANDO_BUILD_1(square)
PANDO_BUILD_1(sqrt)
PANDO_BUILD_1(rsqrt)
PANDO_BUILD_1(exp)
PANDO_BUILD_1(log)
PANDO_BUILD_1(sin)
PANDO_BUILD_1(cos)
PANDO_BUILD_1(floor)
PANDO_BUILD_1(erf)
PANDO_BUILD_1(tanh)
PANDO_BUILD_1(sigmoid)
PANDO_BUILD_1(relu)
PANDO_BUILD_1(gelu)
PANDO_BUILD_1(gelu_tanh)
PANDO_BUILD_1(silu)
PANDO_BUILD_1(softplus)
PANDO_BUILD_1(logical_not)
PANDO_BUILD_2(add)
PANDO_BUILD_2(subtract)
PANDO_BUILD_2(multiply)
PANDO_BUILD_2(divide)
PANDO_BUILD_2(power)
PANDO_BUILD_2(maximum)
PANDO_BUILD_2(minimum)
PANDO_BUILD_2(relu_gradient)
PANDO_BUILD_2(squared_error)
PANDO_BUILD_2(absolute_error)
PANDO_BUILD_2(sigmoid_cross_entropy)
PANDO_BUILD_2(equal)
PANDO_BUILD_2(not_equal)
PANDO_BUILD_2(less)
PANDO_BUILD_2(less_equal)
PANDO_BUILD_2(greater)
PANDO_BUILD_2(greater_equal)
PANDO_BUILD_2(logical_and)
PANDO_BUILD_2(logical_or)
#undef PANDO_BUILD_1
#undef PANDO_BUILD_2

}  // namespace pando::ops
