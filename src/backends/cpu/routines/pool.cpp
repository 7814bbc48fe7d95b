// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/routines/pool.h"

#include "backends/cpu/routines/vector.h"

namespace pando::cpu {
namespace {

using std::int64_t;

// Positions are counted in lanes as wide as the elements.
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

// The columns of a window that lie in the image.
struct Columns {
  int64_t first, last;
};

inline Columns columns_inside(const PoolRow& row, int64_t window) {
  const int64_t start = window * row.stride - row.before;
  const int64_t left = row.width - start;
  return {start < 0 ? -start : 0, left < row.kernel ? left : row.kernel};
}

// The largest so far of one window, in a vector of channels.
template <class T>
struct Largest {
  using Index = typename IndexOf<T>::type;
  Vector<T> value;
  Vector<Index> position;

  static Vector<Index> at(int64_t place) { return Vector<Index>{} + static_cast<Index>(place); }

  void take(Vector<T> candidate, Vector<Index> place) {
    // Not "greater": a NaN is neither, and must win.
    const auto stays = (candidate <= value) | (value != value);
    value = stays ? value : candidate;
    position = stays ? position : place;
  }
};

// The largest of the window whose first element inside the image is at `x`. `lanes` are those that hold channels.
template <class T>
inline Largest<T> largest_of(const PoolRow& row, const T* x, Columns columns, const auto& lanes) {
  Largest<T> largest = {lanes.load(x), Largest<T>::at(row.first_row * row.kernel + columns.first)};
  for (int64_t i = row.first_row; i < row.last_row; ++i, x += row.width * row.channels) {
    const T* from = x;
    for (int64_t j = columns.first; j < columns.last; ++j, from += row.channels) {
      largest.take(lanes.load(from), Largest<T>::at(i * row.kernel + j));
    }
  }
  return largest;
}

// The same for a whole window of two by two, the most usual one: the larger of each row, then of both.
template <class T>
inline Largest<T> largest_of_four(const PoolRow& row, const T* x, const auto& lanes) {
  const T* const below = x + row.width * row.channels;
  Largest<T> upper = {lanes.load(x), Largest<T>::at(0)}, lower = {lanes.load(below), Largest<T>::at(2)};
  upper.take(lanes.load(x + row.channels), Largest<T>::at(1));
  lower.take(lanes.load(below + row.channels), Largest<T>::at(3));
  upper.take(lower.value, lower.position);
  return upper;
}

// Whether one instruction narrows the positions in a vector to those that are stored.
#if defined(__AVX512F__)
template <class T, class P>
constexpr bool narrows_at_once = sizeof(T) == sizeof(float) && sizeof(P) == 1;

inline void store_narrow(std::uint8_t* to, Vector<std::int32_t> positions, const auto& lanes) {
  const __mmask16 mask = lanes.mask();
  _mm_mask_storeu_epi8(to, mask, _mm512_maskz_cvtepi32_epi8(mask, reinterpret_cast<__m512i>(positions)));
}
#else
template <class T, class P>
constexpr bool narrows_at_once = false;
#endif

// Channels [first, first + count) of all windows: a whole number of vectors, at most most_channels, or a part of one.
constexpr int64_t most_channels = 64;

template <class T, class P>
void max_pool_channels(const PoolRow& given, const T* x, int64_t first, int64_t count, const auto& lanes, T* values,
                       P* positions) {
  // A copy, which no store can change.
  const PoolRow row = given;
  // Positions are found as wide as the elements they belong to, and narrowed many at a time, unless an instruction does
  // both: reading them back at once would wait for the stores.
  constexpr int64_t windows_at_once = 16;
  typename IndexOf<T>::type found[windows_at_once][most_channels];
  const bool two_rows = row.kernel == 2 && row.first_row == 0 && row.last_row == 2;
  for (int64_t begin = 0; begin < row.windows; begin += windows_at_once) {
    const int64_t end = begin + windows_at_once < row.windows ? begin + windows_at_once : row.windows;
    for (int64_t window = begin; window < end; ++window) {
      const Columns columns = columns_inside(row, window);
      const bool is_four = two_rows && columns.first == 0 && columns.last == 2;
      const T* const from = x + (window * row.stride - row.before + columns.first) * row.channels + first;
      T* const to = values + window * row.channels + first;
      for (int64_t c = 0; c < count; c += VectorOf<T>::lanes) {
        const Largest<T> largest =
            is_four ? largest_of_four(row, from + c, lanes) : largest_of(row, from + c, columns, lanes);
        lanes.store(to + c, largest.value);
        if constexpr (narrows_at_once<T, P>) {
          if (positions != nullptr)
            store_narrow(positions + window * row.channels + first + c, largest.position, lanes);
        } else {
          store(found[window - begin] + c, largest.position);
        }
      }
    }
    if (narrows_at_once<T, P> || positions == nullptr) continue;
    for (int64_t window = begin; window < end; ++window) {
      P* const to = positions + window * row.channels + first;
      const auto* const from = found[window - begin];
      PANDO_VECTORISE
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<P>(from[i]);
    }
  }
}

template <class T, class P>
void max_pool(const PoolRow& row, const T* x, T* values, P* positions) {
  const int64_t whole = row.channels / VectorOf<T>::lanes * VectorOf<T>::lanes;
  for (int64_t c = 0; c < whole; c += most_channels) {
    const int64_t count = whole - c < most_channels ? whole - c : most_channels;
    max_pool_channels(row, x, c, count, WholeVector<T>(), values, positions);
  }
  const int64_t rest = row.channels - whole;
  if (rest > 0) max_pool_channels(row, x, whole, rest, PartOfVector<T>(rest), values, positions);
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

template <class T>
inline Vector<T> sum_of(const PoolRow& row, const T* x, Columns columns, const auto& lanes) {
  Vector<T> sum = {};
  for (int64_t i = row.first_row; i < row.last_row; ++i, x += row.width * row.channels) {
    const T* from = x;
    for (int64_t j = columns.first; j < columns.last; ++j, from += row.channels) sum += lanes.load(from);
  }
  return sum;
}

template <class T>
void average_pool(const PoolRow& row, const T* x, const T* divisors, T* values) {
  constexpr int lanes = VectorOf<T>::lanes;
  const int64_t whole = row.channels / lanes * lanes, rest = row.channels - whole;
  for (int64_t window = 0; window < row.windows; ++window) {
    const Columns columns = columns_inside(row, window);
    const T* const from = x + (window * row.stride - row.before + columns.first) * row.channels;
    T* const to = values + window * row.channels;
    for (int64_t c = 0; c < whole; c += lanes) {
      store(to + c, sum_of(row, from + c, columns, WholeVector<T>()) / divisors[window]);
    }
    if (rest == 0) continue;
    const PartOfVector<T> part(rest);
    part.store(to + whole, sum_of(row, from + whole, columns, part) / divisors[window]);
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
