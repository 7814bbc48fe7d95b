// SPDX-License-Identifier: Apache-2.0
// PoolRows: where the windows of each pooled row lie in an image [height, width, channels]. SpreadGradient: the
// gradient of max_pool, row by row of the images.
#pragma once
#include <algorithm>

#include "backends/cpu/kernels/product.h"
#include "ops/window.h"

namespace pando::cpu {

template <class T>
const PoolRoutinesOf<T>& pool_routines(const Routines& routines) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return routines.pool.float32;
  } else {
    return routines.pool.float64;
  }
}

// `x` and `y` are the shapes [batch, height, width, channels] of the images and of the pooled images.
class PoolRows {
 public:
  PoolRows(const Window& window, const Shape& x, const Shape& y)
      : window_(window),
        height_(x[1]),
        row_{.channels = x[3],
             .width = x[2],
             .windows = y[2],
             .kernel = window.kernel[1],
             .stride = window.strides[1],
             .before = window.before(1)} {}

  // The image row that window row 0 of pooled row `row` meets; negative in the padding.
  std::int64_t start(std::int64_t row) const { return row * window_.strides[0] - window_.before(0); }
  // The image rows that pooled row `row` reads.
  Range image_rows(std::int64_t row) const {
    return {std::max<std::int64_t>(start(row), 0), std::min(start(row) + window_.kernel[0], height_)};
  }
  PoolRow operator[](std::int64_t row) const {
    const Range rows = image_rows(row);
    PoolRow result = row_;
    result.first_row = rows.begin - start(row);
    result.last_row = rows.end - start(row);
    return result;
  }
  // The pooled rows, of `count`, that read image row `row`.
  Range pooled_rows(std::int64_t row, std::int64_t count) const {
    const std::int64_t place = row + window_.before(0);
    const std::int64_t first = place < window_.kernel[0] ? 0 : (place - window_.kernel[0]) / window_.strides[0] + 1;
    return {first, std::min(place / window_.strides[0] + 1, count)};
  }
  // Whether the windows follow each other from column 0 on without gaps or overlaps, up to last_column().
  bool tiles_columns() const { return row_.stride == row_.kernel && row_.before == 0; }
  std::int64_t last_column() const { return std::min(row_.windows * row_.stride, row_.width); }

 private:
  Window window_;
  std::int64_t height_;
  PoolRow row_;
};

// One pooled row of max_pool; `positions` are uint8 or, with `wide`, int32, and may be null.
template <class T>
void max_pool_row(const PoolRoutinesOf<T>& pool, bool wide, const PoolRow& row, const T* x, T* values,
                  std::byte* positions) {
  if (wide) {
    pool.max_pool_wide(row, x, values, reinterpret_cast<std::int32_t*>(positions));
  } else {
    pool.max_pool(row, x, values, reinterpret_cast<std::uint8_t*>(positions));
  }
}

// Makes row `row` of all rows of dx: zeros where no window lies, and add(windows, first element of dy) for the rest.
template <class T, class Add>
void make_gradient_row(const PoolRows& rows, const Shape& dx, const Shape& dy, std::int64_t row, T* to, Add add) {
  const std::int64_t image = row / dx[1], in_image = row % dx[1];
  const Range pooled = rows.pooled_rows(in_image, dy[1]);
  const bool overwrites = pooled.end - pooled.begin == 1 && rows.tiles_columns();
  const std::int64_t written = overwrites ? rows.last_column() * dx[3] : 0;
  std::fill(to + written, to + dx.stride(1), T(0));
  for (std::int64_t from = pooled.begin; from < pooled.end; ++from) {
    PoolRow windows = rows[from];
    windows.first_row = in_image - rows.start(from);
    windows.overwrites = overwrites;
    add(windows, from, (image * dy[1] + from) * dy.stride(1));
  }
}

template <class T>
class SpreadGradient {
 public:
  // `dx` is the shape of the images.
  SpreadGradient(const Operand& dy, const Operand& positions, const Window& window, const Shape& dx,
                 const Routines& routines)
      : pool_(pool_routines<T>(routines)), dy_(dy), positions_(positions), dx_(dx), rows_(window, dx, dy.type.shape) {}

  // Makes these of all rows of all images, one after the other.
  void make_rows(const Tile& tile, Range rows, T* to) const {
    for (std::int64_t row = rows.begin; row < rows.end; ++row, to += dx_.stride(1)) {
      make_gradient_row(
          rows_, dx_, dy_.type.shape, row, to,
          [&](const PoolRow& windows, std::int64_t, std::int64_t first) { add(tile, windows, first, to); });
    }
  }

 private:
  void add(const Tile& tile, const PoolRow& windows, std::int64_t first, T* to) const {
    const T* const dy = pointer<const T>(tile, dy_) + first;
    if (positions_.type.dtype == DType::int32) {
      pool_.max_pool_gradient_wide(windows, dy, pointer<const std::int32_t>(tile, positions_) + first, to);
    } else {
      pool_.max_pool_gradient(windows, dy, pointer<const std::uint8_t>(tile, positions_) + first, to);
    }
  }

  const PoolRoutinesOf<T>& pool_;
  Operand dy_, positions_;
  Shape dx_;
  PoolRows rows_;
};

}  // namespace pando::cpu
