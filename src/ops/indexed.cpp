// SPDX-License-Identifier: Apache-2.0
// Elements chosen along an axis by indices, read and written.
#include "ops/indexed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"
#include "ops/build.h"
#include "ops/checks.h"

namespace pando {

namespace {

// In the order of ScatterMode.
constexpr std::array<std::string_view, 5> scatter_modes = {"set", "add", "multiply", "maximum", "minimum"};

// Kernels that sort indices number them with 32 bits.
constexpr std::int64_t most_indices = std::numeric_limits<std::int32_t>::max();

bool all_one(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](std::int64_t size) { return size == 1; });
}

// Whether axes [begin, end) of the indices are those of x, or are all repeated.
bool are_repeated_evenly(const Shape& x, const Shape& indices, int begin, int end) {
  const Shape own = indices.part(begin, end);
  return own == x.part(begin, end) || all_one(own);
}

// The axis, once the indices have axes that go with it. The result has the shape of what is read.
Shape chosen_shape(const OpCall& call, int& axis) {
  require_dtype(call, 1, {DType::int32});
  require_rank_at_least(call, 0, 1, "one of them to choose along");
  axis = axis_attribute(call);
  Shape x = call.shape(0);
  const Shape& indices = call.shape(1);
  if (indices.rank() != x.rank())
    call.fail(fmt::format("the indices {} do not have the {} ax{}s of {}; reshape them", to_string(indices), x.rank(),
                          x.rank() == 1 ? "i" : "e", to_string(x)));
  if (!are_repeated_evenly(x, indices, 0, axis) || !are_repeated_evenly(x, indices, axis + 1, x.rank()))
    call.fail(
        fmt::format("the indices {} do not go with {} along axis {}: before it and behind it, their sizes must "
                    "be those of x, or all 1; broadcast or slice them",
                    to_string(indices), to_string(x), axis));
  if (indices[axis] > most_indices)
    call.fail(fmt::format("there are {} indices along axis {} but may be at most {}; use several parts", indices[axis],
                          axis, most_indices));
  x[axis] = indices[axis];
  return x;
}

std::vector<Type> infer_take_along(const OpCall& call) {
  int axis = 0;
  return {{call.dtype(0), chosen_shape(call, axis)}};
}

std::vector<Type> infer_scatter(const OpCall& call) {
  int axis = 0;
  const Shape updates = chosen_shape(call, axis);
  require_shape(call, 2, updates, "one update for each index");
  require_equal_dtypes(call, 0, 2);
  const std::string& mode = call.attributes.text("mode");
  if (std::find(scatter_modes.begin(), scatter_modes.end(), mode) == scatter_modes.end())
    call.fail(unknown_name("mode", mode, {scatter_modes.begin(), scatter_modes.end()}));
  if (mode != "set") require_dtype(call, 0, {DType::float32, DType::float64, DType::int32, DType::int64});
  return {call.inputs[0]};
}

Value zeros(Value like) { return ops::broadcast(ops::scalar(like, 0), like.shape()); }

std::vector<Value> take_along_gradient(const GradientCall& call) {
  return {ops::scatter(zeros(call.inputs[0]), call.inputs[1], call.gradients[0],
                       {.axis = call.node.attributes.integer("axis"), .mode = ops::ScatterMode::add}),
          Value()};
}

// One use of scatter while its gradient is built.
struct ScatterGradient {
  Value x, indices, updates, y, gradient;
  std::int64_t axis;

  explicit ScatterGradient(const GradientCall& call)
      : x(call.inputs[0]),
        indices(call.inputs[1]),
        updates(call.inputs[2]),
        y(call.outputs[0]),
        gradient(call.gradients[0]),
        axis(call.node.attributes.integer("axis")) {}

  // For each update what `value` has where the update went.
  Value met(Value value) const { return ops::take_along(value, indices, axis); }
  Value scattered(Value onto, Value from, ops::ScatterMode mode) const {
    return ops::scatter(onto, indices, from, {.axis = axis, .mode = mode});
  }

  // An update that another one replaced has a gradient as well, as in PyTorch.
  std::array<Value, 2> set() const {
    return {scattered(gradient, zeros(updates), ops::ScatterMode::set), met(gradient)};
  }
  std::array<Value, 2> add() const { return {gradient, met(gradient)}; }

  // All that equal the result share its gradient.
  std::array<Value, 2> largest() const {
    const auto is_chosen = [](Value value, Value result) {
      return ops::cast(ops::equal(value, result), value.dtype());
    };
    const Value own = is_chosen(x, y), updated = is_chosen(updates, met(y));
    const Value share = gradient / scattered(own, updated, ops::ScatterMode::add);
    return {own * share, updated * met(share)};
  }

  // The derivative in a factor is the product of the others: nothing is divided by a factor of 0.
  std::array<Value, 2> multiply() const {
    const auto is_zero = [](Value value) { return ops::equal(value, ops::scalar(value, 0)); };
    const auto without_zeros = [&](Value value) { return ops::select(is_zero(value), ops::scalar(value, 1), value); };
    const auto counted = [&](Value value) { return ops::cast(is_zero(value), value.dtype()); };
    const Value count = scattered(counted(x), counted(updates), ops::ScatterMode::add);
    const Value product = gradient * scattered(without_zeros(x), without_zeros(updates), ops::ScatterMode::multiply);
    const auto derivative = [&](Value factor, Value zeros_met, Value of_all) {
      const Value others = zeros_met - counted(factor);
      return ops::select(is_zero(others), of_all / without_zeros(factor), ops::scalar(of_all, 0));
    };
    return {derivative(x, count, product), derivative(updates, met(count), met(product))};
  }
};

std::vector<Value> scatter_gradient(const GradientCall& call) {
  const ScatterGradient parts(call);
  std::array<Value, 2> found;
  switch (scatter_mode_named(call.node.attributes.text("mode"))) {
    case ops::ScatterMode::set: found = parts.set(); break;
    case ops::ScatterMode::add: found = parts.add(); break;
    case ops::ScatterMode::multiply: found = parts.multiply(); break;
    case ops::ScatterMode::maximum:
    case ops::ScatterMode::minimum: found = parts.largest(); break;
  }
  return {call.needed[0] ? found[0] : Value(), Value(), call.needed[2] ? found[1] : Value()};
}

}  // namespace

ops::ScatterMode scatter_mode_named(std::string_view name) {
  const auto found = std::find(scatter_modes.begin(), scatter_modes.end(), name);
  if (found == scatter_modes.end()) throw InternalError(fmt::format("scatter has no mode '{}'", name));
  return static_cast<ops::ScatterMode>(found - scatter_modes.begin());
}

IndexedAxis::IndexedAxis(const Shape& x, const Shape& indices, int axis)
    : outer(x.part(0, axis).elements()),
      size(x[axis]),
      inner(x.part(axis + 1, x.rank()).elements()),
      count(indices[axis]) {
  const std::int64_t own_inner = indices.part(axis + 1, x.rank()).elements();
  step = own_inner;
  inner_step = own_inner == inner ? 1 : 0;
  outer_step = indices.part(0, axis).elements() == outer ? count * own_inner : 0;
}

namespace definitions {

const OpDefinition take_along = {
    .id = Op::take_along,
    .name = "take_along",
    .doc =
        "elements chosen along the axis by indices of as many axes as x, which are those of x or of size 1; an "
        "index out of range ends the run with an error",
    .attributes = {{"axis", std::int64_t{0}}},
    .min_inputs = 2,
    .infer = infer_take_along,
    .gradient = take_along_gradient,
    .checks_indices = true};
const OpDefinition scatter = {
    .id = Op::scatter,
    .name = "scatter",
    .doc =
        "x with updates where take_along would read; they set an element, are added, multiplied, or taken if they "
        "are larger (maximum) or smaller (minimum), in the order in which they lie along the axis; an index out of "
        "range ends the run with an error",
    .attributes = {{"axis", std::int64_t{0}}, {"mode", std::string("set")}},
    .min_inputs = 3,
    .infer = infer_scatter,
    .gradient = scatter_gradient,
    .in_place = [](const Node&, int) { return 0; },
    .checks_indices = true};

}  // namespace definitions

namespace ops {

namespace {

// The indices with the sizes of x along each side of the axis where some axes of that side are repeated and some not.
Value repeated_evenly(Value x, Value indices, std::int64_t axis) {
  const Shape to = x.shape();
  Shape shape = indices.shape();
  const int rank = to.rank();
  if (shape.rank() != rank || axis < 0 || axis >= rank) return indices;
  const auto along = static_cast<int>(axis);
  for (const auto& [begin, end] : {std::pair(0, along), std::pair(along + 1, rank)}) {
    if (are_repeated_evenly(to, shape, begin, end)) continue;
    for (int i = begin; i < end; ++i)
      if (shape[i] == 1) shape[i] = to[i];
  }
  return ops::broadcast(indices, shape);
}

}  // namespace

Value take_along(Value x, Value indices, std::int64_t axis) {
  const std::int64_t along = from_front(axis, x.shape().rank());
  return build(definitions::take_along, {x, repeated_evenly(x, indices, along)}, {{"axis", along}});
}

Value scatter(Value x, Value indices, Value updates, const ScatterOptions& options) {
  const std::int64_t along = from_front(options.axis, x.shape().rank());
  return build(definitions::scatter, {x, repeated_evenly(x, indices, along), updates},
               {{"axis", along}, {"mode", std::string(scatter_modes[static_cast<std::size_t>(options.mode)])}});
}

}  // namespace ops

}  // namespace pando
