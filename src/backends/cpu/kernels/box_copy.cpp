// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/box_copy.h"

#include <algorithm>
#include <cstring>

namespace pando::cpu {

namespace {

constexpr std::int64_t square = 16;

template <class T>
void transpose_square(T* out, std::int64_t out_stride, const T* in, std::int64_t in_stride, std::int64_t rows,
                      std::int64_t columns) {
  if (rows == square && columns == square) {
    // Constant sizes let the compiler unroll and vectorise.
    for (std::int64_t r = 0; r < square; ++r)
      for (std::int64_t c = 0; c < square; ++c) out[r * out_stride + c] = in[c * in_stride + r];
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) out[r * out_stride + c] = in[c * in_stride + r];
}

template <class T>
void copy_row(T* out, const T* in, std::int64_t stride, std::int64_t count) {
  if (stride == 1) std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(T));
  else if (stride == 0) std::fill(out, out + count, *in);
  else
    for (std::int64_t i = 0; i < count; ++i) out[i] = in[i * stride];
}

// Cuts a long axis in two, so that it can be shared among tiles.
void split_long_axis(Axes& axes) {
  constexpr std::int64_t length = 4096;
  Axis& last = axes.back();
  if (last.size <= length || last.size % length != 0) return;
  const Axis blocks = {last.size / length, {last.strides[0] * length, last.strides[1] * length}};
  last.size = length;
  axes.insert(axes.end() - 1, blocks);
}

}  // namespace

BoxCopy::BoxCopy(Axes axes, std::int64_t from, std::int64_t to, std::size_t element_bytes)
    : outer_(collapse(axes)), from_(from), to_(to), element_bytes_(element_bytes) {
  if (outer_.empty()) return;
  if (outer_.back().strides[1] == 1) {
    split_long_axis(outer_);
    columns_ = outer_.back();
    outer_.pop_back();
  }
  const auto contiguous =
      std::find_if(outer_.begin(), outer_.end(), [](const Axis& axis) { return axis.strides[0] == 1; });
  const bool transposes = columns_.strides[0] > 1 && contiguous != outer_.end();
  if (!transposes && outer_.empty()) return;
  const auto chosen = transposes ? contiguous : outer_.end() - 1;
  rows_ = *chosen;
  outer_.erase(chosen);
  // Enough bytes per piece to be worth a call.
  rows_per_piece_ = transposes ? square : std::max<std::int64_t>(1, 2048 / std::max<std::int64_t>(1, columns_.size));
}

void BoxCopy::run(const Tile& tile, std::byte* out, const std::byte* in) const {
  with_element(element_bytes_, [&](auto* element) {
    using T = std::remove_pointer_t<decltype(element)>;
    run_as(tile, reinterpret_cast<T*>(out) + to_, reinterpret_cast<const T*>(in) + from_);
  });
}

template <class T>
void BoxCopy::run_as(const Tile& tile, T* out, const T* in) const {
  const std::int64_t pieces = (rows_.size + rows_per_piece_ - 1) / rows_per_piece_;
  const Range range = share(tile, columns_.size == 0 ? 0 : count_positions(outer_) * pieces);
  if (range.begin == range.end) return;
  Walk walk(outer_, range.begin / pieces);
  std::int64_t piece = range.begin % pieces;
  for (std::int64_t unit = range.begin; unit < range.end; ++unit) {
    const std::int64_t first = piece * rows_per_piece_;
    run_piece(out + walk.offset(1), in + walk.offset(0), first, std::min(rows_per_piece_, rows_.size - first));
    if (++piece < pieces) continue;
    piece = 0;
    walk.next();
  }
}

template <class T>
void BoxCopy::run_piece(T* out, const T* in, std::int64_t first, std::int64_t count) const {
  out += first * rows_.strides[1];
  in += first * rows_.strides[0];
  if (rows_.strides[0] == 1 && columns_.strides[0] > 1) {
    for (std::int64_t c = 0; c < columns_.size; c += square)
      transpose_square(out + c, rows_.strides[1], in + c * columns_.strides[0], columns_.strides[0], count,
                       std::min(square, columns_.size - c));
    return;
  }
  for (std::int64_t r = 0; r < count; ++r)
    copy_row(out + r * rows_.strides[1], in + r * rows_.strides[0], columns_.strides[0], columns_.size);
}

}  // namespace pando::cpu
