// SPDX-License-Identifier: Apache-2.0
// Element types of Arrays and Values.
#pragma once
#include <pando/base/export.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pando {

// float32, float64, int32, int64 and boolean compute; bfloat16 and uint8 are stored and cast.
enum class DType : std::uint8_t { float32, float64, bfloat16, int32, int64, uint8, boolean };

// A float32 cut to its upper 16 bits, rounded to nearest even.
struct BFloat16 {
  std::uint16_t bits = 0;
};

// "float32", ..., "bool".
PANDO_API std::string_view name(DType dtype);
// The inverse of name(); throws Error with the nearest known name.
PANDO_API DType parse_dtype(std::string_view text);
PANDO_API std::size_t size_of(DType dtype);
constexpr bool is_floating(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::float32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::float64;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bfloat16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::int32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::int64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::uint8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};

template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace pando
