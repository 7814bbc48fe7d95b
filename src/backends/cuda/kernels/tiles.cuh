// SPDX-License-Identifier: Apache-2.0
// Products by tiles: a block computes a tile of the result from tiles of both factors in shared memory. There are two
// tiles of each factor: while one is multiplied, the next is on its way through registers. Each thread holds a part of
// the result in registers. Where the result has few tiles, the depth is split too: partial sums go to scratch memory,
// and a second kernel adds them in the order of the splits. The order of all sums depends on the sizes alone.
#pragma once
#include "backends/cuda/kernels/factors.h"
#include "backends/cuda/kernels/product_result.cuh"
#include "backends/cuda/launch.h"

namespace pando::cuda {

// Elements that are read at once.
template <class T, int count>
struct alignas(count * sizeof(T) < 16 ? count * sizeof(T) : 16) Neighbours {
  T element[count];
};
template <class T>
using FourElements = Neighbours<T, 4>;

// `width` neighbours of a factor, of which the first is at this line and depth: 1, or 4 where the factor allows it.
template <int width, class T, class Factor>
__device__ void read_elements(const Factor& factor, const T* data, const typename Factor::Line& line,
                              const typename Factor::Depth& depth, T* values) {
  using Values = Neighbours<T, width>;
  Values found = {};
  if constexpr (requires { factor.positions; }) {
    using Positions = Neighbours<std::uint8_t, width>;
    const auto element = factor.element(line, depth);
    if (element.offset >= 0) {
      found = *reinterpret_cast<const Values*>(data + element.offset);
      const Positions positions = *reinterpret_cast<const Positions*>(factor.positions + element.offset);
#pragma unroll
      for (int i = 0; i < width; ++i)
        if (positions.element[i] != element.position) found.element[i] = T(0);
    }
  } else {
    const std::int64_t offset = factor.offset(line, depth);
    if (offset >= 0) found = *reinterpret_cast<const Values*>(data + offset);
  }
#pragma unroll
  for (int i = 0; i < width; ++i) values[i] = found.element[i];
}

// Carries tiles of a factor to shared memory. A thread reads `width` neighbours at a time, next to those of other
// threads, and has the same lines in each tile.
template <class T, class Factor, int lines, class Tile, int width>
class TileReader {
 public:
  __device__ TileReader(const Factor& factor, const T* data, std::int32_t first_line, std::int32_t line_count)
      : factor_(factor), data_(data) {
#pragma unroll
    for (int i = 0; i < own_lines; ++i) {
      const std::int32_t line = first_line + line_of(i);
      if (line < line_count && has_part()) inside_ |= 1u << i;
      lines_[i] = factor.line(line < line_count ? line : 0);
    }
  }

  // Reads the tile from depth `first` on into registers; zeros from `last` on.
  __device__ void read(std::int32_t first, std::int32_t last) {
#pragma unroll
    for (int j = 0; j < own_depths; ++j) {
      const std::int32_t at = first + depth_of(j);
      const auto depth = factor_.depth(at < last ? at : 0);
#pragma unroll
      for (int i = 0; i < own_lines; ++i) {
        T* const values = values_[i + j];
#pragma unroll
        for (int k = 0; k < width; ++k) values[k] = T(0);
        if (at < last && (inside_ >> i & 1u) != 0) read_elements<width>(factor_, data_, lines_[i], depth, values);
      }
    }
  }

  // Calls put(depth, line, value) for each element of the tile that the thread has read.
  template <class Put>
  __device__ void write(Put put) const {
    if (!has_part()) return;
#pragma unroll
    for (int j = 0; j < own_depths; ++j)
#pragma unroll
      for (int i = 0; i < own_lines; ++i)
#pragma unroll
        for (int k = 0; k < width; ++k)
          put(depth_of(j) + (by_depth ? k : 0), line_of(i) + (by_depth ? 0 : k), values_[i + j][k]);
  }

 private:
  static constexpr bool by_depth = Factor::contiguous_depth;
  // What all threads read at once may be more than the tile.
  static constexpr int reads = lines * Tile::depth / width;
  static constexpr int count = (reads + Tile::threads - 1) / Tile::threads;
  // One of both is 1.
  static constexpr int own_lines = by_depth ? count : 1, own_depths = by_depth ? 1 : count;
  // Threads side by side along the neighbours.
  static constexpr int along = (by_depth ? Tile::depth : lines) / width;
  static_assert(Tile::threads % along == 0 && (reads % Tile::threads == 0 || reads < Tile::threads));

  __device__ static bool has_part() { return reads >= Tile::threads || static_cast<int>(threadIdx.x) < reads; }
  __device__ static int line_of(int i) {
    const int thread = static_cast<int>(threadIdx.x);
    return by_depth ? thread / along + i * (Tile::threads / along) : thread % along * width;
  }
  __device__ static int depth_of(int j) {
    const int thread = static_cast<int>(threadIdx.x);
    return by_depth ? thread % along * width : thread / along + j * (Tile::threads / along);
  }

  const Factor& factor_;
  const T* data_;
  unsigned inside_ = 0;
  typename Factor::Line lines_[own_lines];
  T values_[count][width];
};

// A thread's part of the tile: fours of neighbours, which lie apart from each other so that a warp reads all banks.
template <class T, class Tile>
class ThreadTile {
 public:
  // Tiles are [depth][lines]. Rows are longer by one access, so that stores along the depth meet other banks.
  using Element = T;
  static constexpr int a_elements = Tile::depth * (Tile::rows + 4), b_elements = Tile::depth * (Tile::columns + 4);

  template <int lines>
  __device__ static void put(T* tile, int depth, int line, T value) {
    tile[depth * (lines + 4) + line] = value;
  }

  __device__ void multiply(const T* a, const T* b) {
    constexpr int a_row = Tile::rows + 4, b_row = Tile::columns + 4;
#pragma unroll
    for (int depth = 0; depth < Tile::depth; ++depth) {
      FourElements<T> left[row_fours], right[column_fours];
#pragma unroll
      for (int i = 0; i < row_fours; ++i)
        left[i] = *reinterpret_cast<const FourElements<T>*>(a + depth * a_row + row_of(4 * i));
#pragma unroll
      for (int j = 0; j < column_fours; ++j)
        right[j] = *reinterpret_cast<const FourElements<T>*>(b + depth * b_row + column_of(4 * j));
#pragma unroll
      for (int i = 0; i < Tile::thread_rows; ++i)
#pragma unroll
        for (int j = 0; j < Tile::thread_columns; ++j)
          sums_[i][j] += left[i / 4].element[i % 4] * right[j / 4].element[j % 4];
    }
  }

  // Calls store(row of the tile, column of the tile, sum).
  template <class Store>
  __device__ void store(Store store) const {
#pragma unroll
    for (int i = 0; i < Tile::thread_rows; ++i)
#pragma unroll
      for (int j = 0; j < Tile::thread_columns; ++j) store(row_of(i), column_of(j), sums_[i][j]);
  }

  // Calls store(first row, column, sums) for four rows that follow each other, the first a multiple of 4.
  template <class Store>
  __device__ void store_fours(Store store) const {
#pragma unroll
    for (int i = 0; i < row_fours; ++i)
#pragma unroll
      for (int j = 0; j < Tile::thread_columns; ++j) {
        const T four[4] = {sums_[4 * i][j], sums_[4 * i + 1][j], sums_[4 * i + 2][j], sums_[4 * i + 3][j]};
        store(row_of(4 * i), column_of(j), four);
      }
  }

 private:
  static constexpr int row_fours = Tile::thread_rows / 4, column_fours = Tile::thread_columns / 4;
  static_assert(Tile::thread_rows % 4 == 0 && Tile::thread_columns % 4 == 0);

  __device__ static int row_of(int i) {
    const int place = static_cast<int>(threadIdx.x) / Tile::threads_across;
    return i / 4 * (Tile::rows / row_fours) + place * 4 + i % 4;
  }
  __device__ static int column_of(int j) {
    const int place = static_cast<int>(threadIdx.x) % Tile::threads_across;
    return j / 4 * (Tile::columns / column_fours) + place * 4 + j % 4;
  }

  T sums_[Tile::thread_rows][Tile::thread_columns] = {};
};

// `Sums` is the block's way to multiply tiles: what a thread has of the result, and the layout of shared memory.
// `Result` takes the sums of the block. Both factors are read `width` elements at a time.
template <class T, class Tile, class Sums, int width, class A, class B, class Result>
__global__ void __launch_bounds__(Tile::threads)
    multiply_tiles(const __grid_constant__ A a, const T* a_data, const __grid_constant__ B b, const T* b_data,
                   const ProductSizes sizes, const std::int32_t splits, const __grid_constant__ Result result) {
  using Element = typename Sums::Element;
  __shared__ __align__(16) Element a_tiles[2][Sums::a_elements];
  __shared__ __align__(16) Element b_tiles[2][Sums::b_elements];
  const TilePlace place = tile_place<Tile>(sizes, splits, blockIdx.x);
  TileReader<T, A, Tile::rows, Tile, width> a_reader(a, a_data + a.start(place.batch), place.row, sizes.rows);
  TileReader<T, B, Tile::columns, Tile, width> b_reader(b, b_data + b.start(place.batch), place.column, sizes.columns);
  const auto read = [&](std::int32_t depth) {
    a_reader.read(depth, place.last_depth);
    b_reader.read(depth, place.last_depth);
  };
  const auto write = [&](int to) {
    a_reader.write(
        [&](int depth, int line, T value) { Sums::template put<Tile::rows>(a_tiles[to], depth, line, value); });
    b_reader.write(
        [&](int depth, int line, T value) { Sums::template put<Tile::columns>(b_tiles[to], depth, line, value); });
  };
  Sums sums;
  if (place.first_depth < place.last_depth) {
    read(place.first_depth);
    write(0);
  }
  __syncthreads();
  int current = 0;
  for (std::int32_t depth = place.first_depth; depth < place.last_depth; depth += Tile::depth, current ^= 1) {
    const bool more = depth + Tile::depth < place.last_depth;
    if (more) read(depth + Tile::depth);
    sums.multiply(a_tiles[current], b_tiles[current]);
    if (more) write(current ^ 1);
    __syncthreads();
  }
  result.write(sums, place, sizes, splits);
}

// A thread makes one element: for many small matrices, of which tiles would be mostly empty. Neighbours are those of
// the results of convolutions: columns of one group after the other.
template <class T, class A, class B>
__global__ void multiply_elements(const __grid_constant__ A a, const T* a_data, const __grid_constant__ B b,
                                  const T* b_data, const ProductSizes sizes,
                                  const __grid_constant__ ProductResult<T> result) {
  const std::int64_t in_row = static_cast<std::int64_t>(sizes.batches) * sizes.columns;
  for (std::int64_t i = first_element(); i < in_row * sizes.rows; i += element_stride()) {
    const auto row = static_cast<std::int32_t>(i / in_row);
    const auto batch = static_cast<std::int32_t>(i % in_row / sizes.columns);
    const auto column = static_cast<std::int32_t>(i % sizes.columns);
    const T *const from_a = a_data + a.start(batch), *const from_b = b_data + b.start(batch);
    const auto a_line = a.line(row);
    const auto b_line = b.line(column);
    T sum = T(0);
    for (std::int32_t depth = 0; depth < sizes.depth; ++depth) {
      T left, right;
      read_elements<1>(a, from_a, a_line, a.depth(depth), &left);
      read_elements<1>(b, from_b, b_line, b.depth(depth), &right);
      sum += left * right;
    }
    result.store(batch, row, column, sum);
  }
}

}  // namespace pando::cuda
