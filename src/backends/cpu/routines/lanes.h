// SPDX-License-Identifier: Apache-2.0
// Lanes: always 16 elements, in as many vectors as the instruction set needs, so that what a loop over them computes
// does not depend on where a tile begins, and the last elements of a row go through the same code as the others.
#pragma once
#include "backends/cpu/routines/vector.h"

namespace pando::cpu {
PANDO_KERNEL_BEGIN

inline constexpr int lane_count = 16;

// Halves of halves rather than an array: compilers keep the leaves in registers.
template <class T, int vectors>
struct LanesOf {
  LanesOf<T, vectors / 2> low, high;
};
template <class T>
struct LanesOf<T, 1> {
  Vector<T> value;
};

template <class T>
using Lanes = LanesOf<T, lane_count / VectorOf<T>::lanes>;

// Applies `f` to the vectors of the arguments, one by one.
template <class F, class T, int vectors, class... Others>
inline LanesOf<T, vectors> apply(F f, const LanesOf<T, vectors>& a, const Others&... others) {
  if constexpr (vectors == 1) return {f(a.value, others.value...)};
  else return {apply(f, a.low, others.low...), apply(f, a.high, others.high...)};
}

template <class T, int vectors>
inline LanesOf<T, vectors> operator+(const LanesOf<T, vectors>& a, const LanesOf<T, vectors>& b) {
  return apply([](Vector<T> x, Vector<T> y) { return x + y; }, a, b);
}
template <class T, int vectors>
inline LanesOf<T, vectors> operator-(const LanesOf<T, vectors>& a, const LanesOf<T, vectors>& b) {
  return apply([](Vector<T> x, Vector<T> y) { return x - y; }, a, b);
}
template <class T, int vectors>
inline LanesOf<T, vectors> operator*(const LanesOf<T, vectors>& a, const LanesOf<T, vectors>& b) {
  return apply([](Vector<T> x, Vector<T> y) { return x * y; }, a, b);
}
// The larger of each; NaN wins.
template <class T, int vectors>
inline LanesOf<T, vectors> larger(const LanesOf<T, vectors>& a, const LanesOf<T, vectors>& b) {
  return apply([](Vector<T> x, Vector<T> y) { return ((y > x) | (y != y)) ? y : x; }, a, b);
}
template <class T>
inline T larger_of(T a, T b) {
  return b > a || b != b ? b : a;
}

template <class T, int vectors = lane_count / VectorOf<T>::lanes>
inline LanesOf<T, vectors> splat_lanes(T value) {
  if constexpr (vectors == 1) return {splat(value)};
  else return {splat_lanes<T, vectors / 2>(value), splat_lanes<T, vectors / 2>(value)};
}

template <class T, int vectors = lane_count / VectorOf<T>::lanes>
inline LanesOf<T, vectors> load_lanes(const T* from) {
  if constexpr (vectors == 1) return {load(from)};
  else return {load_lanes<T, vectors / 2>(from), load_lanes<T, vectors / 2>(from + vectors / 2 * VectorOf<T>::lanes)};
}

template <class T, int vectors>
inline void store_lanes(T* to, const LanesOf<T, vectors>& lanes) {
  if constexpr (vectors == 1) {
    store(to, lanes.value);
  } else {
    store_lanes(to, lanes.low);
    store_lanes(to + vectors / 2 * VectorOf<T>::lanes, lanes.high);
  }
}

// The first `count` of 16 lanes, the others `rest`.
template <class T>
inline Lanes<T> load_lanes(const T* from, std::int64_t count, T rest = T(0)) {
  if (count >= lane_count) return load_lanes(from);
  // A loop of fixed length becomes a masked load where there are such.
  const int loaded = static_cast<int>(count);
  T buffer[lane_count];
  for (int i = 0; i < lane_count; ++i) buffer[i] = i < loaded ? from[i] : rest;
  return load_lanes(buffer);
}
template <class T>
inline void store_lanes(T* to, const Lanes<T>& lanes, std::int64_t count) {
  if (count >= lane_count) return store_lanes(to, lanes);
  const int stored = static_cast<int>(count);
  T buffer[lane_count];
  store_lanes(buffer, lanes);
  for (int i = 0; i < lane_count; ++i)
    if (i < stored) to[i] = buffer[i];
}

// What long sums of T are held in.
template <class T>
struct TotalOf {
  using type = double;
};
template <>
struct TotalOf<std::uint32_t> {
  using type = std::uint32_t;
};
template <class T>
using Total = typename TotalOf<T>::type;

template <class T>
inline void add_lanes(Total<T>* totals, const Lanes<T>& lanes, Total<T> weight) {
  T buffer[lane_count];
  store_lanes(buffer, lanes);
  for (int i = 0; i < lane_count; ++i) totals[i] += weight * static_cast<Total<T>>(buffer[i]);
}

// Adds weight * (term(first) + ... + term(last - 1)) to 16 totals. T holds sums of 64 terms only, 4 at a time: that
// keeps the error of long sums small and hides the latency of the additions.
template <class T, class Term>
inline void add_terms(Total<T>* totals, std::int64_t first, std::int64_t last, Total<T> weight, Term term) {
  for (std::int64_t begin = first; begin < last; begin += 64) {
    const std::int64_t end = begin + 64 < last ? begin + 64 : last;
    Lanes<T> a = splat_lanes(T(0)), b = a, c = a, d = a;
    std::int64_t i = begin;
    for (; i + 4 <= end; i += 4) {
      a = a + term(i);
      b = b + term(i + 1);
      c = c + term(i + 2);
      d = d + term(i + 3);
    }
    for (; i < end; ++i) a = a + term(i);
    add_lanes<T>(totals, (a + b) + (c + d), weight);
  }
}

template <class T>
inline T sum_in_halves(T* terms) {
  for (int step = lane_count / 2; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) terms[i] += terms[i + step];
  return terms[0];
}

// The sum over a contiguous run of `count` elements: term(i, n) gives the terms of elements [i, i + n), then zeros.
template <class T, class Term>
inline Total<T> sum_of(std::int64_t count, Term term) {
  if (count <= lane_count) {
    T terms[lane_count];
    store_lanes(terms, term(0, count));
    return static_cast<Total<T>>(sum_in_halves(terms));
  }
  Total<T> totals[lane_count] = {};
  const std::int64_t whole = count / lane_count;
  add_terms<T>(totals, 0, whole, Total<T>(1), [&](std::int64_t i) { return term(i * lane_count, lane_count); });
  const std::int64_t rest = count - whole * lane_count;
  if (rest > 0) add_lanes<T>(totals, term(whole * lane_count, rest), Total<T>(1));
  return sum_in_halves(totals);
}

// The largest of a contiguous run; `least` if it is empty.
template <class T>
inline T largest_of(const T* x, std::int64_t count, T least) {
  Lanes<T> best = splat_lanes(least);
  for (std::int64_t i = 0; i < count; i += lane_count) best = larger(best, load_lanes(x + i, count - i, least));
  T buffer[lane_count];
  store_lanes(buffer, best);
  for (int step = lane_count / 2; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) buffer[i] = larger_of(buffer[i], buffer[i + step]);
  return buffer[0];
}

// Calls f(i, n) for the 16 or fewer elements [i, i + n).
template <class F>
inline void for_lanes(std::int64_t columns, F f) {
  for (std::int64_t i = 0; i < columns; i += lane_count) f(i, columns - i < lane_count ? columns - i : lane_count);
}

PANDO_KERNEL_END
}  // namespace pando::cpu
