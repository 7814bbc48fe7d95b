// SPDX-License-Identifier: Apache-2.0
// Sums of products over rows and panels of columns: the inner loops of matmul and convolution.
#pragma once
#include <pando/base/dtype.h>

#include <cstdint>

namespace pando::cpu {

// T is the type of the results, S the type of the factors: the same, or bfloat16 for float32 sums. For i < rows and
// j < columns:
//   c[c_rows[i] + j] = sum over s < segment_count and k < depth of
//                      a[a_rows[i] + segments[s] + k * a_step] * b(s * depth + k, j)
//   where b(k, j) = b[j / panel * b_panel + k * b_step + j % panel]
// With `accumulate` the sum times `scale` is added to c instead. Each element is summed in the order of s and k,
// whatever the other sizes, so any split of rows and columns gives the same bits.
//
// With `b_segments`, the rows of b that segment s meets begin at b_segments[s], and are b_step apart. multiply_columns
// takes none. Products of bfloat16 take them only if they prefer equal distances and the depth is a multiple of
// best_depth_step.
template <class T, class S = T>
struct Product {
  const S* a = nullptr;
  const std::int64_t* a_rows = nullptr;
  const std::int64_t* segments = nullptr;
  std::int64_t segment_count = 0;
  std::int64_t depth = 0;
  std::int64_t a_step = 1;
  // Rows of b are readable up to the next whole vector.
  const S* b = nullptr;
  std::int64_t b_step = 0;
  const std::int64_t* b_segments = nullptr;
  std::int64_t b_panel = 0;
  std::int64_t panel = 0;
  T* c = nullptr;
  const std::int64_t* c_rows = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool accumulate = false;
  T scale = 1;
};

// A matrix to be laid out as panels: to[j / panel * panel_step + k * panel + j % panel] = from(k, j), zeros after the
// last column. Only the routines know the layout within bfloat16 panels.
template <class T, class S = T>
struct Packing {
  const T* from = nullptr;
  // Elements between rows k, or between columns j if transposed; the other index has step 1.
  std::int64_t step = 0;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  std::int64_t panel = 0;
  S* to = nullptr;
  std::int64_t panel_step = 0;
};

template <class T>
struct MatmulRoutinesOf {
  // The largest block that stays in registers: rows, and vectors of `lanes` columns. A panel has at most as many
  // columns.
  std::int64_t block_rows;
  std::int64_t panel_vectors;
  std::int64_t lanes;
  // Rows of a are multiplied faster if they lie side by side.
  bool prefers_side_by_side;
  // A core reads ahead so far that tiles which write parts of the same rows disturb each other.
  bool prefers_whole_rows;
  void (*multiply)(const Product<T>& product);
  // The same with a[... + j] in place of a[...] and b(k, j) = b[k * b_step + j]: each column by itself.
  void (*multiply_columns)(const Product<T>& product);
  void (*pack)(const Packing<T>& packing);
  void (*pack_transposed)(const Packing<T>& packing);
};

// A matrix to be rounded, whose rows become columns: to[j * to_step + k / run * run_step + k % run] =
// from[k * from_step + j] for j < rows, k < columns. So a column may be written in runs with gaps between them.
struct RoundedTranspose {
  const float* from = nullptr;
  std::int64_t from_step = 0;
  std::int64_t rows = 0, columns = 0;
  BFloat16* to = nullptr;
  std::int64_t to_step = 0;
  std::int64_t run = 0, run_step = 0;
};

// What products of bfloat16 cost, as kernels/mixed_cost.h adds it up. One multiply-add of a float32 product costs 1.
struct MixedCosts {
  double product = 0, rounded = 0, packed = 0, transposed = 0, row = 0, result = 0;
};

// Products of float32 matrices whose factors are rounded to bfloat16. In a Product a_step is 1 and `depth` a multiple
// of `depth_step`; `panel` is one or more times `lanes`, up to `panel_vectors` times, and b_step the same.
struct MixedMatmulRoutines {
  MixedCosts costs;
  // The speed of the products of a dense bfloat16 gradient of a convolution, relative to a sparse float32 one. 1: never
  // prefer it.
  double gradient_gain = 1;
  // The same for batches that fill groups of image_group images, which are multiplied together. image_group is 0 if
  // there are no such groups.
  double group_gain = 1;
  std::int64_t image_group = 0;
  // Sums shorter than this wait for the memory of their results.
  std::int64_t least_depth;
  std::int64_t block_rows;
  std::int64_t panel_vectors;
  std::int64_t lanes;
  std::int64_t depth_step;
  // A multiple of depth_step. Where there is a choice, `depth` should be a multiple of this.
  std::int64_t best_depth_step;
  // Whether many rows of a at equal distances are read where they are, while others are copied. Rows that only keep the
  // distances equal have a negative number in c_rows, and no result.
  bool prefers_equal_distances = false;
  void (*multiply)(const Product<float, BFloat16>& product);
  // As above, also with zeros after the last row, up to the next multiple of `depth_step`.
  void (*pack)(const Packing<float, BFloat16>& packing);
  void (*pack_transposed)(const Packing<float, BFloat16>& packing);
  void (*round)(const float* from, std::int64_t count, BFloat16* to);
  void (*round_transposed)(const RoundedTranspose& matrix);
};

struct MatmulRoutines {
  MatmulRoutinesOf<float> float32;
  MatmulRoutinesOf<double> float64;
  // Null where they would not be faster, and where float32 was asked for.
  const MixedMatmulRoutines* mixed = nullptr;
};

}  // namespace pando::cpu
