// SPDX-License-Identifier: Apache-2.0
// The widest vector of the instruction set a routine is compiled for, by the compilers' vector extensions.
#pragma once
#include <cstdint>

#include "base/host_device.h"

#if !defined(PANDO_INSTRUCTION_SET)
#error "routines are compiled once per instruction set; see src/backends/cpu/CMakeLists.txt"
#endif

namespace pando::cpu {
PANDO_KERNEL_BEGIN

#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(vector_bytes)));
  static constexpr int lanes = vector_bytes / static_cast<int>(sizeof(T));
};

template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
inline Vector<T> load(const T* from) {
  Vector<T> value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
inline void store(T* to, Vector<T> value) {
  __builtin_memcpy(to, &value, sizeof value);
}

template <class T>
inline Vector<T> splat(T value) {
  return value - Vector<T>{};
}

PANDO_KERNEL_END
}  // namespace pando::cpu

// Unrolls loops over the vectors of an array: these stay in registers only if no index is left.
#if defined(__clang__)
#define PANDO_UNROLL _Pragma("unroll")
#else
#define PANDO_UNROLL _Pragma("GCC unroll 16")
#endif

// Lets the compiler vectorise a loop whose output may be one of its inputs, element for element.
#if defined(__clang__)
// A loop that cannot be vectorised (a call of sin) is not a mistake.
#pragma clang diagnostic ignored "-Wpass-failed"
#define PANDO_VECTORISE _Pragma("clang loop vectorize(assume_safety) interleave(enable)")
#else
#define PANDO_VECTORISE _Pragma("GCC ivdep")
#endif
