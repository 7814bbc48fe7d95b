// SPDX-License-Identifier: Apache-2.0
// What values are sorted by. The kernels of every backend use it.
#pragma once
#include <cstdint>
#include <type_traits>

#include "base/host_device.h"

namespace pando {
PANDO_KERNEL_BEGIN

// An unsigned number for each value, in the order of the values: NaN is the largest of them, and -0 is 0.
template <class T>
struct SortKey {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  static constexpr Bits sign = Bits(1) << (8 * sizeof(Bits) - 1);

  PANDO_HOST_DEVICE static Bits of(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (value != value) return ~Bits(0);
      value += T(0);
      Bits bits;
      __builtin_memcpy(&bits, &value, sizeof bits);
      return (bits & sign) != 0 ? static_cast<Bits>(~bits) : bits | sign;
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<Bits>(value) ^ sign;
    } else {
      return value;
    }
  }
  // The largest comes first.
  PANDO_HOST_DEVICE static Bits of(T value, bool descending) {
    return descending ? static_cast<Bits>(~of(value)) : of(value);
  }
};

// A key and its place in the row it comes from. No two of a row are equal, so that every way to sort them is stable.
template <class Bits>
struct Placed {
  Bits key;
  std::uint32_t place;

  PANDO_HOST_DEVICE bool is_before(const Placed& other) const {
    return key != other.key ? key < other.key : place < other.place;
  }
};

PANDO_KERNEL_END
}  // namespace pando
