// SPDX-License-Identifier: Apache-2.0
// Lanes: always 16 elements, in as many vectors as the instruction set needs. So the result of a loop over them does
// not depend on where a tile begins, and the last elements of a row go through the same code as the others.
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

// The first `count` of them, at least one, and zeros.
template <class T, int vectors>
inline LanesOf<T, vectors> load_first(const T* from, std::int64_t count) {
  constexpr int half = vectors / 2 * VectorOf<T>::lanes;
  if constexpr (vectors > 1) {
    const auto low = load_first<T, vectors / 2>(from, count);
    if (count <= half) return {low, splat_lanes<T, vectors / 2>(T(0))};
    return {low, load_first<T, vectors / 2>(from + half, count - half)};
  } else {
    if (count >= VectorOf<T>::lanes) return {load(from)};
    return {PartOfVector<T>(count).load(from)};
  }
}
template <class T, int vectors>
inline void store_first(T* to, const LanesOf<T, vectors>& lanes, std::int64_t count) {
  constexpr int half = vectors / 2 * VectorOf<T>::lanes;
  if constexpr (vectors > 1) {
    store_first(to, lanes.low, count);
    if (count > half) store_first(to + half, lanes.high, count - half);
  } else if (count >= VectorOf<T>::lanes) {
    store(to, lanes.value);
  } else {
    PartOfVector<T>(count).store(to, lanes.value);
  }
}

// The first `count` lanes, the others `rest`.
template <class T>
inline Lanes<T> keep_first(const Lanes<T>& lanes, std::int64_t count, T rest) {
  static constexpr T places[lane_count] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const Vector<T> end = splat(static_cast<T>(count)), others = splat(rest);
  return apply([=](Vector<T> lane, Vector<T> place) { return place < end ? lane : others; }, lanes, load_lanes(places));
}

// Not inlined: with all their branches in a loop, compilers keep its lanes in memory.
template <class T>
[[gnu::noinline]] Lanes<T> load_fewer_lanes(const T* from, std::int64_t count, T rest) {
  if (count <= 0) return splat_lanes(rest);
  const Lanes<T> lanes = load_first<T, lane_count / VectorOf<T>::lanes>(from, count);
  return rest == T(0) ? lanes : keep_first(lanes, count, rest);
}
template <class T>
[[gnu::noinline]] void store_fewer_lanes(T* to, const Lanes<T>& lanes, std::int64_t count) {
  if (count > 0) store_first(to, lanes, count);
}

// The first `count` of 16 lanes, which may be none, the others `rest`.
template <class T>
inline Lanes<T> load_lanes(const T* from, std::int64_t count, T rest = T(0)) {
  return count >= lane_count ? load_lanes(from) : load_fewer_lanes(from, count, rest);
}
template <class T>
inline void store_lanes(T* to, const Lanes<T>& lanes, std::int64_t count) {
  if (count >= lane_count) store_lanes(to, lanes);
  else store_fewer_lanes<T>(to, lanes, count);
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
template <>
struct TotalOf<std::uint64_t> {
  using type = std::uint64_t;
};
template <class T>
using Total = typename TotalOf<T>::type;

template <class T>
inline void add_lanes(Total<T>* totals, const Lanes<T>& lanes, Total<T> weight) {
  T buffer[lane_count];
  store_lanes(buffer, lanes);
  for (int i = 0; i < lane_count; ++i) totals[i] += weight * static_cast<Total<T>>(buffer[i]);
}

// A sum of T has 64 terms at most; longer ones are added up in Total<T>.
inline constexpr std::int64_t most_terms = 64;

// term(first) + ... + term(last - 1), 4 at a time, which hides the latency of the additions.
template <class T, class Term>
inline Lanes<T> sum_of_terms(std::int64_t first, std::int64_t last, Term term) {
  Lanes<T> a = splat_lanes(T(0)), b = a, c = a, d = a;
  std::int64_t i = first;
  for (; i + 4 <= last; i += 4) {
    a = a + term(i);
    b = b + term(i + 1);
    c = c + term(i + 2);
    d = d + term(i + 3);
  }
  for (; i < last; ++i) a = a + term(i);
  return (a + b) + (c + d);
}

// Adds weight * (term(first) + ... + term(last - 1)) to 16 totals.
template <class T, class Term>
inline void add_terms(Total<T>* totals, std::int64_t first, std::int64_t last, Total<T> weight, Term term) {
  for (std::int64_t begin = first; begin < last; begin += most_terms) {
    const std::int64_t end = begin + most_terms < last ? begin + most_terms : last;
    add_lanes<T>(totals, sum_of_terms<T>(begin, end, term), weight);
  }
}

// The lanes of a vector, each `step` places further to the front.
template <int step, class V>
inline V rotated(V v) {
  constexpr int lanes = sizeof(V) / sizeof(v[0]), last = lanes - 1;
  if constexpr (lanes == 2) return __builtin_shufflevector(v, v, 1, 0);
  else if constexpr (lanes == 4)
    return __builtin_shufflevector(v, v, step, (step + 1) & last, (step + 2) & last, (step + 3) & last);
  else if constexpr (lanes == 8)
    return __builtin_shufflevector(v, v, step, (step + 1) & last, (step + 2) & last, (step + 3) & last,
                                   (step + 4) & last, (step + 5) & last, (step + 6) & last, (step + 7) & last);
  else
    return __builtin_shufflevector(v, v, step, (step + 1) & last, (step + 2) & last, (step + 3) & last,
                                   (step + 4) & last, (step + 5) & last, (step + 6) & last, (step + 7) & last,
                                   (step + 8) & last, (step + 9) & last, (step + 10) & last, (step + 11) & last,
                                   (step + 12) & last, (step + 13) & last, (step + 14) & last, (step + 15) & last);
}

// Combines the lanes by `f`, always the first half with the second.
template <class T, class F, int step = VectorOf<T>::lanes / 2>
inline T combine_in_halves(const LanesOf<T, 1>& lanes, F f) {
  if constexpr (step == 0) return lanes.value[0];
  else return combine_in_halves<T, F, step / 2>(f(lanes, LanesOf<T, 1>{rotated<step>(lanes.value)}), f);
}
template <class T, int vectors, class F>
inline T combine_in_halves(const LanesOf<T, vectors>& lanes, F f) {
  return combine_in_halves<T>(f(lanes.low, lanes.high), f);
}

template <class T, int vectors>
inline T sum_in_halves(const LanesOf<T, vectors>& lanes) {
  return combine_in_halves<T>(lanes, [](const auto& a, const auto& b) { return a + b; });
}

template <int vectors>
inline LanesOf<double, 2 * vectors> widened(const LanesOf<float, vectors>& lanes) {
  if constexpr (vectors == 1) {
    typedef float Half __attribute__((vector_size(vector_bytes / 2)));
    Half halves[2];
    __builtin_memcpy(halves, &lanes.value, sizeof halves);
    return {{__builtin_convertvector(halves[0], Vector<double>)}, {__builtin_convertvector(halves[1], Vector<double>)}};
  } else {
    return {widened(lanes.low), widened(lanes.high)};
  }
}
template <class T, int vectors>
inline const LanesOf<T, vectors>& widened(const LanesOf<T, vectors>& lanes) {
  return lanes;
}

// The sum over a contiguous run of `count` elements: term(i, n) gives the terms of elements [i, i + n), then zeros.
template <class T, class Term>
inline Total<T> sum_of(std::int64_t count, Term term) {
  if (count <= lane_count) return static_cast<Total<T>>(sum_in_halves(term(0, count)));
  Lanes<Total<T>> totals = splat_lanes(Total<T>(0));
  const std::int64_t whole = count / lane_count, rest = count - whole * lane_count;
  for (std::int64_t begin = 0; begin < whole; begin += most_terms) {
    const std::int64_t end = begin + most_terms < whole ? begin + most_terms : whole;
    const Lanes<T> sum = sum_of_terms<T>(begin, end, [&](std::int64_t i) { return term(i * lane_count, lane_count); });
    totals = totals + widened(sum);
  }
  if (rest > 0) totals = totals + widened(term(whole * lane_count, rest));
  return sum_in_halves(totals);
}

// The largest of a contiguous run; `least` if it is empty.
template <class T>
inline T largest_of(const T* x, std::int64_t count, T least) {
  Lanes<T> best = splat_lanes(least);
  const std::int64_t whole = count / lane_count * lane_count;
  for (std::int64_t i = 0; i < whole; i += lane_count) best = larger(best, load_lanes(x + i));
  if (whole < count) best = larger(best, load_lanes(x + whole, count - whole, least));
  return combine_in_halves<T>(best, [](const auto& a, const auto& b) { return larger(a, b); });
}

// Calls f(i, n) for the 16 or fewer elements [i, i + n).
template <class F>
inline void for_lanes(std::int64_t columns, F f) {
  for (std::int64_t i = 0; i < columns; i += lane_count) f(i, columns - i < lane_count ? columns - i : lane_count);
}

PANDO_KERNEL_END
}  // namespace pando::cpu
