// SPDX-License-Identifier: Apache-2.0
// Rows in order.
#include <pando/ops/ops.h>

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <utility>

#include "ops/build.h"
#include "ops/checks.h"

namespace pando {

namespace {

std::vector<Type> infer_sort(const OpCall& call) {
  require_dtype(call, 0, {DType::float32, DType::float64, DType::int32, DType::int64, DType::uint8, DType::boolean});
  require_rank_at_least(call, 0, 1, "the last one of them to sort along");
  const Shape& x = call.shape(0);
  const std::int64_t length = x[x.rank() - 1];
  if (length > std::numeric_limits<std::int32_t>::max())
    call.fail(fmt::format("the rows of {} have {} elements but may have at most {}; sort parts of them", to_string(x),
                          length, std::numeric_limits<std::int32_t>::max()));
  return {call.inputs[0], {DType::int32, x}};
}

std::vector<Value> sort_gradient(const GradientCall& call) {
  if (!call.gradients[0]) return {Value()};
  const Value zeros = ops::broadcast(ops::scalar(call.gradients[0], 0), call.inputs[0].shape());
  return {ops::scatter(zeros, call.outputs[1], call.gradients[0])};
}

}  // namespace

namespace definitions {

const OpDefinition sort = {
    .id = Op::sort,
    .name = "sort",
    .doc =
        "each row, which lies along the last axis, in ascending or descending order, and then the places in the "
        "row that its elements come from; equal ones keep their order, and NaN is larger than any number",
    .attributes = {{"descending", false}},
    .infer = infer_sort,
    .gradient = sort_gradient};

}  // namespace definitions

namespace ops {

Sorted sort(Value x, const SortOptions& options) {
  const int rank = x.shape().rank();
  const std::int64_t axis = from_front(options.axis, rank);
  Integers order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  if (rank > 0) {
    if (axis < 0 || axis >= rank)
      throw Error(fmt::format("sort: axis {} is out of range for the shape {}; it must be in [{}, {}]", options.axis,
                              to_string(x.shape()), -rank, rank - 1));
    std::swap(order[static_cast<std::size_t>(axis)], order.back());
  }
  const std::vector<Value> found =
      x.graph().add(definitions::sort, {transpose(x, order)}, {{"descending", options.descending}});
  return {transpose(found[0], order), transpose(found[1], order)};
}

}  // namespace ops

}  // namespace pando
