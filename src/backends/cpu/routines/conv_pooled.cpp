// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/routines/conv_pooled.h"

#include "backends/cpu/routines/transpose.h"

namespace pando::cpu {
namespace {

using std::int64_t;

// As many accumulators as leave registers for a factor and what the compiler needs.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int most_sums = 24;
#else
constexpr int most_sums = 12;
#endif
constexpr int most_rows = 5, most_vectors = 12;

// Some pixels of a window, side by side: the window's first gradient, the column and the place of the first pixel, and
// how many there are; and what is listed for its first filter.
struct WindowPart {
  int64_t first, column, place;
  std::uint32_t places;
  int64_t first_filter = 0;
};

#if defined(__AVX512F__)
inline __m512i some_positions(__mmask16 lanes, const std::uint8_t* from) {
  return _mm512_maskz_cvtepu8_epi32(lanes, _mm_maskz_loadu_epi8(lanes, from));
}
inline __m512i some_positions(__mmask16 lanes, const std::int32_t* from) {
  return _mm512_maskz_loadu_epi32(lanes, from);
}

// Up to sixteen gradients from `from` on, with their filters and the columns of their windows' first pixels.
template <bool with_columns, class P>
inline int64_t list_lanes(const GradientRow<float, P>& row, const GradientList<float>& list, int64_t listed,
                          int64_t from, int64_t count, const WindowPart& part, __m512i filters, __m512i first_columns) {
  const auto lanes = static_cast<__mmask16>(count < 16 ? (1 << count) - 1 : 0xffff);
  const __m512 dy = _mm512_maskz_loadu_ps(lanes, row.dy + from);
  const __m512i place =
      _mm512_sub_epi32(some_positions(lanes, row.positions + from), _mm512_set1_epi32(static_cast<int>(part.place)));
  // Places before the first are large without their sign, and a NaN is not equal to zero.
  const __mmask16 chosen = _mm512_mask_cmplt_epu32_mask(lanes, place, _mm512_set1_epi32(static_cast<int>(part.places)));
  const __mmask16 taken = _mm512_mask_cmp_ps_mask(chosen, dy, _mm512_setzero_ps(), _CMP_NEQ_UQ);
  _mm512_storeu_ps(list.values + listed, _mm512_maskz_compress_ps(taken, dy));
  _mm512_storeu_si512(list.filters + listed, _mm512_maskz_compress_epi32(taken, filters));
  if (with_columns) {
    const __m512i columns = _mm512_add_epi32(place, first_columns);
    _mm512_storeu_si512(list.columns + listed, _mm512_maskz_compress_epi32(taken, columns));
  }
  return listed + __builtin_popcount(taken);
}

// The gradients of one window.
template <bool with_columns, class P>
inline int64_t list_window(const GradientRow<float, P>& row, const GradientList<float>& list, int64_t listed,
                           const WindowPart& part) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i column = _mm512_set1_epi32(static_cast<int>(part.column));
  const __m512i steps = _mm512_mullo_epi32(lane, _mm512_set1_epi32(static_cast<int>(row.filter_step)));
  for (int64_t filter = 0; filter < row.filters; filter += 16) {
    const auto first = static_cast<int>(part.first_filter + filter * row.filter_step);
    const __m512i filters = _mm512_add_epi32(steps, _mm512_set1_epi32(first));
    listed =
        list_lanes<with_columns>(row, list, listed, part.first + filter, row.filters - filter, part, filters, column);
  }
  return listed;
}

// The gradients of all windows, which lie side by side.
template <class P>
inline int64_t list_side_by_side(const GradientRow<float, P>& row, const GradientList<float>& list) {
  const WindowPart part = {0, 0, row.place, static_cast<std::uint32_t>(row.kernel)};
  int64_t listed = 0;
  for (int64_t from = 0, count = row.windows * row.filters; from < count; from += 16) {
    const auto lanes = static_cast<__mmask16>(count - from < 16 ? (1 << (count - from)) - 1 : 0xffff);
    listed = list_lanes<true>(row, list, listed, from, count - from, part, some_positions(lanes, row.filter_of + from),
                              some_positions(lanes, row.column_of + from));
  }
  return listed;
}
#endif

// Lists the gradients of a window that belong to the part, after `listed` entries; returns how many there are then.
template <bool with_columns, class T, class P>
inline int64_t list_part(const GradientRow<T, P>& row, const GradientList<T>& list, int64_t listed,
                         const WindowPart& part) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == sizeof(float)) {
    return list_window<with_columns>(row, list, listed, part);
  }
#endif
  for (int64_t filter = 0; filter < row.filters; ++filter) {
    const T value = row.dy[part.first + filter];
    // Places before the first are large without their sign.
    const auto place = static_cast<std::uint32_t>(row.positions[part.first + filter] - part.place);
    list.values[listed] = value;
    list.filters[listed] = static_cast<std::int32_t>(part.first_filter + filter * row.filter_step);
    if (with_columns) list.columns[listed] = static_cast<std::int32_t>(part.column + place);
    listed += (place < part.places) & !(value == T(0));
  }
  return listed;
}

template <class T, class P>
void list_pixels(const GradientRow<T, P>& given_row, const GradientList<T>& given_list) {
  // Copies, which no store can change.
  const GradientRow<T, P> row = given_row;
  const GradientList<T> list = given_list;
  int64_t listed = list.starts[0], next = 0;
  for (int64_t window = 0; window < row.windows; ++window) {
    const int64_t start = window * row.stride - row.before;
    for (int64_t j = start < 0 ? -start : 0; j < row.kernel && start + j < row.width; ++j) {
      // Columns between windows have no gradient.
      while (next <= start + j) list.starts[next++] = listed;
      const int64_t first_filter = row.first_filter_of == nullptr ? 0 : row.first_filter_of[start + j];
      listed = list_part<false>(row, list, listed, {window * row.step, start + j, row.place + j, 1, first_filter});
    }
  }
  while (next <= row.width) list.starts[next++] = listed;
}

template <class T, class P>
int64_t list_windows(const GradientRow<T, P>& given_row, const GradientList<T>& given_list) {
  const GradientRow<T, P> row = given_row;
  const GradientList<T> list = given_list;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == sizeof(float)) {
    if (row.filter_of != nullptr && row.filters % 16 != 0) return list_side_by_side(row, list);
  }
#endif
  int64_t listed = 0;
  for (int64_t window = 0; window < row.windows; ++window) {
    const int64_t start = window * row.stride - row.before;
    listed = list_part<true>(row, list, listed,
                             {window * row.step, start, row.place, static_cast<std::uint32_t>(row.kernel)});
  }
  return listed;
}

template <class T, int rows, int vectors>
void sum_filter_block(const FilterSums<T>& given) {
  constexpr int lanes = VectorOf<T>::lanes;
  const FilterSums<T> sums = given;
  Vector<T> sum[rows][vectors] = {};
  const int64_t step = sums.x_step;
  for (int64_t e = 0; e < sums.count; ++e) {
    const Vector<T> value = splat(sums.values[e]);
    const T* const x = sums.x + sums.offsets[e];
    PANDO_UNROLL
    for (int r = 0; r < rows; ++r) {
      const T* const row = x + r * step;
      PANDO_UNROLL
      for (int v = 0; v < vectors; ++v) sum[r][v] = fused_multiply_add(value, load(row + v * lanes), sum[r][v]);
    }
  }
  PANDO_UNROLL
  for (int r = 0; r < rows; ++r) {
    T* const to = sums.sums + r * sums.sums_step;
    PANDO_UNROLL
    for (int v = 0; v < vectors; ++v) {
      store(to + v * lanes, sums.accumulate ? load(to + v * lanes) + sum[r][v] : sum[r][v]);
    }
  }
}

template <class T>
struct FilterBlocks {
  void (*of[most_rows + 1][most_vectors + 1])(const FilterSums<T>&) = {};

  constexpr FilterBlocks() { enter<1, 1>(); }

  template <int rows, int vectors>
  constexpr void enter() {
    of[rows][vectors] = sum_filter_block<T, rows, vectors>;
    if constexpr (vectors < most_vectors && rows * (vectors + 1) <= most_sums) {
      enter<rows, vectors + 1>();
    } else if constexpr (rows < most_rows) {
      enter<rows + 1, 1>();
    }
  }
};

template <class T>
constexpr FilterBlocks<T> filter_blocks;

template <class T>
void sum_filter(const FilterSums<T>& sums) {
  filter_blocks<T>.of[sums.rows][sums.vectors](sums);
}

template <class T, int vectors>
void sum_row_vectors(const RowSums<T>& given, int64_t first) {
  constexpr int lanes = VectorOf<T>::lanes;
  const RowSums<T> sums = given;
  const T* const filter = sums.filter + first * lanes;
  T* to = sums.sums + first * lanes;
  const int64_t at_once = sums.pixels_at_once, step = at_once * sums.sums_step;
  for (int64_t pixel = 0; pixel < sums.pixels; pixel += at_once, to += step) {
    int64_t e = sums.list.starts[pixel];
    const int64_t end = sums.list.starts[pixel + at_once < sums.pixels ? pixel + at_once : sums.pixels];
    if (e >= end) continue;
    Vector<T> sum[vectors];
    PANDO_UNROLL
    for (int v = 0; v < vectors; ++v) sum[v] = load(to + v * lanes);
    do {
      const Vector<T> value = splat(sums.list.values[e]);
      const T* const row = filter + sums.list.filters[e];
      PANDO_UNROLL
      for (int v = 0; v < vectors; ++v) sum[v] = fused_multiply_add(value, load(row + v * lanes), sum[v]);
    } while (++e < end);
    PANDO_UNROLL
    for (int v = 0; v < vectors; ++v) store(to + v * lanes, sum[v]);
  }
}

template <class T>
struct RowVectors {
  void (*of[most_vectors + 1])(const RowSums<T>&, int64_t) = {};

  constexpr RowVectors() { enter<most_vectors>(); }

  template <int vectors>
  constexpr void enter() {
    of[vectors] = sum_row_vectors<T, vectors>;
    if constexpr (vectors > 1) enter<vectors - 1>();
  }
};

template <class T>
constexpr RowVectors<T> row_vectors;

template <class T>
void sum_row(const RowSums<T>& sums) {
  if (sums.vectors == 0) return;
  if (sums.vectors <= most_vectors) return row_vectors<T>.of[sums.vectors](sums, 0);
  const int64_t parts = (sums.vectors + most_vectors - 1) / most_vectors;
  // The last part first: what the pixels on the left add to a sum goes before what those on the right add.
  for (int64_t part = parts - 1; part >= 0; --part) {
    const int64_t first = sums.vectors * part / parts, last = sums.vectors * (part + 1) / parts;
    row_vectors<T>.of[last - first](sums, first);
  }
}

template <bool accumulate, class T>
inline void write_lanes(const auto& lanes, const T* from, T* to) {
  lanes.store(to, accumulate ? lanes.load(to) + lanes.load(from) : lanes.load(from));
}

// Runs of `count` elements.
template <bool accumulate, class T>
void write_runs(const T* from, int64_t from_step, int64_t runs, int64_t count, T* to) {
  constexpr int lanes = VectorOf<T>::lanes;
  const int64_t rest = count % lanes, whole = count - rest;
  const PartOfVector<T> part(rest);
  for (int64_t run = 0; run < runs; ++run, from += from_step, to += count) {
    for (int64_t i = 0; i < whole; i += lanes) write_lanes<accumulate>(WholeVector<T>(), from + i, to + i);
    if (rest > 0) write_lanes<accumulate>(part, from + whole, to + whole);
  }
}

template <class T>
void write_row(const T* from, int64_t from_step, int64_t pixels, int64_t channels, T* to, bool accumulate) {
  const bool joins = from_step == channels;
  const int64_t runs = joins ? 1 : pixels, count = joins ? pixels * channels : channels;
  (accumulate ? write_runs<true, T> : write_runs<false, T>)(from, from_step, runs, count, to);
}

template <class T>
void transpose(const T* from, int64_t from_step, int64_t rows, int64_t columns, T* to, int64_t to_step) {
  constexpr int lanes = VectorOf<T>::lanes;
  int64_t i = 0;
  for (; i + lanes <= rows; i += lanes) {
    int64_t j = 0;
    for (; j + lanes <= columns; j += lanes) {
      Vector<T> square[lanes];
      PANDO_UNROLL
      for (int k = 0; k < lanes; ++k) square[k] = load(from + (i + k) * from_step + j);
      transpose_square<T, lanes>(square);
      PANDO_UNROLL
      for (int k = 0; k < lanes; ++k) store(to + (j + k) * to_step + i, square[k]);
    }
    for (; j < columns; ++j) {
      for (int k = 0; k < lanes; ++k) to[j * to_step + i + k] = from[(i + k) * from_step + j];
    }
  }
  for (; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[j * to_step + i] = from[i * from_step + j];
  }
}

template <class T>
void fill_table(PooledRoutinesOf<T>& table) {
  table.lanes = VectorOf<T>::lanes;
  table.most_sums = most_sums;
  table.most_rows = most_rows;
  table.most_vectors = most_vectors;
  table.list_pixels = list_pixels<T, std::uint8_t>;
  table.list_pixels_wide = list_pixels<T, std::int32_t>;
  table.list_windows = list_windows<T, std::uint8_t>;
  table.list_windows_wide = list_windows<T, std::int32_t>;
  table.sum_filter = sum_filter<T>;
  table.sum_row = sum_row<T>;
  table.write_row = write_row<T>;
  table.transpose = transpose<T>;
}

}  // namespace

PANDO_KERNEL_BEGIN

void fill(PooledRoutines& table) {
  fill_table(table.float32);
  fill_table(table.float64);
}

PANDO_KERNEL_END
}  // namespace pando::cpu
