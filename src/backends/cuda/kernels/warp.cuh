// SPDX-License-Identifier: Apache-2.0
// What the 32 lanes of a warp compute together, in an order that never changes; every lane gets the result.
#pragma once
#include <cstdint>

namespace pando::cuda {

inline constexpr int warp_lanes = 32;

__device__ inline int lane() { return static_cast<int>(threadIdx.x) % warp_lanes; }

template <class T>
__device__ T warp_sum(T value) {
#pragma unroll
  for (int step = warp_lanes / 2; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

// NaN wins.
template <class T>
__device__ T larger_of(T a, T b) {
  return b > a || b != b ? b : a;
}

template <class T>
__device__ T warp_largest(T value) {
#pragma unroll
  for (int step = warp_lanes / 2; step > 0; step /= 2)
    value = larger_of(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

// The sum of term(0) ... term(count - 1), held in float64.
template <class Term>
__device__ double warp_sum_of(std::int64_t count, Term term) {
  double sum = 0;
  for (std::int64_t i = lane(); i < count; i += warp_lanes) sum += static_cast<double>(term(i));
  return warp_sum(sum);
}

}  // namespace pando::cuda
