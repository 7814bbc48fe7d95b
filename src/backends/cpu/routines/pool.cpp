// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/routines/pool.h"

#include "backends/cpu/routines/vector.h"

namespace pando::cpu {
namespace {

using std::int64_t;

// V is a vector of channels or, for those that do not fill one, a single T; Index counts in lanes of the same size.
template <class T>
struct IndexOf;
template <>
struct IndexOf<float> {
  using type = std::int32_t;
};
template <>
struct IndexOf<double> {
  using type = std::int64_t;
};

template <class V>
inline V load_as(const void* from) {
  V value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

// The columns of a window that lie in the image.
struct Columns {
  int64_t first, last;
};

inline Columns columns_inside(const PoolRow& row, int64_t window) {
  const int64_t start = window * row.stride - row.before;
  const int64_t left = row.width - start;
  return {start < 0 ? -start : 0, left < row.kernel ? left : row.kernel};
}

// The largest so far of one window, in one channel or a vector of them.
template <class V, class I>
struct Largest {
  V value;
  I position;

  void take(V candidate, I place) {
    // Not "greater": a NaN is neither, and must win.
    const auto stays = (candidate <= value) | (value != value);
    value = stays ? value : candidate;
    position = stays ? position : place;
  }
};

// The largest of the window whose first element inside the image is at `x`.
template <class V, class I, class T>
inline Largest<V, I> largest_of(const PoolRow& row, const T* x, Columns columns) {
  using Index = typename IndexOf<T>::type;
  const int64_t first = row.first_row * row.kernel + columns.first;
  Largest<V, I> largest = {load_as<V>(x), I{} + static_cast<Index>(first)};
  for (int64_t i = row.first_row; i < row.last_row; ++i, x += row.width * row.channels) {
    const T* from = x;
    for (int64_t j = columns.first; j < columns.last; ++j, from += row.channels) {
      largest.take(load_as<V>(from), I{} + static_cast<Index>(i * row.kernel + j));
    }
  }
  return largest;
}

// The same for a whole window of two by two, the most usual one: the larger of each row, then of both.
template <class V, class I, class T>
inline Largest<V, I> largest_of_four(const PoolRow& row, const T* x) {
  using Index = typename IndexOf<T>::type;
  const T* const below = x + row.width * row.channels;
  Largest<V, I> upper = {load_as<V>(x), I{}}, lower = {load_as<V>(below), I{} + Index{2}};
  upper.take(load_as<V>(x + row.channels), I{} + Index{1});
  lower.take(load_as<V>(below + row.channels), I{} + Index{3});
  upper.take(lower.value, lower.position);
  return upper;
}

// The largest of one window in `count` channels, a whole number of vectors.
template <class T>
inline void max_pool_window(const PoolRow& row, const T* x, Columns columns, bool is_four, int64_t count, T* values,
                            typename IndexOf<T>::type* positions) {
  using Found = Vector<typename IndexOf<T>::type>;
  for (int64_t c = 0; c < count; c += VectorOf<T>::lanes) {
    const auto largest =
        is_four ? largest_of_four<Vector<T>, Found>(row, x + c) : largest_of<Vector<T>, Found>(row, x + c, columns);
    store(values + c, largest.value);
    store(positions + c, largest.position);
  }
}

// Channels [first, first + count) of all windows: a whole number of vectors, at most most_channels.
constexpr int64_t most_channels = 64;

template <class T, class P>
void max_pool_channels(const PoolRow& given, const T* x, int64_t first, int64_t count, T* values, P* positions) {
  // A copy, which no store can change.
  const PoolRow row = given;
  // Positions are found as wide as the elements they belong to, and narrowed many at a time: reading them back at once
  // would wait for the stores.
  constexpr int64_t windows_at_once = 16;
  typename IndexOf<T>::type found[windows_at_once * most_channels];
  const bool two_rows = row.kernel == 2 && row.first_row == 0 && row.last_row == 2;
  for (int64_t begin = 0; begin < row.windows; begin += windows_at_once) {
    const int64_t end = begin + windows_at_once < row.windows ? begin + windows_at_once : row.windows;
    for (int64_t window = begin; window < end; ++window) {
      const Columns columns = columns_inside(row, window);
      const bool is_four = two_rows && columns.first == 0 && columns.last == 2;
      const T* const from = x + (window * row.stride - row.before + columns.first) * row.channels + first;
      max_pool_window(row, from, columns, is_four, count, values + window * row.channels + first,
                      found + (window - begin) * count);
    }
    if (positions == nullptr) continue;
    for (int64_t window = begin; window < end; ++window) {
      P* const to = positions + window * row.channels + first;
      const auto* const from = found + (window - begin) * count;
      PANDO_VECTORISE
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<P>(from[i]);
    }
  }
}

template <class T, class P>
void max_pool(const PoolRow& row, const T* x, T* values, P* positions) {
  const int64_t whole = row.channels / VectorOf<T>::lanes * VectorOf<T>::lanes;
  for (int64_t c = 0; c < whole; c += most_channels) {
    max_pool_channels(row, x, c, whole - c < most_channels ? whole - c : most_channels, values, positions);
  }
  for (int64_t window = 0; whole < row.channels && window < row.windows; ++window) {
    const Columns columns = columns_inside(row, window);
    const T* const from = x + (window * row.stride - row.before + columns.first) * row.channels;
    for (int64_t c = whole; c < row.channels; ++c) {
      const auto largest = largest_of<T, typename IndexOf<T>::type>(row, from + c, columns);
      values[window * row.channels + c] = largest.value;
      if (positions != nullptr) positions[window * row.channels + c] = static_cast<P>(largest.position);
    }
  }
}

template <bool overwrites, class T, class P>
void spread_largest(const PoolRow& row, const T* dy, const P* positions, T* dx) {
  for (int64_t window = 0; window < row.windows; ++window) {
    const Columns columns = columns_inside(row, window);
    for (int64_t j = columns.first; j < columns.last; ++j) {
      const P place = static_cast<P>(row.first_row * row.kernel + j);
      T* const to = dx + (window * row.stride - row.before + j) * row.channels;
      const T* const from = dy + window * row.channels;
      const P* const chosen = positions + window * row.channels;
      PANDO_VECTORISE
      for (int64_t c = 0; c < row.channels; ++c) {
        const T gradient = from[c];
        const T part = chosen[c] == place ? gradient : T(0);
        to[c] = overwrites ? part : to[c] + part;
      }
    }
  }
}

template <class T, class P>
void max_pool_gradient(const PoolRow& row, const T* dy, const P* positions, T* dx) {
  row.overwrites ? spread_largest<true>(row, dy, positions, dx) : spread_largest<false>(row, dy, positions, dx);
}

template <class V, class T>
inline V sum_of(const PoolRow& row, const T* x, Columns columns) {
  V sum = {};
  for (int64_t i = row.first_row; i < row.last_row; ++i, x += row.width * row.channels) {
    const T* from = x;
    for (int64_t j = columns.first; j < columns.last; ++j, from += row.channels) sum += load_as<V>(from);
  }
  return sum;
}

template <class T>
void average_pool(const PoolRow& row, const T* x, const T* divisors, T* values) {
  constexpr int lanes = VectorOf<T>::lanes;
  for (int64_t window = 0; window < row.windows; ++window) {
    const Columns columns = columns_inside(row, window);
    const T* const from = x + (window * row.stride - row.before + columns.first) * row.channels;
    T* const to = values + window * row.channels;
    int64_t c = 0;
    for (; c + lanes <= row.channels; c += lanes) {
      store(to + c, sum_of<Vector<T>>(row, from + c, columns) / divisors[window]);
    }
    for (; c < row.channels; ++c) to[c] = sum_of<T>(row, from + c, columns) / divisors[window];
  }
}

template <class T>
void average_pool_gradient(const PoolRow& row, const T* dy, const T* divisors, T* dx) {
  for (int64_t window = 0; window < row.windows; ++window) {
    const Columns columns = columns_inside(row, window);
    const T divisor = divisors[window];
    for (int64_t j = columns.first; j < columns.last; ++j) {
      T* const to = dx + (window * row.stride - row.before + j) * row.channels;
      const T* const from = dy + window * row.channels;
      PANDO_VECTORISE
      for (int64_t c = 0; c < row.channels; ++c) to[c] = (row.overwrites ? T(0) : to[c]) + from[c] / divisor;
    }
  }
}

template <class T>
void fill_table(PoolRoutinesOf<T>& table) {
  table.max_pool = max_pool<T, std::uint8_t>;
  table.max_pool_wide = max_pool<T, std::int32_t>;
  table.max_pool_gradient = max_pool_gradient<T, std::uint8_t>;
  table.max_pool_gradient_wide = max_pool_gradient<T, std::int32_t>;
  table.average_pool = average_pool<T>;
  table.average_pool_gradient = average_pool_gradient<T>;
}

}  // namespace

PANDO_KERNEL_BEGIN

void fill(PoolRoutines& table) {
  fill_table(table.float32);
  fill_table(table.float64);
}

PANDO_KERNEL_END
}  // namespace pando::cpu
