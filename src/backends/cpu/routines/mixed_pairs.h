// SPDX-License-Identifier: Apache-2.0
// Matrices of bfloat16 as x86 multiplies them: its instructions take pairs of the inner dimension, so a panel has the
// two numbers of a pair side by side:
//   to[j / panel * panel_step + k / 2 * 2 * panel + j % panel * 2 + k % 2] = from(k, j)
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
  return reinterpret_cast<Pairs>(_mm512_cvtne2ps_pbh(high, low));
}

// Elements [k, count) of a row.
inline Pairs load_elements(const float* row, std::int64_t k, std::int64_t count) {
  if (k + pair_elements <= count) return rounded(load(row + k), load(row + k + pair_lanes));
  return rounded(load_some(row, k, count), load_some(row, k + pair_lanes, count));
}

// The elements of both rows in turns.
inline Pairs paired(Vector<float> first, Vector<float> second) {
  typedef std::int16_t Elements __attribute__((vector_size(vector_bytes)));
  const auto both = reinterpret_cast<Elements>(rounded(first, second));
  return reinterpret_cast<Pairs>(interleave_halves(both, Indices<pair_elements>{}));
}

// Columns [j, columns) of the rows k and k + 1, zeros for a row after the last.
inline Pairs load_two_rows(const float* from, std::int64_t step, std::int64_t k, std::int64_t rows, std::int64_t j,
                           std::int64_t columns) {
  if (k + 1 < rows && j + pair_lanes <= columns)
    return paired(load(from + k * step + j), load(from + (k + 1) * step + j));
  const Vector<float> first = load_some(from + (k < rows ? k * step : 0), j, k < rows ? columns : 0);
  const Vector<float> second = load_some(from + (k + 1 < rows ? (k + 1) * step : 0), j, k + 1 < rows ? columns : 0);
  return paired(first, second);
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

// The elements [first, last) of a vector, which begin at to[0].
inline void store_piece(BFloat16* to, std::int64_t first, std::int64_t last, Pairs elements) {
  _mm512_mask_storeu_epi16(to - first, first_elements(last) & ~first_elements(first),
                           reinterpret_cast<__m512i>(elements));
}

inline void round_rows_transposed(const RoundedTranspose& matrix) {
  for (std::int64_t j = 0; j < matrix.rows; j += pair_lanes) {
    const std::int64_t rows = matrix.rows - j < pair_lanes ? matrix.rows - j : pair_lanes;
    BFloat16* run = matrix.to + j * matrix.to_step;
    // Elements of the run that are written already.
    std::int64_t done = 0;
    for (std::int64_t k = 0; k < matrix.columns; k += pair_elements) {
      Pairs square[pair_lanes];
      PANDO_UNROLL
      for (int i = 0; i < pair_lanes; ++i) {
        square[i] = load_two_rows(matrix.from, matrix.from_step, k + 2 * i, matrix.columns, j, matrix.rows);
      }
      transpose_square<std::int32_t, pair_lanes>(square);
      const std::int64_t count = matrix.columns - k < pair_elements ? matrix.columns - k : pair_elements;
      for (std::int64_t first = 0, last = 0; first < count; first = last) {
        last = matrix.run - done < count - first ? first + matrix.run - done : count;
        PANDO_UNROLL
        for (int i = 0; i < pair_lanes; ++i) {
          if (i < rows) store_piece(run + i * matrix.to_step + done, first, last, square[i]);
        }
        done += last - first;
        if (done == matrix.run) {
          run += matrix.run_step;
          done = 0;
        }
      }
    }
  }
}

PANDO_KERNEL_END
}  // namespace pando::cpu
