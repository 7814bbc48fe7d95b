// SPDX-License-Identifier: Apache-2.0
// Sums of products that visit only the elements of one factor that are not zero: the inner loops of the gradients of a
// convolution before a max pooling. Each sum adds in the order of the elements, as the dense loops in matmul.h do. The
// dense loops add zeros in between, so both give the same bits.
#pragma once
#include <cstdint>

namespace pando::cpu {

// The gradients of one row of a convolution as they come from the max pooling after it. Each window and filter has a
// value, and the place in the window that the value belongs to.
template <class T, class P>
struct GradientRow {
  // The gradients and positions of the first window; windows are `step` apart.
  const T* dy = nullptr;
  const P* positions = nullptr;
  std::int64_t step = 0;
  std::int64_t filters = 0;
  // The columns of the row.
  std::int64_t width = 0;
  // The number of windows; the columns of each, from one to the next, and padded on the left.
  std::int64_t windows = 0, kernel = 0, stride = 0, before = 0;
  // The place in a window of the row's first pixel there.
  std::int64_t place = 0;
  // The filter of each gradient of the row, and the column where its window begins. Null if something lies between the
  // gradients of two windows.
  const std::int32_t *filter_of = nullptr, *column_of = nullptr;
  // For a list by pixels: elements from the row of a filter to the next one's, and, for each column, from
  // RowSums::filter to the first row; null if there are none.
  std::int64_t filter_step = 1;
  const std::int64_t* first_filter_of = nullptr;
};

// The gradients that are not zero, with their filters and columns. Listed by pixels, they have in place of the filter
// the elements from RowSums::filter to what they are multiplied by.
template <class T>
struct GradientList {
  std::int64_t* starts = nullptr;
  T* values = nullptr;
  std::int32_t* filters = nullptr;
  std::int32_t* columns = nullptr;
};

// The sums of one filter in `rows` x `vectors` vectors, within the limits in the table below:
//   sums[r * sums_step + i] = sum over e < count of values[e] * x[offsets[e] + r * x_step + i]
// With `accumulate` the sum is added to `sums`. Rows of x are readable up to the next whole vector.
template <class T>
struct FilterSums {
  const T* x = nullptr;
  const std::int64_t* offsets = nullptr;
  const T* values = nullptr;
  std::int64_t count = 0;
  std::int64_t x_step = 0;
  std::int64_t rows = 0, vectors = 0;
  T* sums = nullptr;
  std::int64_t sums_step = 0;
  bool accumulate = false;
};

// Adds to the sums of a row of pixels, with the entries e of the pixels p to p + pixels_at_once - 1 in the list, for
// each p that is a multiple of pixels_at_once:
//   sums[p * sums_step + i] += values[e] * filter[filters[e] + i] for i < vectors * lanes
// The sums of pixels side by side overlap; each adds in the order of pixels and entries. If several pixels are taken at
// once, the row of a filter has zeros before and after it, and the entry of a later pixel begins in the zeros before.
template <class T>
struct RowSums {
  GradientList<T> list = {};
  std::int64_t pixels = 0;
  const T* filter = nullptr;
  std::int64_t vectors = 0;
  T* sums = nullptr;
  std::int64_t sums_step = 0;
  std::int64_t pixels_at_once = 1;
};

template <class T>
struct PooledRoutinesOf {
  std::int64_t lanes;
  // How many vectors of sums stay in registers, in how many rows and vectors of a row.
  std::int64_t most_sums, most_rows, most_vectors;
  // How to list a row; positions are uint8 or int32. A vector after the last entry is overwritten too.
  //   by pixels: entries of column p are [starts[p], starts[p + 1]), by filter; starts[0] is given, `columns` not used
  //   by windows: in the order of windows, then filters, without `starts`; returns how many there are
  void (*list_pixels)(const GradientRow<T, std::uint8_t>& row, const GradientList<T>& list);
  void (*list_pixels_wide)(const GradientRow<T, std::int32_t>& row, const GradientList<T>& list);
  std::int64_t (*list_windows)(const GradientRow<T, std::uint8_t>& row, const GradientList<T>& list);
  std::int64_t (*list_windows_wide)(const GradientRow<T, std::int32_t>& row, const GradientList<T>& list);
  void (*sum_filter)(const FilterSums<T>& sums);
  void (*sum_row)(const RowSums<T>& sums);
  // to[p * channels + c] = from[p * from_step + c], or is increased by it.
  void (*write_row)(const T* from, std::int64_t from_step, std::int64_t pixels, std::int64_t channels, T* to,
                    bool accumulate);
  // to[j * to_step + i] = from[i * from_step + j] for i < rows, j < columns.
  void (*transpose)(const T* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns, T* to,
                    std::int64_t to_step);
};

struct PooledRoutines {
  PooledRoutinesOf<float> float32;
  PooledRoutinesOf<double> float64;
};

}  // namespace pando::cpu
