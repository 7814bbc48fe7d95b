// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/run/held_types.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>

namespace pando::keras {

namespace {

struct IntegerRange {
  std::int64_t lowest, largest;
};

// What the type has of the integers that it is fed; nothing if it has them all.
std::optional<IntegerRange> kept_range(DType fed, DType held) {
  if (fed == DType::int64 && held == DType::int32)
    return IntegerRange{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
  if ((fed == DType::int64 || fed == DType::int32) && held == DType::uint8) return IntegerRange{0, 255};
  return std::nullopt;
}

// The first of the integers that is out of range.
template <class T>
std::optional<std::int64_t> find_outside(const std::byte* data, std::int64_t count, const IntegerRange& range) {
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + static_cast<std::size_t>(i) * sizeof value, sizeof value);
    if (value < range.lowest || value > range.largest) return value;
  }
  return std::nullopt;
}

}  // namespace

HeldTypes::HeldTypes(const SampleUse& use, const std::vector<Type>& columns, const Network& network,
                     const std::vector<OutputGoals>& goals)
    : use_(use), fed_(columns) {
  for (std::size_t i = 0; i < use.inputs; ++i) held_.push_back(network.inputs[i].dtype());
  // Losses that do not take any targets take floats, or labels, which are checked by themselves.
  for (std::size_t i = 0; i < use.targets; ++i) {
    const bool takes_any = goals[i].loss && goals[i].loss->targets() == losses::Targets::any;
    held_.push_back(takes_any ? DType::int32 : columns[use.inputs + i].dtype);
  }
}

void HeldTypes::check(std::size_t column, const std::byte* data, std::int64_t samples) const {
  const auto range = kept_range(fed_[column].dtype, held_[column]);
  if (data == nullptr || !range) return;
  const std::int64_t count = samples * fed_[column].shape.elements();
  const auto outside = fed_[column].dtype == DType::int64 ? find_outside<std::int64_t>(data, count, *range)
                                                          : find_outside<std::int32_t>(data, count, *range);
  if (!outside) return;
  throw Error(fmt::format(
      "{}: {} contains {} but the model takes it as {}, which has {} to {}; {}", use_.who, column_name(use_, column),
      *outside, name(held_[column]), range->lowest, range->largest,
      column < use_.inputs ? "give the model an Input of a wider type, such as int64" : "use smaller numbers"));
}

}  // namespace pando::keras
