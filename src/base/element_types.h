// SPDX-License-Identifier: Apache-2.0
// The element types of Arrays as C++ types: choosing a loop by dtype, conversions, and which type two of them share.
#pragma once
#include <pando/base/array.h>

#include <type_traits>

#include "base/bfloat16.h"

namespace pando {

// Calls `visit` with a null pointer of the element type.
template <class Visit>
void with_type(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::float32: return visit(static_cast<float*>(nullptr));
    case DType::float64: return visit(static_cast<double*>(nullptr));
    case DType::bfloat16: return visit(static_cast<BFloat16*>(nullptr));
    case DType::int32: return visit(static_cast<std::int32_t*>(nullptr));
    case DType::int64: return visit(static_cast<std::int64_t*>(nullptr));
    case DType::uint8: return visit(static_cast<std::uint8_t*>(nullptr));
    case DType::boolean: return visit(static_cast<bool*>(nullptr));
  }
}

// with_type for arithmetic; the caller has cast bfloat16 to float32.
template <class Visit>
void with_computing_type(DType dtype, Visit visit) {
  with_type(dtype, [&](auto* type) {
    if constexpr (std::is_same_v<decltype(type), BFloat16*>) throw InternalError("bfloat16 is not computed with");
    else visit(type);
  });
}

template <class From>
auto widen(From value) {
  if constexpr (std::is_same_v<From, BFloat16>) return to_float(value);
  else return value;
}

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, BFloat16>) return to_bfloat16(static_cast<float>(widen(value)));
  else return static_cast<To>(widen(value));
}

inline bool is_integer(DType dtype) { return dtype == DType::uint8 || dtype == DType::int32 || dtype == DType::int64; }

// The type that holds both, by the rule in array_functions.h.
DType promote(DType a, DType b);

// "float32[2, 3]".
std::string type_text(const Array& a);

}  // namespace pando
