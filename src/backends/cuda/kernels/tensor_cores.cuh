// SPDX-License-Identifier: Apache-2.0
// Tiles multiplied by tensor cores: factors are rounded to bfloat16 or tf32 on their way to shared memory, sums are
// float32. A warp multiplies 16 rows by 8 columns over a depth of 16, or 8 in tf32, at once.
#pragma once
#include <cuda_bf16.h>

#include <cstdint>

namespace pando::cuda {

// sums += a * b. Lane l has, with g = l / 4 and q = l % 4, of a: rows g and g + 8 at depths 2q and 2q + 1, then the
// same at depths 2q + 8 and 2q + 9; of b: column g at the same depths; of the sums: columns 2q and 2q + 1 of rows g and
// g + 8.
#ifndef PANDO_EMULATED_TENSOR_CORES
__device__ inline void multiply_add(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// The same for tf32, with one depth where there are two of bfloat16: q and q + 4.
__device__ inline void multiply_add_tf32(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline std::uint32_t rounded_to_tf32(float value) {
  std::uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}
#endif

// How factors are kept: elements, of which a word holds a few.
struct Bfloat16Factors {
  using Element = __nv_bfloat16;
  static constexpr int per_word = 2;
  __device__ static Element round(float value) { return __float2bfloat16_rn(value); }
  __device__ static void multiply(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    multiply_add(sums, a, b);
  }
};
struct Tf32Factors {
  using Element = std::uint32_t;
  static constexpr int per_word = 1;
  __device__ static Element round(float value) { return rounded_to_tf32(value); }
  __device__ static void multiply(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    multiply_add_tf32(sums, a, b);
  }
};

template <class Tile, class Factors = Bfloat16Factors>
class WarpTile {
 public:
  // Tiles are [lines][depth]. A line is longer by 4 words, so that the lanes of a warp read from all banks.
  using Element = typename Factors::Element;
  static constexpr int line_elements = Tile::depth + 4 * Factors::per_word;
  static constexpr int a_elements = Tile::rows * line_elements, b_elements = Tile::columns * line_elements;

  template <int lines>
  __device__ static void put(Element* tile, int depth, int line, float value) {
    tile[line * line_elements + depth] = Factors::round(value);
  }

  __device__ void multiply(const Element* a, const Element* b) {
#pragma unroll
    for (int depth = 0; depth < Tile::depth; depth += 2 * half) {
      std::uint32_t left[row_tiles][4], right[column_tiles][2];
#pragma unroll
      for (int i = 0; i < row_tiles; ++i)
#pragma unroll
        for (int part = 0; part < 4; ++part)
          left[i][part] = word(a, first_row() + i * 16 + part % 2 * 8 + group(), depth + part / 2 * half);
#pragma unroll
      for (int j = 0; j < column_tiles; ++j)
#pragma unroll
        for (int part = 0; part < 2; ++part)
          right[j][part] = word(b, first_column() + j * 8 + group(), depth + part * half);
#pragma unroll
      for (int i = 0; i < row_tiles; ++i)
#pragma unroll
        for (int j = 0; j < column_tiles; ++j) Factors::multiply(sums_[i][j], left[i], right[j]);
    }
  }

  // Calls store(row of the tile, column of the tile, sum).
  template <class Store>
  __device__ void store(Store store) const {
#pragma unroll
    for (int i = 0; i < row_tiles; ++i)
#pragma unroll
      for (int j = 0; j < column_tiles; ++j)
#pragma unroll
        for (int part = 0; part < 4; ++part)
          store(first_row() + i * 16 + part / 2 * 8 + group(), first_column() + j * 8 + 2 * in_group() + part % 2,
                sums_[i][j][part]);
  }

 private:
  static constexpr int row_tiles = Tile::warp_rows / 16, column_tiles = Tile::warp_columns / 8;
  static_assert(Tile::warp_rows % 16 == 0 && Tile::warp_columns % 8 == 0);
  // Half of the depth that is multiplied at once: a word of each of the four lanes that share a line.
  static constexpr int half = 4 * Factors::per_word;

  __device__ static int group() { return static_cast<int>(threadIdx.x) % 32 / 4; }
  __device__ static int in_group() { return static_cast<int>(threadIdx.x) % 4; }
  __device__ static int first_row() {
    return static_cast<int>(threadIdx.x) / 32 / Tile::warps_across * Tile::warp_rows;
  }
  __device__ static int first_column() {
    return static_cast<int>(threadIdx.x) / 32 % Tile::warps_across * Tile::warp_columns;
  }
  // The word of this lane in a line, from that depth on.
  __device__ static std::uint32_t word(const Element* tile, int line, int depth) {
    return *reinterpret_cast<const std::uint32_t*>(tile + line * line_elements + depth +
                                                   Factors::per_word * in_group());
  }

  float sums_[row_tiles][column_tiles][4] = {};
};

}  // namespace pando::cuda
