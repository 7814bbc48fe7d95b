// SPDX-License-Identifier: Apache-2.0
// Casts between types as the CPU makes them: a number out of range becomes the nearest one in range, NaN becomes 0, and
// all but 0 is true.
#pragma once
#include "backends/cuda/regions/device/cluster.h"

namespace pando::region {

template <class T>
struct Range {
  static constexpr bool is_integer = false;
};
template <>
struct Range<std::uint8_t> {
  static constexpr bool is_integer = true;
  static constexpr std::uint8_t lowest = 0, largest = 255;
};
template <>
struct Range<std::int32_t> {
  static constexpr bool is_integer = true;
  static constexpr std::int32_t lowest = -2147483647 - 1, largest = 2147483647;
};
template <>
struct Range<std::int64_t> {
  static constexpr bool is_integer = true;
  static constexpr std::int64_t lowest = -9223372036854775807 - 1, largest = 9223372036854775807;
};

template <class To, class From>
PANDO_DEVICE To cast_to(From x) {
  if constexpr (Range<To>::is_integer && Range<From>::is_integer) {
    const auto wide = static_cast<std::int64_t>(x);
    if (wide < Range<To>::lowest) return Range<To>::lowest;
    return wide > Range<To>::largest ? Range<To>::largest : static_cast<To>(x);
  } else if constexpr (Range<To>::is_integer && sizeof(From) >= sizeof(float)) {
    // The largest number may round up to one beyond the range.
    if (x != x) return 0;
    if (x >= static_cast<From>(Range<To>::largest)) return Range<To>::largest;
    return x <= static_cast<From>(Range<To>::lowest) ? Range<To>::lowest : static_cast<To>(x);
  } else {
    // To a bool, all but 0 is true.
    return static_cast<To>(x);
  }
}

}  // namespace pando::region
