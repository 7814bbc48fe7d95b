// SPDX-License-Identifier: Apache-2.0
// What builders and gradients share when they add nodes.
#pragma once
#include <array>

#include "ops/infer.h"

namespace pando {

// Adds a node of one output to the graph of the first input.
inline Value build(const OpDefinition& op, const std::vector<Value>& inputs, Attributes attributes = {}) {
  return single(inputs.front().graph().add(op, inputs, std::move(attributes)));
}

inline Integers integers(const Shape& shape) { return {shape.begin(), shape.end()}; }
template <std::size_t count>
Integers integers(const std::array<std::int64_t, count>& values) {
  return {values.begin(), values.end()};
}

// A negative axis counted from the front; one out of range stays as it is for the shape rule to refuse by name.
inline std::int64_t from_front(std::int64_t axis, int rank) { return axis < 0 && axis >= -rank ? axis + rank : axis; }

}  // namespace pando
