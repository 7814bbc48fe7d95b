// SPDX-License-Identifier: Apache-2.0
// Checks of inputs and attributes that several families share. Attributes may come from an unchecked text. All throw
// through OpCall::fail.
#pragma once
#include <limits>

#include "ops/infer.h"

namespace pando {

// For sizes that may be as large as they are written.
inline constexpr std::int64_t largest_size = std::numeric_limits<std::int64_t>::max();

// The attribute as a shape: at most Shape::max_rank sizes, none negative.
Shape shape_attribute(const OpCall& call, std::string_view key);
// The attribute, once it has `count` values that all lie in [least, most].
const Integers& list_attribute(const OpCall& call, std::string_view key, int count, std::int64_t least,
                               std::int64_t most);
std::int64_t integer_attribute(const OpCall& call, std::string_view key, std::int64_t least, std::int64_t most);
// The attribute "axis" of input 0, counted from the front.
int axis_attribute(const OpCall& call);
[[noreturn]] void fail_axis(const OpCall& call, std::int64_t axis);
// list_attribute with a value for each axis of input 0.
const Integers& axes_attribute(const OpCall& call, std::string_view key, std::int64_t least, std::int64_t most);
// A finite number of at least `least`; NaN is refused.
double number_attribute(const OpCall& call, std::string_view key, double least);

void require_equal_dtypes(const OpCall& call, std::size_t first, std::size_t second);
// `meaning` says what the shape stands for ("one value per channel").
void require_shape(const OpCall& call, std::size_t input, const Shape& wanted, std::string_view meaning);
void require_rank_at_least(const OpCall& call, std::size_t input, int rank, std::string_view meaning);

// `shape` with `size` appended, if that is not one axis too many.
Shape extended(const OpCall& call, Shape shape, std::int64_t size);

// Gradients are built before the compiler fuses: throws InternalError if the node has an epilogue.
void require_no_epilogue(const GradientCall& call);

}  // namespace pando
