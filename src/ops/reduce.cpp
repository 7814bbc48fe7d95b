// SPDX-License-Identifier: Apache-2.0
// Reductions over some axes.
#include <pando/ops/ops.h>

#include <fmt/format.h>

#include <algorithm>

#include "ops/build.h"
#include "ops/checks.h"

namespace pando {

namespace {

// Each in range and larger than the one before: kernels rely on it.
const Integers& checked_axes(const OpCall& call) {
  const Integers& axes = call.attributes.integers("axes");
  const int rank = call.shape(0).rank();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= rank) fail_axis(call, axes[i]);
    if (i > 0 && axes[i] <= axes[i - 1])
      call.fail(fmt::format("the axes [{}] must ascend without repeats; name each once", fmt::join(axes, ", ")));
  }
  return axes;
}

bool contains(const Integers& axes, int axis) { return std::binary_search(axes.begin(), axes.end(), axis); }

Shape reduced_shape(const Shape& shape, const Integers& axes, bool keep_dims) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!contains(axes, axis)) result.append(shape[axis]);
    else if (keep_dims) result.append(1);
  }
  return result;
}

std::vector<Type> infer_reduced(const OpCall& call) {
  return {{call.dtype(0), reduced_shape(call.shape(0), checked_axes(call), call.attributes.flag("keep_dims"))}};
}

void require_elements(const OpCall& call, std::int64_t axis) {
  if (call.shape(0)[static_cast<int>(axis)] == 0)
    call.fail(
        fmt::format("axis {} of the shape {} is empty and has no largest element; leave the axis out or give it "
                    "elements",
                    axis, to_string(call.shape(0))));
}

std::vector<Type> infer_sum(const OpCall& call) {
  require_dtype(call, 0, {DType::float32, DType::float64, DType::int32, DType::int64});
  return infer_reduced(call);
}

std::vector<Type> infer_mean(const OpCall& call) {
  require_floating(call, 0);
  return infer_reduced(call);
}

std::vector<Type> infer_max(const OpCall& call) {
  require_dtype(call, 0, {DType::float32, DType::float64, DType::int32, DType::int64});
  for (std::int64_t axis : checked_axes(call)) require_elements(call, axis);
  return infer_reduced(call);
}

std::vector<Type> infer_argmax(const OpCall& call) {
  require_dtype(call, 0, {DType::float32, DType::float64, DType::int32, DType::int64});
  require_rank_at_least(call, 0, 1, "one of them to search");
  const int axis = axis_attribute(call);
  require_elements(call, axis);
  return {{DType::int32, reduced_shape(call.shape(0), {axis}, false)}};
}

// A value of the result's shape with the reduced axes back at size 1, so that it broadcasts to the input.
Value kept(const GradientCall& call, Value value) {
  if (value.shape().rank() == 0) return value;
  return ops::reshape(value, reduced_shape(call.inputs[0].shape(), call.node.attributes.integers("axes"), true));
}

std::vector<Value> sum_gradient(const GradientCall& call) {
  return {ops::broadcast(kept(call, call.gradients[0]), call.inputs[0].shape())};
}

std::vector<Value> mean_gradient(const GradientCall& call) {
  const Shape shape = call.inputs[0].shape();
  double count = 1;
  for (std::int64_t axis : call.node.attributes.integers("axes"))
    count *= static_cast<double>(shape[static_cast<int>(axis)]);
  return {ops::broadcast(kept(call, call.gradients[0]), shape) / count};
}

std::vector<Value> max_gradient(const GradientCall& call) {
  const Value x = call.inputs[0];
  const Value is_largest = ops::cast(ops::equal(x, kept(call, call.outputs[0])), x.dtype());
  // Does not use the builder, which takes an empty list of axes to mean all axes.
  const Value count = build(definitions::reduce_sum, {is_largest},
                            {{"axes", call.node.attributes.integers("axes")}, {"keep_dims", true}});
  return {is_largest * (kept(call, call.gradients[0]) / count)};
}

}  // namespace

namespace definitions {

const OpDefinition reduce_sum = {.id = Op::reduce_sum,
                                 .name = "reduce_sum",
                                 .doc = "the sum over the axes",
                                 .attributes = {{"axes", Integers()}, {"keep_dims", false}},
                                 .infer = infer_sum,
                                 .gradient = sum_gradient};
const OpDefinition reduce_mean = {.id = Op::reduce_mean,
                                  .name = "reduce_mean",
                                  .doc = "the mean over the axes",
                                  .attributes = {{"axes", Integers()}, {"keep_dims", false}},
                                  .infer = infer_mean,
                                  .gradient = mean_gradient};
const OpDefinition reduce_max = {.id = Op::reduce_max,
                                 .name = "reduce_max",
                                 .doc = "the largest element over the axes; equal ones share its gradient",
                                 .attributes = {{"axes", Integers()}, {"keep_dims", false}},
                                 .infer = infer_max,
                                 .gradient = max_gradient};
const OpDefinition argmax = {.id = Op::argmax,
                             .name = "argmax",
                             .doc = "the index of the largest element along the axis, the first of equals",
                             .attributes = {{"axis", std::int64_t{0}}},
                             .infer = infer_argmax};

}  // namespace definitions

namespace ops {

namespace {

Value reduce(const OpDefinition& op, Value x, const ReduceOptions& options) {
  const int rank = x.shape().rank();
  Integers axes;
  for (std::int64_t axis : options.axes) axes.push_back(from_front(axis, rank));
  if (axes.empty())
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  std::sort(axes.begin(), axes.end());
  return build(op, {x}, {{"axes", axes}, {"keep_dims", options.keep_dims}});
}

}  // namespace

Value reduce_sum(Value x, const ReduceOptions& options) { return reduce(definitions::reduce_sum, x, options); }
Value reduce_mean(Value x, const ReduceOptions& options) { return reduce(definitions::reduce_mean, x, options); }
Value reduce_max(Value x, const ReduceOptions& options) { return reduce(definitions::reduce_max, x, options); }

Value argmax(Value x, std::int64_t axis) {
  return build(definitions::argmax, {x}, {{"axis", from_front(axis, x.shape().rank())}});
}

Value sum_to(Value x, const Shape& shape) {
  const Shape from = x.shape();
  if (from == shape) return x;
  const int added = from.rank() - shape.rank();
  Integers axes;
  bool fits = added >= 0;
  for (int axis = 0; fits && axis < from.rank(); ++axis) {
    if (axis < added || (shape[axis - added] == 1 && from[axis] != 1)) axes.push_back(axis);
    else fits = shape[axis - added] == from[axis];
  }
  if (!fits)
    throw Error(
        fmt::format("sum_to: {} does not broadcast to {}; give a shape that does", to_string(shape), to_string(from)));
  return reshape(reduce_sum(x, {.axes = axes}), shape);
}

}  // namespace ops

}  // namespace pando
