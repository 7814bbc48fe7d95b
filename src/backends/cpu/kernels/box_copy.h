// SPDX-License-Identifier: Apache-2.0
// BoxCopy: moves an n-dimensional box between two strided layouts. Transpose, broadcast, concat, slice, pad and reshape
// are such moves.
#pragma once
#include "backends/cpu/kernels.h"
#include "backends/cpu/kernels/axes.h"

namespace pando::cpu {

class BoxCopy {
 public:
  // Walk 0 of `axes` is over the input, walk 1 over the output, from these offsets, which count elements.
  BoxCopy(Axes axes, std::int64_t from, std::int64_t to, std::size_t element_bytes);

  // This tile's share.
  void run(const Tile& tile, std::byte* out, const std::byte* in) const;

 private:
  template <class T>
  void run_as(const Tile& tile, T* out, const T* in) const;
  template <class T>
  void run_piece(T* out, const T* in, std::int64_t first, std::int64_t count) const;

  // All axes but the rows and columns below, which the pieces of work are cut from.
  Axes outer_;
  // A piece has all columns (input stride `columns_.strides[0]`, output stride 1) and some rows. Rows are the axis that
  // is contiguous in the input where the columns are not: then a piece is transposed in squares.
  Axis rows_ = {1, {0, 0}}, columns_ = {1, {1, 1}};
  std::int64_t rows_per_piece_ = 1;
  std::int64_t from_, to_;
  std::size_t element_bytes_;
};

}  // namespace pando::cpu
