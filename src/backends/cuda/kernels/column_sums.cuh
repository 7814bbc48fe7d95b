// SPDX-License-Identifier: Apache-2.0
// Sums over the rows of a matrix, two for each column, in two kernels: chunks of rows give partial sums, and the next
// kernel adds those in the order of the chunks.
#pragma once
#include "backends/cuda/launch.h"

namespace pando::cuda {

// A matrix [rows, columns] whose columns are summed: blocks of column_threads columns by row_threads rows.
inline constexpr int column_threads = 32, row_threads = 8;

struct ColumnSums {
  std::int64_t rows, columns, chunks;

  ColumnSums(std::int64_t row_count, std::int64_t column_count)
      : rows(row_count), columns(column_count), chunks(std::clamp<std::int64_t>(row_count / 64, 1, 128)) {}

  dim3 grid() const { return dim3(blocks_for(columns, column_threads, 0x7fffffff), static_cast<unsigned>(chunks)); }
  // Partial sums [chunk, column], two of them.
  std::size_t scratch_bytes() const { return static_cast<std::size_t>(2 * chunks * columns) * sizeof(double); }
};

// Two sums that are made together.
struct Pair {
  double first = 0, second = 0;
  __device__ void operator+=(const Pair& other) {
    first += other.first;
    second += other.second;
  }
};

// The sum over the row threads of a block, for the column of the calling thread; all of them get it.
__device__ inline Pair sum_of_rows(Pair own) {
  __shared__ Pair sums[row_threads][column_threads + 1];
  sums[threadIdx.y][threadIdx.x] = own;
  for (unsigned step = row_threads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.y < step) sums[threadIdx.y][threadIdx.x] += sums[threadIdx.y + step][threadIdx.x];
  }
  __syncthreads();
  const Pair sum = sums[0][threadIdx.x];
  __syncthreads();
  return sum;
}

__device__ inline std::int64_t own_column() {
  return static_cast<std::int64_t>(blockIdx.x) * column_threads + threadIdx.x;
}

// Calls f(row) for the rows of this thread in the chunk of its block.
template <class F>
__device__ void for_chunk(const ColumnSums& sums, F f) {
  const std::int64_t first = sums.rows * blockIdx.y / sums.chunks, last = sums.rows * (blockIdx.y + 1) / sums.chunks;
  for (std::int64_t row = first + threadIdx.y; row < last; row += row_threads) f(row);
}

// The partial sums of term(row, column).
template <class Term>
__device__ void sum_chunk(const ColumnSums& sums, Pair* partial, Term term) {
  const std::int64_t column = own_column();
  Pair own;
  if (column < sums.columns) for_chunk(sums, [&](std::int64_t row) { own += term(row, column); });
  const Pair sum = sum_of_rows(own);
  if (threadIdx.y == 0 && column < sums.columns) partial[blockIdx.y * sums.columns + column] = sum;
}

// What the partial sums of this thread's column add up to.
__device__ inline Pair sum_of_chunks(const ColumnSums& sums, const Pair* partial) {
  const std::int64_t column = own_column();
  Pair own;
  if (column < sums.columns)
    for (std::int64_t chunk = threadIdx.y; chunk < sums.chunks; chunk += row_threads)
      own += partial[chunk * sums.columns + column];
  return sum_of_rows(own);
}

}  // namespace pando::cuda
