// SPDX-License-Identifier: Apache-2.0
// Rows chosen by indices.
#include <pando/ops/ops.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ops/build.h"
#include "ops/checks.h"

namespace pando {

namespace {

std::vector<Type> infer_gather(const OpCall& call) {
  require_dtype(call, 1, {DType::int32});
  require_rank_at_least(call, 0, 1, "the first one the rows");
  Shape shape = call.shape(1);
  for (int axis = 1; axis < call.shape(0).rank(); ++axis) shape = extended(call, shape, call.shape(0)[axis]);
  return {{call.dtype(0), shape}};
}

std::vector<Type> infer_gather_gradient(const OpCall& call) {
  require_floating(call, 0);
  require_dtype(call, 1, {DType::int32});
  const Shape &g = call.shape(0), &indices = call.shape(1);
  if (g.rank() < indices.rank() || g.part(0, indices.rank()) != indices)
    call.fail(fmt::format("the gradient {} does not begin with the shape of the indices {}; correct the shapes",
                          to_string(g), to_string(indices)));
  Shape shape = {integer_attribute(call, "rows", 0, largest_size)};
  for (int axis = indices.rank(); axis < g.rank(); ++axis) shape = extended(call, shape, g[axis]);
  return {{call.dtype(0), shape}};
}

std::vector<Type> infer_one_hot(const OpCall& call) {
  require_dtype(call, 0, {DType::int32});
  const std::int64_t depth = integer_attribute(call, "depth", 0, largest_size);
  return {{call.attributes.dtype("dtype"), extended(call, call.shape(0), depth)}};
}

std::vector<Value> gather_gradients(const GradientCall& call) {
  return {
      build(definitions::gather_gradient, {call.gradients[0], call.inputs[1]}, {{"rows", call.inputs[0].shape()[0]}}),
      Value()};
}

// Whether each index names one of `rows` rows, with axes of size 1 appended up to `rank`.
Value is_in_range(Value indices, std::int64_t rows, int rank) {
  const double last = static_cast<double>(std::min<std::int64_t>(rows - 1, std::numeric_limits<std::int32_t>::max()));
  Shape shape = indices.shape();
  while (shape.rank() < rank) shape.append(1);
  return ops::reshape(ops::logical_and(ops::greater_equal(indices, ops::scalar(indices, 0)),
                                       ops::less_equal(indices, ops::scalar(indices, last))),
                      shape);
}

// Indices that were left out have no influence: the result is 0 there.
std::vector<Value> gather_gradient_gradients(const GradientCall& call) {
  const std::int64_t rows = call.outputs[0].shape()[0];
  if (rows == 0) return {Value(), Value()};
  const Value indices = call.inputs[1], known = is_in_range(indices, rows, indices.shape().rank());
  const Value found = ops::gather(call.gradients[0], ops::select(known, indices, ops::scalar(indices, 0)));
  return {ops::select(is_in_range(indices, rows, found.shape().rank()), found, ops::scalar(found, 0)), Value()};
}

}  // namespace

namespace definitions {

const OpDefinition gather = {
    .id = Op::gather,
    .name = "gather",
    .doc = "the rows of a table at the indices; an index out of range ends the run with an error",
    .min_inputs = 2,
    .infer = infer_gather,
    .gradient = gather_gradients,
    .checks_indices = true};
const OpDefinition gather_gradient = {
    .id = Op::gather_gradient,
    .name = "gather_gradient",
    .doc = "rows of zeros to which each gradient is added at its index; indices out of range are left out",
    .attributes = {{"rows", std::int64_t{0}}},
    .min_inputs = 2,
    .infer = infer_gather_gradient,
    .gradient = gather_gradient_gradients};
const OpDefinition one_hot = {.id = Op::one_hot,
                              .name = "one_hot",
                              .doc = "a last axis of zeros with 1 at the index, if it is in range",
                              .attributes = {{"depth", std::int64_t{0}}, {"dtype", DType::float32}},
                              .infer = infer_one_hot};

}  // namespace definitions

namespace ops {

Value gather(Value table, Value indices) { return build(definitions::gather, {table, indices}); }

Value one_hot(Value indices, std::int64_t depth, DType dtype) {
  return build(definitions::one_hot, {indices}, {{"depth", depth}, {"dtype", dtype}});
}

}  // namespace ops

}  // namespace pando
