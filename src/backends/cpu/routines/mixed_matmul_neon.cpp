// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 by the matrix instructions of Arm: compiled and reached only where the machine has them.
#include <arm_neon.h>

#include "backends/cpu/routines/matmul.h"

namespace pando::cpu::bfloat16 {
namespace {

using std::int64_t;

// A block of sums is at most 6 x 4 squares of 2 x 2: with fewer the instructions would wait for each other's sums.
constexpr int most_row_pairs = 6, column_pairs = 4;
constexpr int block_rows = 2 * most_row_pairs, panel = 2 * column_pairs;
// An instruction multiplies 4 elements of two rows by 4 elements of two columns.
constexpr int group = 4;

inline bfloat16x8_t load(const BFloat16* from) { return vld1q_bf16(reinterpret_cast<const bfloat16_t*>(from)); }

// sum += two rows of a, four elements each, times all columns of the panel. With the intrinsic function, GCC 12 copies
// the sums.
inline __attribute__((always_inline)) void add(float32x4_t (&sum)[column_pairs], bfloat16x8_t a,
                                               const bfloat16x8_t (&b)[column_pairs]) {
#pragma GCC unroll 4
  for (int j = 0; j < column_pairs; ++j) asm volatile("bfmmla %0.4s, %1.8h, %2.8h" : "+w"(sum[j]) : "w"(a), "w"(b[j]));
}

inline float32x4_t first_row(float32x4_t a, float32x4_t b) {
  return vreinterpretq_f32_u64(vzip1q_u64(vreinterpretq_u64_f32(a), vreinterpretq_u64_f32(b)));
}

inline float32x4_t second_row(float32x4_t a, float32x4_t b) {
  return vreinterpretq_f32_u64(vzip2q_u64(vreinterpretq_u64_f32(a), vreinterpretq_u64_f32(b)));
}

// A stretch of the inner dimension, all segments counted as one.
struct Stretch {
  int64_t begin, end;
};

inline bfloat16x8_t lower_halves(bfloat16x8_t a, bfloat16x8_t b) {
  return vreinterpretq_bf16_u64(vzip1q_u64(vreinterpretq_u64_bf16(a), vreinterpretq_u64_bf16(b)));
}

inline bfloat16x8_t upper_halves(bfloat16x8_t a, bfloat16x8_t b) {
  return vreinterpretq_bf16_u64(vzip2q_u64(vreinterpretq_u64_bf16(a), vreinterpretq_u64_bf16(b)));
}

// Two rows of a as the instruction takes them: four elements of the one and four of the other, `step` elements further
// the next ones.
inline void put_pair_in_order(const BFloat16* x, const BFloat16* y, int64_t depth, BFloat16* to, int64_t step) {
  auto* out = reinterpret_cast<bfloat16_t*>(to);
  int64_t k = 0;
  for (; k + 2 * group <= depth; k += 2 * group, out += 2 * step) {
    const bfloat16x8_t first = load(x + k), second = load(y + k);
    vst1q_bf16(out, lower_halves(first, second));
    vst1q_bf16(out + step, upper_halves(first, second));
  }
  if (k < depth) {
    const auto *first = reinterpret_cast<const bfloat16_t*>(x + k),
               *second = reinterpret_cast<const bfloat16_t*>(y + k);
    vst1q_bf16(out, vcombine_bf16(vld1_bf16(first), vld1_bf16(second)));
  }
}

// Pairs of rows of a, from `first` on, side by side. A last row without a partner is its own.
void put_in_order(const Product<float, BFloat16>& product, Stretch depth, int64_t first, int row_pairs, BFloat16* to) {
  const int64_t last = product.rows - 1, step = 2 * group * row_pairs;
  for (int64_t k = depth.begin; k < depth.end;) {
    const int64_t s = k / product.depth, next = (s + 1) * product.depth, end = next < depth.end ? next : depth.end;
    const BFloat16* const a = product.a + product.segments[s] + (k - s * product.depth);
    for (int i = 0; i < row_pairs; ++i) {
      const int64_t row = first + 2 * i, partner = row < last ? row + 1 : last;
      put_pair_in_order(a + product.a_rows[row], a + product.a_rows[partner], end - k, to + i * 2 * group, step);
    }
    to += (end - k) * 2 * row_pairs;
    k = end;
  }
}

template <bool accumulate>
inline __attribute__((always_inline)) void write_pair(float* to, float* next, float scale,
                                                      const float32x4_t (&sum)[column_pairs]) {
#pragma GCC unroll 2
  for (int j = 0; j < column_pairs; j += 2) {
    const float32x4_t upper = first_row(sum[j], sum[j + 1]), lower = second_row(sum[j], sum[j + 1]);
    vst1q_f32(to + 2 * j, accumulate ? vfmaq_n_f32(vld1q_f32(to + 2 * j), upper, scale) : upper);
    vst1q_f32(next + 2 * j, accumulate ? vfmaq_n_f32(vld1q_f32(next + 2 * j), lower, scale) : lower);
  }
}

// For a block that reaches beyond the last row or column. Takes the sums as values, because they must not have an
// address.
void write_part(const Product<float, BFloat16>& product, int64_t row, int64_t column, float32x4_t sum0,
                float32x4_t sum1, float32x4_t sum2, float32x4_t sum3) {
  float values[2][panel];
  write_pair<false>(values[0], values[1], 1, {sum0, sum1, sum2, sum3});
  for (int64_t i = 0; i < 2 && row + i < product.rows; ++i) {
    float* const to = product.c + product.c_rows[row + i] + column;
    for (int64_t j = 0; j < panel && column + j < product.columns; ++j) {
      to[j] = product.accumulate ? __builtin_fmaf(product.scale, values[i][j], to[j]) : values[i][j];
    }
  }
}

template <int row_pairs>
inline __attribute__((always_inline)) void write_block(const Product<float, BFloat16>& product, int64_t first,
                                                       int64_t column,
                                                       const float32x4_t (&sum)[row_pairs][column_pairs]) {
  const int64_t* const rows = product.c_rows + first;
  float* const c = product.c + column;
  const bool is_whole = column + panel <= product.columns && first + 2 * row_pairs <= product.rows;
  if (is_whole && !product.accumulate) {
#pragma GCC unroll 6
    for (int i = 0; i < row_pairs; ++i) write_pair<false>(c + rows[2 * i], c + rows[2 * i + 1], 1, sum[i]);
  } else if (is_whole) {
#pragma GCC unroll 6
    for (int i = 0; i < row_pairs; ++i) write_pair<true>(c + rows[2 * i], c + rows[2 * i + 1], product.scale, sum[i]);
  } else {
#pragma GCC unroll 6
    for (int i = 0; i < row_pairs; ++i)
      write_part(product, first + 2 * i, column, sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
  }
}

// Rows in order times one panel.
template <int row_pairs>
void multiply_block(const Product<float, BFloat16>& product, const BFloat16* a, const BFloat16* b, int64_t depth,
                    int64_t first, int64_t column) {
  float32x4_t sum[row_pairs][column_pairs] = {};
  if (product.accumulate) {
    const int64_t last = first + 2 * row_pairs < product.rows ? first + 2 * row_pairs : product.rows;
    for (int64_t row = first; row < last; ++row) __builtin_prefetch(product.c + product.c_rows[row] + column, 1);
  }
  for (int64_t k = 0; k < depth; k += group, a += 2 * group * row_pairs, b += 2 * group * column_pairs) {
    bfloat16x8_t right[column_pairs];
#pragma GCC unroll 4
    for (int j = 0; j < column_pairs; ++j) right[j] = load(b + j * 2 * group);
#pragma GCC unroll 6
    for (int i = 0; i < row_pairs; ++i) add(sum[i], load(a + i * 2 * group), right);
  }
  write_block<row_pairs>(product, first, column, sum);
}

using MultiplyBlock = void (*)(const Product<float, BFloat16>&, const BFloat16*, const BFloat16*, int64_t, int64_t,
                               int64_t);
constexpr MultiplyBlock multiply_block_of[] = {nullptr,           multiply_block<1>, multiply_block<2>,
                                               multiply_block<3>, multiply_block<4>, multiply_block<5>,
                                               multiply_block<6>};

// The deepest block that is put in order, 24 KiB.
constexpr int64_t most_depth = 1024;

void multiply_stretch(const Product<float, BFloat16>& product, Stretch depth) {
  // The element type leaves the array uninitialised.
  alignas(64) bfloat16_t memory[most_depth * block_rows];
  auto* const in_order = reinterpret_cast<BFloat16*>(memory);
  // Blocks of nearly equal height.
  const int64_t pairs = (product.rows + 1) / 2, blocks = (pairs + most_row_pairs - 1) / most_row_pairs;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = pairs * block / blocks;
    const auto row_pairs = static_cast<int>(pairs * (block + 1) / blocks - first);
    put_in_order(product, depth, 2 * first, row_pairs, in_order);
    const BFloat16* b = product.b + depth.begin * panel;
    for (int64_t column = 0; column < product.columns; column += panel, b += product.b_panel) {
      multiply_block_of[row_pairs](product, in_order, b, depth.end - depth.begin, 2 * first, column);
    }
  }
}

void multiply(const Product<float, BFloat16>& product) {
  const int64_t depth = product.segment_count * product.depth;
  Product<float, BFloat16> part = product;
  if (!product.accumulate) part.scale = 1;
  for (int64_t k = 0; k == 0 || k < depth; k += most_depth) {
    multiply_stretch(part, {k, depth - k < most_depth ? depth : k + most_depth});
    part.accumulate = true;
  }
}

inline bfloat16x4_t rounded(float32x4_t value) { return vcvt_bf16_f32(value); }

inline void store(BFloat16* to, bfloat16x4_t value) { vst1_bf16(reinterpret_cast<bfloat16_t*>(to), value); }

// Four rows of four columns, rounded: column j goes to to[j * step].
inline __attribute__((always_inline)) void store_transposed(const float32x4_t (&rows)[group], BFloat16* to,
                                                            int64_t step) {
  const float32x4_t a = vzip1q_f32(rows[0], rows[2]), b = vzip1q_f32(rows[1], rows[3]);
  const float32x4_t c = vzip2q_f32(rows[0], rows[2]), d = vzip2q_f32(rows[1], rows[3]);
  store(to, rounded(vzip1q_f32(a, b)));
  store(to + step, rounded(vzip2q_f32(a, b)));
  store(to + 2 * step, rounded(vzip1q_f32(c, d)));
  store(to + 3 * step, rounded(vzip2q_f32(c, d)));
}

inline float32x4_t load_some(const float* from, int64_t count) {
  if (count >= 4) return vld1q_f32(from);
  float values[4] = {};
  for (int64_t i = 0; i < count; ++i) values[i] = from[i];
  return vld1q_f32(values);
}

int64_t padded(int64_t depth) { return (depth + group - 1) / group * group; }

inline bfloat16x8_t rounded(float32x4_t lower, float32x4_t upper) {
  return vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(lower), upper);
}

// Four rows of a panel, column by column.
inline __attribute__((always_inline)) void store_panel(const bfloat16x8_t (&rows)[group], BFloat16* to) {
  uint16x8_t row[group];
#pragma GCC unroll 4
  for (int i = 0; i < group; ++i) row[i] = vreinterpretq_u16_bf16(rows[i]);
  const uint16x8_t even_lower = vzip1q_u16(row[0], row[2]), odd_lower = vzip1q_u16(row[1], row[3]);
  const uint16x8_t even_upper = vzip2q_u16(row[0], row[2]), odd_upper = vzip2q_u16(row[1], row[3]);
  auto* const out = reinterpret_cast<std::uint16_t*>(to);
  vst1q_u16(out, vzip1q_u16(even_lower, odd_lower));
  vst1q_u16(out + 2 * group, vzip2q_u16(even_lower, odd_lower));
  vst1q_u16(out + 4 * group, vzip1q_u16(even_upper, odd_upper));
  vst1q_u16(out + 6 * group, vzip2q_u16(even_upper, odd_upper));
}

// `depth` rows and `columns` columns of the panel exist; the others are zeros.
inline void pack_part(const float* from, int64_t step, int64_t depth, int64_t columns, BFloat16* to) {
  bfloat16x8_t rows[group];
  for (int i = 0; i < group; ++i) {
    const float* const row = from + i * step;
    rows[i] = i < depth ? rounded(load_some(row, columns), load_some(row + 4, columns - 4))
                        : rounded(vdupq_n_f32(0), vdupq_n_f32(0));
  }
  store_panel(rows, to);
}

inline void pack_whole(const float* from, int64_t step, BFloat16* to) {
  bfloat16x8_t rows[group];
#pragma GCC unroll 4
  for (int i = 0; i < group; ++i) rows[i] = rounded(vld1q_f32(from + i * step), vld1q_f32(from + i * step + 4));
  store_panel(rows, to);
}

void pack(const Packing<float, BFloat16>& packing) {
  for (int64_t k = 0; k < packing.depth; k += group) {
    const float* const from = packing.from + k * packing.step;
    const int64_t depth = packing.depth - k;
    BFloat16* to = packing.to + k * panel;
    for (int64_t column = 0; column < packing.columns; column += panel, to += packing.panel_step) {
      const int64_t columns = packing.columns - column;
      if (depth >= group && columns >= panel) pack_whole(from + column, packing.step, to);
      else pack_part(from + column, packing.step, depth, columns, to);
    }
  }
}

void pack_transposed(const Packing<float, BFloat16>& packing) {
  BFloat16* panel_to = packing.to;
  for (int64_t column = 0; column < packing.columns; column += panel, panel_to += packing.panel_step) {
    for (int64_t j = 0; j < panel; ++j) {
      const float* const from = packing.from + (column + j) * packing.step;
      for (int64_t k = 0; k < padded(packing.depth); k += group) {
        const float32x4_t values =
            column + j < packing.columns && k < packing.depth ? load_some(from + k, packing.depth - k) : vdupq_n_f32(0);
        store(panel_to + k * panel + j * group, rounded(values));
      }
    }
  }
}

void round(const float* from, int64_t count, BFloat16* to) {
  auto* const out = reinterpret_cast<bfloat16_t*>(to);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    vst1q_bf16(out + i, rounded(vld1q_f32(from + i), vld1q_f32(from + i + 4)));
  }
  // Clang 14 cannot store a single element.
  for (; i < count; i += 4) {
    const bfloat16x4_t last = rounded(load_some(from + i, count - i));
    __builtin_memcpy(out + i, &last, static_cast<std::size_t>(count - i < 4 ? count - i : 4) * sizeof(BFloat16));
  }
}

void round_run_transposed(const float* from, int64_t from_step, int64_t rows, int64_t columns, BFloat16* to,
                          int64_t to_step) {
  if (rows < group || columns < group) {
    for (int64_t j = 0; j < rows; ++j) {
      for (int64_t k = 0; k < columns; ++k) round(from + k * from_step + j, 1, to + j * to_step + k);
    }
    return;
  }
  // Squares; the last ones may overlap those before.
  for (int64_t row = 0; row < rows; row += group) {
    const int64_t j = row + group <= rows ? row : rows - group;
    for (int64_t column = 0; column < columns; column += group) {
      const int64_t k = column + group <= columns ? column : columns - group;
      float32x4_t lines[group];
#pragma GCC unroll 4
      for (int i = 0; i < group; ++i) lines[i] = vld1q_f32(from + (k + i) * from_step + j);
      store_transposed(lines, to + j * to_step + k, to_step);
    }
  }
}

void round_transposed(const RoundedTranspose& matrix) {
  BFloat16* to = matrix.to;
  for (int64_t k = 0; k < matrix.columns; k += matrix.run, to += matrix.run_step) {
    const int64_t columns = matrix.columns - k < matrix.run ? matrix.columns - k : matrix.run;
    round_run_transposed(matrix.from + k * matrix.from_step, matrix.from_step, matrix.rows, columns, to,
                         matrix.to_step);
  }
}

}  // namespace

// On a Neoverse V1 they pay wherever the kernels allow them.
extern const MixedMatmulRoutines routines = {.costs = {.product = 0.28},
                                             .gradient_gain = 3.3,
                                             .least_depth = 32,
                                             .block_rows = block_rows,
                                             .panel_vectors = 1,
                                             .lanes = panel,
                                             .depth_step = group,
                                             .best_depth_step = group,
                                             .multiply = multiply,
                                             .pack = pack,
                                             .pack_transposed = pack_transposed,
                                             .round = round,
                                             .round_transposed = round_transposed};

}  // namespace pando::cpu::bfloat16
