// SPDX-License-Identifier: Apache-2.0
// Elements of any type, moved and written as their bytes.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/kernels/box_copy.h"
#include "base/bfloat16.h"

namespace pando::cpu {

// One element of any type, as its bytes.
using ElementBytes = std::array<std::byte, 8>;

template <class T>
ElementBytes bytes_of(T value) {
  ElementBytes bytes = {};
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

inline ElementBytes element(DType dtype, double value) {
  switch (dtype) {
    case DType::float32: return bytes_of(static_cast<float>(value));
    case DType::float64: return bytes_of(value);
    case DType::bfloat16: return bytes_of(to_bfloat16(static_cast<float>(value)));
    case DType::int32: return bytes_of(static_cast<std::int32_t>(value));
    case DType::int64: return bytes_of(static_cast<std::int64_t>(value));
    case DType::uint8: return bytes_of(static_cast<std::uint8_t>(value));
    case DType::boolean: return bytes_of(value != 0);
  }
  return {};
}

// Writes `value` to elements [first, first + count).
inline void fill(std::byte* out, std::int64_t first, std::int64_t count, const ElementBytes& value, std::size_t bytes) {
  with_element(bytes, [&](auto* typed) {
    using T = std::remove_pointer_t<decltype(typed)>;
    T bits;
    std::memcpy(&bits, value.data(), sizeof bits);
    std::fill_n(reinterpret_cast<T*>(out) + first, count, bits);
  });
}

inline std::size_t element_bytes(const Operand& operand) { return size_of(operand.type.dtype); }

}  // namespace pando::cpu
