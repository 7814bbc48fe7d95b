// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 by AVX512_BF16: compiled and reached only where the machine has it.
#include "backends/cpu/routines/mixed_pairs.h"

namespace pando::cpu {
namespace {

using std::int64_t;

// A block of sums is 12 rows of two vectors; with more the addresses of the rows would fill the registers.
constexpr int block_rows = 12, panel_vectors = 2;
constexpr int depth_step = 2;

template <int rows, int vectors>
inline void write_block(const Product<float, BFloat16>& product, int64_t first, int64_t column,
                        const __m512 (&sum)[rows][vectors]) {
  const float scale = product.accumulate ? product.scale : 1;
  PANDO_UNROLL
  for (int r = 0; r < rows; ++r) {
    float* const to = product.c + product.c_rows[first + r] + column;
    PANDO_UNROLL
    for (int v = 0; v < vectors; ++v) {
      const __mmask16 mask = first_lanes(product.columns - column - v * pair_lanes);
      const __m512 before = _mm512_maskz_loadu_ps(product.accumulate ? mask : __mmask16{0}, to + v * pair_lanes);
      _mm512_mask_storeu_ps(to + v * pair_lanes, mask, _mm512_fmadd_ps(_mm512_set1_ps(scale), sum[r][v], before));
    }
  }
}

template <int rows, int vectors>
void multiply_block(const Product<float, BFloat16>& product, int64_t first, int64_t column, const BFloat16* b) {
  __m512 sum[rows][vectors] = {};
  for (int64_t s = 0; s < product.segment_count; ++s) {
    const BFloat16* row[rows];
    PANDO_UNROLL
    for (int r = 0; r < rows; ++r) row[r] = product.a + product.a_rows[first + r] + product.segments[s];
    for (int64_t k = 0; k < product.depth; k += depth_step, b += depth_step * product.panel) {
      __m512bh right[vectors];
      PANDO_UNROLL
      for (int v = 0; v < vectors; ++v) {
        right[v] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + v * pair_elements));
      }
      PANDO_UNROLL
      for (int r = 0; r < rows; ++r) {
        std::int32_t pair;
        __builtin_memcpy(&pair, row[r] + k, sizeof pair);
        const auto left = reinterpret_cast<__m512bh>(splat(pair));
        PANDO_UNROLL
        for (int v = 0; v < vectors; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], left, right[v]);
      }
    }
  }
  write_block<rows, vectors>(product, first, column, sum);
}

template <int rows>
void multiply_rows(const Product<float, BFloat16>& product, int64_t first) {
  const BFloat16* b = product.b;
  for (int64_t column = 0; column < product.columns; column += product.panel, b += product.b_panel) {
    // The second vector of a panel may be missing or have no columns.
    if (product.panel == pair_lanes || product.columns - column <= pair_lanes) {
      multiply_block<rows, 1>(product, first, column, b);
    } else {
      multiply_block<rows, panel_vectors>(product, first, column, b);
    }
  }
}

void multiply(const Product<float, BFloat16>& product) {
  static constexpr void (*multiply_last[])(const Product<float, BFloat16>&, int64_t) = {
      nullptr,          multiply_rows<1>, multiply_rows<2>, multiply_rows<3>, multiply_rows<4>,  multiply_rows<5>,
      multiply_rows<6>, multiply_rows<7>, multiply_rows<8>, multiply_rows<9>, multiply_rows<10>, multiply_rows<11>};
  int64_t row = 0;
  for (; row + block_rows <= product.rows; row += block_rows) multiply_rows<block_rows>(product, row);
  if (row < product.rows) multiply_last[product.rows - row](product, row);
}

}  // namespace

PANDO_KERNEL_BEGIN

// Measured on a Xeon 6: the instruction takes twice as long for a pair of products as two multiply-adds in float32, so
// these products never pay there. On other processors they have not been measured.
extern const MixedMatmulRoutines mixed_routines = {
    .costs = {.product = 1.9, .rounded = 8, .packed = 16, .transposed = 130, .row = 1100, .result = 20},
    .least_depth = 64,
    .block_rows = block_rows,
    .panel_vectors = panel_vectors,
    .lanes = pair_lanes,
    .depth_step = depth_step,
    .best_depth_step = depth_step,
    .multiply = multiply,
    .pack = pack_pairs,
    .pack_transposed = pack_pairs_transposed,
    .round = round_row,
    .round_transposed = round_rows_transposed};

PANDO_KERNEL_END
}  // namespace pando::cpu
