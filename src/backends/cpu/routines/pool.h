// SPDX-License-Identifier: Apache-2.0
// Pooling over rows of windows, channels last: the inner loops of the pooling kernels.
#pragma once
#include <cstdint>

namespace pando::cpu {

// The windows that make one pooled row. Rows of an image follow each other without gaps.
struct PoolRow {
  std::int64_t channels = 0;
  // Columns of the image and of the pooled row.
  std::int64_t width = 0;
  std::int64_t windows = 0;
  // Columns of a window, between windows, and padded on the left.
  std::int64_t kernel = 0;
  std::int64_t stride = 0;
  std::int64_t before = 0;
  // The rows of the window that lie in the image; `x` and `dx` point at the first of them.
  std::int64_t first_row = 0;
  std::int64_t last_row = 0;
  // Gradients only: write what would be added, which is right if nothing was written before and no windows overlap.
  bool overwrites = false;
};

template <class T>
struct PoolRoutinesOf {
  // The first largest element of each window, or its first NaN. Positions may be null.
  void (*max_pool)(const PoolRow& row, const T* x, T* values, std::uint8_t* positions);
  void (*max_pool_wide)(const PoolRow& row, const T* x, T* values, std::int32_t* positions);
  // Adds dy to those elements of one image row, row `first_row` of the windows, that were the largest.
  void (*max_pool_gradient)(const PoolRow& row, const T* dy, const std::uint8_t* positions, T* dx);
  void (*max_pool_gradient_wide)(const PoolRow& row, const T* dy, const std::int32_t* positions, T* dx);
  // The sum of each window divided by its entry of `divisors`.
  void (*average_pool)(const PoolRow& row, const T* x, const T* divisors, T* values);
  // Adds dy / divisors to one image row.
  void (*average_pool_gradient)(const PoolRow& row, const T* dy, const T* divisors, T* dx);
};

struct PoolRoutines {
  PoolRoutinesOf<float> float32;
  PoolRoutinesOf<double> float64;
};

}  // namespace pando::cpu
