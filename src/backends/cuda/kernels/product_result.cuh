// SPDX-License-Identifier: Apache-2.0
// Where the sums of a product go: to the result, or to partial sums that a second kernel adds in the order of the
// splits.
#pragma once
#include "backends/cuda/kernels/factors.h"
#include "backends/cuda/kernels/tiling.h"
#include "backends/cuda/launch.h"

namespace pando::cuda {

// What is done with the results of a product: a number for each column is added, and then perhaps relu taken.
template <class T>
struct Bias {
  const T* data = nullptr;
  bool relu = false;

  __device__ T operator()(T value, std::int32_t column) const {
    if (data != nullptr) value += data[column];
    // NaN stays NaN.
    return relu && value < T(0) ? T(0) : value;
  }
};

// Where the product goes: element (batch, row, column), or `parameter` less `rate` times it if there is a parameter.
// With more than one split, the sums go to `partial` [batch, split, row, column].
template <class T>
struct ProductResult {
  T* out = nullptr;
  BatchStarts starts = {};
  std::int64_t row_step = 0;
  const T *parameter = nullptr, *rate = nullptr;
  T* partial = nullptr;
  Bias<T> bias = {};

  __device__ void store(std::int32_t batch, std::int32_t row, std::int32_t column, T value) const {
    store_in(starts(batch), row, column, value);
  }
  // The same, in the matrix that begins at `start`.
  __device__ void store_in(std::int64_t start, std::int32_t row, std::int32_t column, T value) const {
    const std::int64_t at = start + row * row_step + column;
    out[at] = parameter != nullptr ? parameter[at] - *rate * value : bias(value, column);
  }

  template <class Sums>
  __device__ void write(const Sums& sums, const TilePlace& place, const ProductSizes& sizes,
                        std::int32_t splits) const {
    const std::int64_t first_partial =
        (static_cast<std::int64_t>(place.batch) * splits + place.split) * sizes.rows * sizes.columns;
    const std::int64_t start = starts(place.batch);
    sums.store([&](int tile_row, int tile_column, T sum) {
      const std::int32_t row = place.row + tile_row, column = place.column + tile_column;
      if (row >= sizes.rows || column >= sizes.columns) return;
      if (splits == 1) store_in(start, row, column, sum);
      else partial[first_partial + static_cast<std::int64_t>(row) * sizes.columns + column] = sum;
    });
  }
};

// Takes the largest of four rows, and its place among them; either pointer may be null.
template <class T>
struct PooledResult {
  T* values = nullptr;
  std::uint8_t* positions = nullptr;
  BatchStarts starts = {};
  std::int64_t row_step = 0;
  Bias<T> bias = {};

  template <class Sums>
  __device__ void write(const Sums& sums, const TilePlace& place, const ProductSizes& sizes, std::int32_t) const {
    const std::int64_t start = starts(place.batch);
    sums.store_fours([&](int tile_row, int tile_column, const T(&four)[4]) {
      const std::int32_t row = place.row + tile_row, column = place.column + tile_column;
      if (row >= sizes.rows || column >= sizes.columns) return;
      T largest = four[0];
      int position = 0;
#pragma unroll
      for (int i = 1; i < 4; ++i) {
        // Not "greater": a NaN is neither, and must win.
        const bool stays = four[i] <= largest || largest != largest;
        largest = stays ? largest : four[i];
        position = stays ? position : i;
      }
      const std::int64_t at = start + row / 4 * row_step + column;
      if (values != nullptr) values[at] = bias(largest, column);
      if (positions != nullptr) positions[at] = static_cast<std::uint8_t>(position);
    });
  }
};

// Adds the partial sums: blocks of 32 elements by `threads`, which share the splits of an element and then add their
// sums in pairs.
template <class T, int threads>
__global__ void add_splits(const ProductSizes sizes, const std::int32_t splits,
                           const __grid_constant__ ProductResult<T> result) {
  __shared__ T sums[threads][33];
  const std::int64_t matrix = static_cast<std::int64_t>(sizes.rows) * sizes.columns;
  const std::int64_t element = static_cast<std::int64_t>(blockIdx.x) * 32 + threadIdx.x;
  const std::int64_t batch = element / matrix, in_matrix = element % matrix;
  T sum = 0;
  if (batch < sizes.batches) {
    const T* const from = result.partial + batch * splits * matrix + in_matrix;
#pragma unroll 4
    for (std::int32_t split = static_cast<std::int32_t>(threadIdx.y); split < splits; split += threads)
      sum += from[split * matrix];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  for (unsigned step = threads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.y < step) sums[threadIdx.y][threadIdx.x] += sums[threadIdx.y + step][threadIdx.x];
  }
  if (threadIdx.y == 0 && batch < sizes.batches)
    result.store(static_cast<std::int32_t>(batch), static_cast<std::int32_t>(in_matrix / sizes.columns),
                 static_cast<std::int32_t>(in_matrix % sizes.columns), sums[0][threadIdx.x]);
}

}  // namespace pando::cuda
