// SPDX-License-Identifier: Apache-2.0
#include "ops/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace pando {

namespace {

std::string range_text(std::int64_t least, std::int64_t most) {
  return most == std::numeric_limits<std::int64_t>::max() ? fmt::format("at least {}", least)
                                                          : fmt::format("in [{}, {}]", least, most);
}

}  // namespace

Shape shape_attribute(const OpCall& call, std::string_view key) {
  const Integers& sizes = call.attributes.integers(key);
  if (sizes.size() > static_cast<std::size_t>(Shape::max_rank))
    call.fail(fmt::format("'{}' has {} sizes but a shape has at most {}; reshape to fewer", key, sizes.size(),
                          Shape::max_rank));
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 0; }))
    call.fail(fmt::format("'{}' is [{}]; sizes must not be negative", key, fmt::join(sizes, ", ")));
  return Shape(sizes);
}

const Integers& list_attribute(const OpCall& call, std::string_view key, int count, std::int64_t least,
                               std::int64_t most) {
  const Integers& values = call.attributes.integers(key);
  if (values.size() != static_cast<std::size_t>(count))
    call.fail(fmt::format("'{}' has {} values but needs {}", key, values.size(), count));
  for (std::int64_t value : values)
    if (value < least || value > most)
      call.fail(
          fmt::format("'{}' is [{}] but its values must be {}", key, fmt::join(values, ", "), range_text(least, most)));
  return values;
}

std::int64_t integer_attribute(const OpCall& call, std::string_view key, std::int64_t least, std::int64_t most) {
  const std::int64_t value = call.attributes.integer(key);
  if (value < least || value > most)
    call.fail(fmt::format("'{}' is {} but must be {}", key, value, range_text(least, most)));
  return value;
}

void fail_axis(const OpCall& call, std::int64_t axis) {
  const int rank = call.shape(0).rank();
  call.fail(fmt::format("axis {} is out of range for the shape {}; it must be in [{}, {}]", axis,
                        to_string(call.shape(0)), -rank, rank - 1));
}

int axis_attribute(const OpCall& call) {
  const std::int64_t axis = call.attributes.integer("axis");
  if (axis < 0 || axis >= call.shape(0).rank()) fail_axis(call, axis);
  return static_cast<int>(axis);
}

const Integers& axes_attribute(const OpCall& call, std::string_view key, std::int64_t least, std::int64_t most) {
  const Shape& x = call.shape(0);
  const std::size_t count = call.attributes.integers(key).size();
  if (count != static_cast<std::size_t>(x.rank()))
    call.fail(fmt::format("'{}' has {} value{} but the shape {} has {} ax{}s; give one value per axis", key, count,
                          count == 1 ? "" : "s", to_string(x), x.rank(), x.rank() == 1 ? "i" : "e"));
  return list_attribute(call, key, x.rank(), least, most);
}

double number_attribute(const OpCall& call, std::string_view key, double least) {
  const double value = call.attributes.number(key);
  if (!std::isfinite(value) || value < least)
    call.fail(fmt::format("'{}' is {} but must be a finite number of at least {}", key, value, least));
  return value;
}

void require_equal_dtypes(const OpCall& call, std::size_t first, std::size_t second) {
  if (call.dtype(first) != call.dtype(second))
    call.fail(fmt::format("inputs {} and {} are {} and {}; cast one of them", first, second,
                          to_string(call.inputs[first]), to_string(call.inputs[second])));
}

void require_shape(const OpCall& call, std::size_t input, const Shape& wanted, std::string_view meaning) {
  if (call.shape(input) != wanted)
    call.fail(fmt::format("input {} has the shape {} but must have {}, {}; reshape it or give another", input,
                          to_string(call.shape(input)), to_string(wanted), meaning));
}

void require_rank_at_least(const OpCall& call, std::size_t input, int rank, std::string_view meaning) {
  if (call.shape(input).rank() < rank)
    call.fail(fmt::format("input {} has the shape {} but must have at least {} {}, {}; reshape it", input,
                          to_string(call.shape(input)), rank, rank == 1 ? "axis" : "axes", meaning));
}

Shape extended(const OpCall& call, Shape shape, std::int64_t size) {
  if (shape.rank() == Shape::max_rank)
    call.fail(fmt::format("the result would have more than {} axes; reshape the inputs to fewer", Shape::max_rank));
  shape.append(size);
  return shape;
}

void require_no_epilogue(const GradientCall& call) {
  if (call.node.attributes.program("epilogue"))
    throw InternalError(fmt::format("the gradient of a {} that is fused already was asked for", call.node.op->name));
}

}  // namespace pando
