// SPDX-License-Identifier: Apache-2.0
// A value of any type as its bits, and casts between all types, as the CPU makes them: a number out of range becomes
// the nearest one in range, NaN becomes 0, and all but 0 is true.
#pragma once
#include <pando/base/dtype.h>

#include "base/bfloat16.h"

namespace pando::cuda {

// With types of 8 bytes, or without: values then take half the room.
template <bool wide>
union BitsOf {
  float float32;
  std::uint16_t bfloat16;
  std::int32_t int32;
  std::uint8_t uint8;
};
template <>
union BitsOf<true> {
  float float32;
  double float64;
  std::uint16_t bfloat16;
  std::int32_t int32;
  std::int64_t int64;
  std::uint8_t uint8;
};

// Truncates; `beyond` is the first power of two above the range.
template <class From>
__device__ std::int64_t truncated(From x, double lowest, double beyond, std::int64_t largest) {
  if (x != x) return 0;
  if (x >= From(beyond)) return largest;
  if (x <= From(lowest)) return static_cast<std::int64_t>(lowest);
  return static_cast<std::int64_t>(x);
}

template <bool wide, class From>
__device__ BitsOf<wide> cast_float(DType to, From x) {
  BitsOf<wide> out;
  switch (to) {
    case DType::float32: out.float32 = static_cast<float>(x); break;
    case DType::bfloat16: out.bfloat16 = to_bfloat16(static_cast<float>(x)).bits; break;
    case DType::boolean: out.uint8 = x != From(0); break;
    case DType::int32: out.int32 = static_cast<std::int32_t>(truncated(x, -0x1p31, 0x1p31, 0x7fffffff)); break;
    case DType::uint8: out.uint8 = static_cast<std::uint8_t>(truncated(x, 0, 256, 255)); break;
    case DType::float64:
      if constexpr (wide) out.float64 = static_cast<double>(x);
      break;
    case DType::int64:
      if constexpr (wide) out.int64 = truncated(x, -0x1p63, 0x1p63, 0x7fffffffffffffff);
      break;
  }
  return out;
}

template <bool wide>
__device__ BitsOf<wide> cast_integer(DType to, std::int64_t x) {
  const auto clamped = [x](std::int64_t low, std::int64_t high) { return x < low ? low : (x > high ? high : x); };
  BitsOf<wide> out;
  switch (to) {
    case DType::float32: out.float32 = static_cast<float>(x); break;
    case DType::bfloat16: out.bfloat16 = to_bfloat16(static_cast<float>(x)).bits; break;
    case DType::int32: out.int32 = static_cast<std::int32_t>(clamped(-0x7fffffff - 1, 0x7fffffff)); break;
    case DType::uint8: out.uint8 = static_cast<std::uint8_t>(clamped(0, 255)); break;
    case DType::boolean: out.uint8 = x != 0; break;
    case DType::float64:
      if constexpr (wide) out.float64 = static_cast<double>(x);
      break;
    case DType::int64:
      if constexpr (wide) out.int64 = x;
      break;
  }
  return out;
}

template <bool wide>
__device__ BitsOf<wide> cast_bits(DType from, DType to, BitsOf<wide> x) {
  // Bits are copied, so that a NaN keeps its payload.
  if (from == to) return x;
  if constexpr (wide) {
    if (from == DType::float64) return cast_float<true>(to, x.float64);
    if (from == DType::int64) return cast_integer<true>(to, x.int64);
  }
  switch (from) {
    case DType::float32: return cast_float<wide>(to, x.float32);
    case DType::bfloat16: return cast_float<wide>(to, to_float(BFloat16{x.bfloat16}));
    case DType::int32: return cast_integer<wide>(to, x.int32);
    default: return cast_integer<wide>(to, x.uint8);
  }
}

}  // namespace pando::cuda
