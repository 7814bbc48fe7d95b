// SPDX-License-Identifier: Apache-2.0
// Matrices of bfloat16 as x86 multiplies them: its instructions take pairs of the inner dimension, so a panel has those
// side by side, to[j / panel * panel_step + k / 2 * 2 * panel + j % panel * 2 + k % 2] = from(k, j).
#pragma once
#include <immintrin.h>

#include "backends/cpu/routines/matmul.h"
#include "backends/cpu/routines/transpose.h"

namespace pando::cpu {
PANDO_KERNEL_BEGIN

// A vector of pairs, and of the float32 sums that they are added to.
using Pairs = Vector<std::int32_t>;
inline constexpr int pair_lanes = VectorOf<std::int32_t>::lanes;
inline constexpr int pair_elements = 2 * pair_lanes;

// Masks of the first `count` lanes or elements: none for less than one, all for more than there are.
inline __mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= pair_lanes ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}
inline __mmask32 first_elements(std::int64_t count) {
  return first_lanes(count) | static_cast<__mmask32>(first_lanes(count - pair_lanes)) << pair_lanes;
}

// Elements [first, count) of a row: a vector of them, or zeros in place of those that are missing.
inline Vector<float> load_some(const float* row, std::int64_t first, std::int64_t count) {
  return _mm512_maskz_loadu_ps(first_lanes(count - first), row + (first < count ? first : 0));
}

// The elements of `low`, then those of `high`.
inline Pairs rounded(Vector<float> low, Vector<float> high) {
  typedef std::int32_t Half __attribute__((vector_size(vector_bytes / 2)));
  const auto first = reinterpret_cast<Half>(_mm512_cvtneps_pbh(low));
  const auto second = reinterpret_cast<Half>(_mm512_cvtneps_pbh(high));
  return __builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

// Elements [k, count) of a row.
inline Pairs load_elements(const float* row, std::int64_t k, std::int64_t count) {
  return rounded(load_some(row, k, count), load_some(row, k + pair_lanes, count));
}

// Columns [j, columns) of the rows k and k + 1, zeros for a row after the last.
inline Pairs load_two_rows(const float* from, std::int64_t step, std::int64_t k, std::int64_t rows, std::int64_t j,
                           std::int64_t columns) {
  const Vector<float> first = load_some(from + (k < rows ? k * step : 0), j, k < rows ? columns : 0);
  const Vector<float> second = load_some(from + (k + 1 < rows ? (k + 1) * step : 0), j, k + 1 < rows ? columns : 0);
  return rounded(interleave_lower(first, second, Indices<pair_lanes>{}),
                 interleave_upper(first, second, Indices<pair_lanes>{}));
}

inline void pack_pairs(const Packing<float, BFloat16>& packing) {
  for (std::int64_t k = 0; k < packing.depth; k += 2) {
    BFloat16* to = packing.to + k * packing.panel;
    for (std::int64_t column = 0; column < packing.columns; column += packing.panel, to += packing.panel_step) {
      for (std::int64_t j = 0; j < packing.panel; j += pair_lanes) {
        const Pairs pairs = load_two_rows(packing.from, packing.step, k, packing.depth, column + j, packing.columns);
        _mm512_storeu_si512(to + 2 * j, reinterpret_cast<__m512i>(pairs));
      }
    }
  }
}

inline void pack_pairs_transposed(const Packing<float, BFloat16>& packing) {
  const std::int64_t panel = packing.panel;
  for (std::int64_t column = 0; column < (packing.columns + panel - 1) / panel * panel; column += pair_lanes) {
    BFloat16* const to = packing.to + column / panel * packing.panel_step + column % panel * 2;
    for (std::int64_t k = 0; k < packing.depth; k += pair_elements) {
      Pairs square[pair_lanes];
      PANDO_UNROLL
      for (int j = 0; j < pair_lanes; ++j) {
        const bool exists = column + j < packing.columns;
        square[j] =
            load_elements(packing.from + (exists ? (column + j) * packing.step : 0), k, exists ? packing.depth : 0);
      }
      transpose_square<std::int32_t, pair_lanes>(square);
      PANDO_UNROLL
      for (int i = 0; i < pair_lanes; ++i) {
        if (k + 2 * i >= packing.depth) break;
        _mm512_storeu_si512(to + (k + 2 * i) * panel, reinterpret_cast<__m512i>(square[i]));
      }
    }
  }
}

inline void round_row(const float* from, std::int64_t count, BFloat16* to) {
  for (std::int64_t i = 0; i < count; i += pair_elements) {
    _mm512_mask_storeu_epi16(to + i, first_elements(count - i),
                             reinterpret_cast<__m512i>(load_elements(from, i, count)));
  }
}

inline void round_rows_transposed(const float* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns,
                                  BFloat16* to, std::int64_t to_step) {
  for (std::int64_t j = 0; j < rows; j += pair_lanes) {
    for (std::int64_t k = 0; k < columns; k += pair_elements) {
      Pairs square[pair_lanes];
      PANDO_UNROLL
      for (int i = 0; i < pair_lanes; ++i) square[i] = load_two_rows(from, from_step, k + 2 * i, columns, j, rows);
      transpose_square<std::int32_t, pair_lanes>(square);
      PANDO_UNROLL
      for (int i = 0; i < pair_lanes; ++i) {
        if (j + i >= rows) break;
        _mm512_mask_storeu_epi16(to + (j + i) * to_step + k, first_elements(columns - k),
                                 reinterpret_cast<__m512i>(square[i]));
      }
    }
  }
}

PANDO_KERNEL_END
}  // namespace pando::cpu
