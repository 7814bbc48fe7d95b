// SPDX-License-Identifier: Apache-2.0
// Totals that run along an axis.
#include "ops/cumulative.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/text.h"
#include "ops/build.h"
#include "ops/checks.h"

namespace pando {

namespace {

// In the order of CumulativeMode.
constexpr std::array<std::string_view, 4> cumulative_modes = {"add", "multiply", "maximum", "minimum"};

std::vector<Type> infer_cumulative(const OpCall& call) {
  require_dtype(call, 0, {DType::float32, DType::float64, DType::int32, DType::int64});
  require_rank_at_least(call, 0, 1, "one of them to run along");
  axis_attribute(call);
  const std::string& mode = call.attributes.text("mode");
  if (std::find(cumulative_modes.begin(), cumulative_modes.end(), mode) == cumulative_modes.end())
    call.fail(unknown_name("mode", mode, {cumulative_modes.begin(), cumulative_modes.end()}));
  return {call.inputs[0]};
}

// One use of cumulative while its gradient is built.
struct CumulativeGradient {
  Value x, y, gradient;
  std::int64_t axis;
  bool reverse;

  explicit CumulativeGradient(const GradientCall& call)
      : x(call.inputs[0]),
        y(call.outputs[0]),
        gradient(call.gradients[0]),
        axis(call.node.attributes.integer("axis")),
        reverse(call.node.attributes.flag("reverse")) {}

  Value run(Value value, ops::CumulativeMode mode) const {
    return ops::cumulative(value, {.axis = axis, .mode = mode, .reverse = reverse});
  }
  // The sum over all totals that an element is part of.
  Value add(Value value) const {
    return ops::cumulative(value, {.axis = axis, .mode = ops::CumulativeMode::add, .reverse = !reverse});
  }

  // The derivative of a product in a factor is the product of the others. Before the first factor that is 0, it is the
  // product divided by the factor; for that factor, it is the product with 1 in its place; behind it, it is 0.
  Value multiply() const {
    const Value zero = ops::scalar(x, 0), one = ops::scalar(x, 1);
    const Value is_zero = ops::equal(x, zero);
    const Value zeros_met = run(ops::cast(is_zero, x.dtype()), ops::CumulativeMode::add);
    const Value is_first = ops::logical_and(is_zero, ops::equal(zeros_met, one));
    const Value without_first = run(ops::select(is_first, one, x), ops::CumulativeMode::multiply);
    const Value before = add(gradient * y) / ops::select(is_zero, one, x);
    return ops::select(ops::equal(zeros_met, zero), before, ops::select(is_first, add(gradient * without_first), zero));
  }

  // The gradient of a total goes to the element that it is; of equal ones to the last that was met.
  Value largest() const {
    const std::int64_t size = x.shape()[static_cast<int>(axis)];
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(size));
    std::iota(numbers.begin(), numbers.end(), 0);
    Shape shape = x.shape();
    for (int i = 0; i < shape.rank(); ++i)
      if (i != axis) shape[i] = 1;
    const Value places = ops::broadcast(ops::constant(x.graph(), Array::of(numbers, shape)), x.shape());
    const Value is_met = ops::logical_or(ops::equal(x, y), ops::not_equal(x, x));
    const Value unmet = ops::scalar(places, reverse ? static_cast<double>(size) : -1.0);
    const Value found =
        run(ops::select(is_met, places, unmet), reverse ? ops::CumulativeMode::minimum : ops::CumulativeMode::maximum);
    return ops::scatter(ops::broadcast(ops::scalar(gradient, 0), x.shape()), found, gradient,
                        {.axis = axis, .mode = ops::ScatterMode::add});
  }
};

std::vector<Value> cumulative_gradient(const GradientCall& call) {
  const CumulativeGradient parts(call);
  switch (cumulative_mode_named(call.node.attributes.text("mode"))) {
    case ops::CumulativeMode::add: return {parts.add(parts.gradient)};
    case ops::CumulativeMode::multiply: return {parts.multiply()};
    case ops::CumulativeMode::maximum:
    case ops::CumulativeMode::minimum: return {parts.largest()};
  }
  return {};
}

}  // namespace

ops::CumulativeMode cumulative_mode_named(std::string_view name) {
  const auto found = std::find(cumulative_modes.begin(), cumulative_modes.end(), name);
  if (found == cumulative_modes.end()) throw InternalError(fmt::format("cumulative has no mode '{}'", name));
  return static_cast<ops::CumulativeMode>(found - cumulative_modes.begin());
}

RunningAxis::RunningAxis(const Shape& x, const Attributes& attributes) : reverse(attributes.flag("reverse")) {
  const auto axis = static_cast<int>(attributes.integer("axis"));
  outer = x.part(0, axis).elements();
  size = x[axis];
  inner = x.part(axis + 1, x.rank()).elements();
}

namespace definitions {

const OpDefinition cumulative = {
    .id = Op::cumulative,
    .name = "cumulative",
    .doc =
        "the total of the elements up to each along the axis: their sum (add), product (multiply), maximum or "
        "minimum; from the last one on if it is reversed",
    .attributes = {{"axis", std::int64_t{0}}, {"mode", std::string("add")}, {"reverse", false}},
    .infer = infer_cumulative,
    .gradient = cumulative_gradient,
    .in_place = [](const Node&, int) { return 0; }};

}  // namespace definitions

namespace ops {

Value cumulative(Value x, const CumulativeOptions& options) {
  return build(definitions::cumulative, {x},
               {{"axis", from_front(options.axis, x.shape().rank())},
                {"mode", std::string(cumulative_modes[static_cast<std::size_t>(options.mode)])},
                {"reverse", options.reverse}});
}

}  // namespace ops

}  // namespace pando
