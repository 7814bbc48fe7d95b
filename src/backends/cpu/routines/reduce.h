// SPDX-License-Identifier: Apache-2.0
// Reductions of a matrix to a column or a row of totals, which kernels gather over the outer axes.
#pragma once
#include <cstdint>

namespace pando::cpu {

// A total takes 8 bytes whatever it holds.
inline constexpr std::int64_t total_bytes = 8;

struct ReduceRoutine {
  // Sets totals to those of no elements.
  void (*clear)(void* totals, std::int64_t count);
  // Element (r, c) of the matrix is x[r * stride + c]. totals[r] takes in row r; totals[c] takes in column c.
  void (*rows)(void* totals, const void* x, std::int64_t rows, std::int64_t columns, std::int64_t stride);
  void (*columns)(void* totals, const void* x, std::int64_t rows, std::int64_t columns, std::int64_t stride);
  // totals[i] takes in the elements of more[i].
  void (*merge)(void* totals, const void* more, std::int64_t count);
  // out[i] = totals[i] / divisor.
  void (*store)(void* out, const void* totals, std::int64_t count, double divisor);
};

// out[i] = the index of the first largest of x[i * distance + k * stride], k < size; NaN is largest.
using ArgmaxRoutine = void (*)(std::int32_t* out, const void* x, std::int64_t count, std::int64_t distance,
                               std::int64_t size, std::int64_t stride);

template <class Routine>
struct NumericRoutines {
  Routine float32, float64, int32, int64;
};

struct ReduceRoutines {
  NumericRoutines<ReduceRoutine> sum;
  NumericRoutines<ReduceRoutine> max;
  NumericRoutines<ArgmaxRoutine> argmax;
};

}  // namespace pando::cpu
