// SPDX-License-Identifier: Apache-2.0
// Softmax, and the losses that are computed with it. A null output is not wanted.
#pragma once
#include <cstdint>

namespace pando::cpu {

// Matrices are [rows, columns]; rows [first, last) are computed.
template <class T>
struct LossRoutinesOf {
  void (*softmax)(T* y, const T* x, std::int64_t columns, std::int64_t first, std::int64_t last);
  // dx = y * (dy - sum(dy * y)).
  void (*softmax_gradient)(T* dx, const T* dy, const T* y, std::int64_t columns, std::int64_t first, std::int64_t last);
  void (*log_softmax)(T* y, const T* x, std::int64_t columns, std::int64_t first, std::int64_t last);
  void (*cross_entropy)(T* loss, T* delta, const T* logits, const T* targets, std::int64_t columns, std::int64_t first,
                        std::int64_t last);
  // Rows of the label `ignored` become 0.
  void (*sparse_cross_entropy)(T* loss, T* delta, const T* logits, const std::int32_t* labels, std::int64_t ignored,
                               std::int64_t columns, std::int64_t first, std::int64_t last);
};

struct LossRoutines {
  LossRoutinesOf<float> float32;
  LossRoutinesOf<double> float64;
};

}  // namespace pando::cpu
