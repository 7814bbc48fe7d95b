// Products of bfloat16 by the matrix instructions of Arm: compiled and reached only where the machine has them.
#include <arm_neon.h>

#include "backends/cpu/routines/matrix.h"

namespace pando::cpu::bfloat16 {
namespace {

using std::int64_t;

// A block of sums is 4 x 4 squares of 2 x 2.
constexpr int block_rows = 8, panel = 8, pairs = 4;
// An instruction multiplies 4 elements of two rows by 4 elements of two columns; two of them share each load of a.
constexpr int group = 4, depth_step = 8;

inline bfloat16x8_t load(const BFloat16* from) { return vld1q_bf16(reinterpret_cast<const bfloat16_t*>(from)); }

inline bfloat16x8_t lower_halves(bfloat16x8_t a, bfloat16x8_t b) {
  return vreinterpretq_bf16_u64(vzip1q_u64(vreinterpretq_u64_bf16(a), vreinterpretq_u64_bf16(b)));
}

inline bfloat16x8_t upper_halves(bfloat16x8_t a, bfloat16x8_t b) {
  return vreinterpretq_bf16_u64(vzip2q_u64(vreinterpretq_u64_bf16(a), vreinterpretq_u64_bf16(b)));
}

// sum += two rows of a, four elements each, times all columns of the panel. Of the intrinsic function GCC 12 makes
// copies of the sums.
inline __attribute__((always_inline)) void add(float32x4_t (&sum)[pairs], bfloat16x8_t a,
                                               const bfloat16x8_t (&b)[pairs]) {
#pragma GCC unroll 4
  for (int j = 0; j < pairs; ++j) asm volatile("bfmmla %0.4s, %1.8h, %2.8h" : "+w"(sum[j]) : "w"(a), "w"(b[j]));
}

void write_row(const Product<float, BFloat16>& product, int64_t row, int64_t column, float32x4_t left,
               float32x4_t right) {
  float* const to = product.c + product.c_rows[row] + column;
  const int64_t columns = product.columns - column;
  if (columns >= panel) {
    vst1q_f32(to, product.accumulate ? vaddq_f32(vld1q_f32(to), left) : left);
    vst1q_f32(to + 4, product.accumulate ? vaddq_f32(vld1q_f32(to + 4), right) : right);
    return;
  }
  float values[panel];
  vst1q_f32(values, left);
  vst1q_f32(values + 4, right);
  for (int64_t j = 0; j < columns; ++j) to[j] = product.accumulate ? to[j] + values[j] : values[j];
}

inline float32x4_t first_row(float32x4_t a, float32x4_t b) {
  return vreinterpretq_f32_u64(vzip1q_u64(vreinterpretq_u64_f32(a), vreinterpretq_u64_f32(b)));
}

inline float32x4_t second_row(float32x4_t a, float32x4_t b) {
  return vreinterpretq_f32_u64(vzip2q_u64(vreinterpretq_u64_f32(a), vreinterpretq_u64_f32(b)));
}

// The rows of a block, in pairs, as the instruction takes them: for each step the lower halves, then the upper ones.
struct PairsInPlace {
  const Product<float, BFloat16>& product;
  int64_t row[block_rows];

  // A block without enough rows repeats its last one.
  PairsInPlace(const Product<float, BFloat16>& product, int64_t first) : product(product) {
    for (int r = 0; r < block_rows; ++r) {
      row[r] = product.a_rows[first + r < product.rows ? first + r : product.rows - 1];
    }
  }
  const BFloat16* segment(int64_t s) const { return product.a + product.segments[s]; }
  static constexpr int64_t step = depth_step;
  inline __attribute__((always_inline)) void load_pair(const BFloat16* a, int i, bfloat16x8_t& lower,
                                                       bfloat16x8_t& upper) const {
    const bfloat16x8_t x = load(a + row[2 * i]), y = load(a + row[2 * i + 1]);
    lower = lower_halves(x, y);
    upper = upper_halves(x, y);
  }
};

// The same, put into this order before: it pays where several panels meet the block.
struct PairsInOrder {
  const BFloat16* pairs_of_block;
  int64_t depth;

  const BFloat16* segment(int64_t s) const { return pairs_of_block + s * depth * block_rows; }
  static constexpr int64_t step = depth_step * block_rows;
  inline __attribute__((always_inline)) void load_pair(const BFloat16* a, int i, bfloat16x8_t& lower,
                                                       bfloat16x8_t& upper) const {
    lower = load(a + i * 2 * group);
    upper = load(a + group * block_rows + i * 2 * group);
  }
};

void put_in_order(const Product<float, BFloat16>& product, int64_t first, BFloat16* to) {
  const PairsInPlace rows(product, first);
  for (int64_t s = 0; s < product.segment_count; ++s) {
    const BFloat16* a = rows.segment(s);
    for (int64_t k = 0; k < product.depth; k += depth_step, a += depth_step, to += PairsInOrder::step) {
      for (int i = 0; i < pairs; ++i) {
        bfloat16x8_t lower, upper;
        rows.load_pair(a, i, lower, upper);
        vst1q_bf16(reinterpret_cast<bfloat16_t*>(to + i * 2 * group), lower);
        vst1q_bf16(reinterpret_cast<bfloat16_t*>(to + group * block_rows + i * 2 * group), upper);
      }
    }
  }
}

template <class Rows>
void multiply_block(const Product<float, BFloat16>& product, const Rows& rows, int64_t first, int64_t column,
                    const BFloat16* b) {
  float32x4_t sum[pairs][pairs] = {};
  for (int64_t s = 0; s < product.segment_count; ++s) {
    const BFloat16* a = rows.segment(s);
    for (int64_t k = 0; k < product.depth; k += depth_step, a += Rows::step, b += depth_step * panel) {
      bfloat16x8_t right[pairs], upper[pairs];
#pragma GCC unroll 4
      for (int j = 0; j < pairs; ++j) right[j] = load(b + j * 2 * group);
#pragma GCC unroll 4
      for (int i = 0; i < pairs; ++i) {
        bfloat16x8_t lower;
        rows.load_pair(a, i, lower, upper[i]);
        add(sum[i], lower, right);
      }
#pragma GCC unroll 4
      for (int j = 0; j < pairs; ++j) right[j] = load(b + group * panel + j * 2 * group);
#pragma GCC unroll 4
      for (int i = 0; i < pairs; ++i) add(sum[i], upper[i], right);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < pairs; ++i) {
    if (first + 2 * i < product.rows) {
      write_row(product, first + 2 * i, column, first_row(sum[i][0], sum[i][1]), first_row(sum[i][2], sum[i][3]));
    }
    if (first + 2 * i + 1 < product.rows) {
      write_row(product, first + 2 * i + 1, column, second_row(sum[i][0], sum[i][1]), second_row(sum[i][2], sum[i][3]));
    }
  }
}

template <class Rows>
void multiply_panels(const Product<float, BFloat16>& product, const Rows& rows, int64_t first) {
  const BFloat16* b = product.b;
  for (int64_t column = 0; column < product.columns; column += panel, b += product.b_panel) {
    multiply_block(product, rows, first, column, b);
  }
}

// The deepest block that is put in order, 16 KiB, and the fewest panels that must meet it.
constexpr int64_t most_ordered_depth = 1024, fewest_panels = 3;

void multiply(const Product<float, BFloat16>& product) {
  const int64_t depth = product.segment_count * product.depth;
  const bool orders = depth <= most_ordered_depth && product.columns > (fewest_panels - 1) * panel;
  // Of a type that is not cleared.
  alignas(64) bfloat16_t memory[most_ordered_depth * block_rows];
  auto* const in_order = reinterpret_cast<BFloat16*>(memory);
  for (int64_t row = 0; row < product.rows; row += block_rows) {
    if (orders) {
      put_in_order(product, row, in_order);
      multiply_panels(product, PairsInOrder{in_order, product.depth}, row);
    } else {
      multiply_panels(product, PairsInPlace(product, row), row);
    }
  }
}

inline bfloat16x4_t rounded(float32x4_t value) { return vcvt_bf16_f32(value); }

// Four rows of `from`, and four columns: as a group of the panel has them, column by column.
inline void store_group(const float32x4_t (&rows)[group], BFloat16* to) {
  const float32x4_t a = vzip1q_f32(rows[0], rows[2]), b = vzip1q_f32(rows[1], rows[3]);
  const float32x4_t c = vzip2q_f32(rows[0], rows[2]), d = vzip2q_f32(rows[1], rows[3]);
  auto* const out = reinterpret_cast<bfloat16_t*>(to);
  vst1_bf16(out, rounded(vzip1q_f32(a, b)));
  vst1_bf16(out + 4, rounded(vzip2q_f32(a, b)));
  vst1_bf16(out + 8, rounded(vzip1q_f32(c, d)));
  vst1_bf16(out + 12, rounded(vzip2q_f32(c, d)));
}

inline float32x4_t load_some(const float* from, int64_t count) {
  if (count >= 4) return vld1q_f32(from);
  float values[4] = {};
  for (int64_t i = 0; i < count; ++i) values[i] = from[i];
  return vld1q_f32(values);
}

int64_t padded(int64_t depth) { return (depth + depth_step - 1) / depth_step * depth_step; }

void pack(const Packing<float, BFloat16>& packing) {
  for (int64_t k = 0; k < padded(packing.depth); k += group) {
    BFloat16* to = packing.to + k * panel;
    for (int64_t column = 0; column < packing.columns; column += panel, to += packing.panel_step) {
      for (int64_t half = 0; half < panel; half += group) {
        float32x4_t rows[group];
#pragma GCC unroll 4
        for (int i = 0; i < group; ++i) {
          rows[i] =
              k + i < packing.depth && column + half < packing.columns
                  ? load_some(packing.from + (k + i) * packing.step + column + half, packing.columns - column - half)
                  : vdupq_n_f32(0);
        }
        store_group(rows, to + half * group);
      }
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
        vst1_bf16(reinterpret_cast<bfloat16_t*>(panel_to + k * panel + j * group), rounded(values));
      }
    }
  }
}

void round(const float* from, int64_t count, BFloat16* to) {
  auto* const out = reinterpret_cast<bfloat16_t*>(to);
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    vst1q_bf16(out + i, vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(vld1q_f32(from + i)), vld1q_f32(from + i + 4)));
  }
  // Clang 14 cannot store a single one.
  for (; i < count; i += 4) {
    const bfloat16x4_t last = rounded(load_some(from + i, count - i));
    __builtin_memcpy(out + i, &last, static_cast<std::size_t>(count - i < 4 ? count - i : 4) * sizeof(BFloat16));
  }
}

void round_transposed(const float* from, int64_t from_step, int64_t rows, int64_t columns, BFloat16* to,
                      int64_t to_step) {
  int64_t j = 0;
  for (; j + group <= rows; j += group) {
    int64_t k = 0;
    for (; k + group <= columns; k += group) {
      float32x4_t lines[group];
#pragma GCC unroll 4
      for (int i = 0; i < group; ++i) lines[i] = vld1q_f32(from + (k + i) * from_step + j);
      BFloat16 square[group * group];
      store_group(lines, square);
#pragma GCC unroll 4
      for (int i = 0; i < group; ++i)
        __builtin_memcpy(to + (j + i) * to_step + k, square + i * group, sizeof(square) / group);
    }
    for (; k < columns; ++k) {
      for (int i = 0; i < group; ++i) round(from + k * from_step + j + i, 1, to + (j + i) * to_step + k);
    }
  }
  for (; j < rows; ++j) {
    for (int64_t k = 0; k < columns; ++k) round(from + k * from_step + j, 1, to + j * to_step + k);
  }
}

}  // namespace

extern const MixedMatrixRoutines routines = {.block_rows = block_rows,
                                             .panel_vectors = 1,
                                             .lanes = panel,
                                             .depth_step = depth_step,
                                             .multiply = multiply,
                                             .pack = pack,
                                             .pack_transposed = pack_transposed,
                                             .round = round,
                                             .round_transposed = round_transposed};

}  // namespace pando::cpu::bfloat16
