// SPDX-License-Identifier: Apache-2.0
// Squares of vectors, transposed in registers.
#pragma once
#include "backends/cpu/routines/vector.h"

namespace pando::cpu {
PANDO_KERNEL_BEGIN

template <int n, int... i>
struct Indices : Indices<n - 1, n - 1, i...> {};
template <int... i>
struct Indices<0, i...> {};

// a0 b0 a1 b1 ... of the lower or the upper halves.
template <class V, int... i>
inline V interleave_lower(V a, V b, Indices<0, i...>) {
  return __builtin_shufflevector(a, b, (i / 2 + i % 2 * int{sizeof...(i)})...);
}

template <class V, int... i>
inline V interleave_upper(V a, V b, Indices<0, i...>) {
  return __builtin_shufflevector(a, b, (int{sizeof...(i)} / 2 + i / 2 + i % 2 * int{sizeof...(i)})...);
}

// The lower and the upper half in turns.
template <class V, int... i>
inline V interleave_halves(V a, Indices<0, i...>) {
  return __builtin_shufflevector(a, a, (i / 2 + i % 2 * int{sizeof...(i)} / 2)...);
}

// Each round interleaves row i with the row half the square below it; as many rounds as a row number has bits.
template <class T, int rounds>
inline void transpose_square(Vector<T> (&rows)[VectorOf<T>::lanes]) {
  constexpr int lanes = VectorOf<T>::lanes;
  if constexpr (rounds > 1) {
    Vector<T> next[lanes];
    PANDO_UNROLL
    for (int i = 0; i < lanes / 2; ++i) {
      next[2 * i] = interleave_lower(rows[i], rows[i + lanes / 2], Indices<lanes>{});
      next[2 * i + 1] = interleave_upper(rows[i], rows[i + lanes / 2], Indices<lanes>{});
    }
    PANDO_UNROLL
    for (int i = 0; i < lanes; ++i) rows[i] = next[i];
    transpose_square<T, rounds / 2>(rows);
  }
}

PANDO_KERNEL_END
}  // namespace pando::cpu
