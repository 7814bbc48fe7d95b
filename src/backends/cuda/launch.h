// SPDX-License-Identifier: Apache-2.0
// Grids: how threads are divided over elements. For .cu files.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "backends/cuda/check.h"

namespace pando::cuda {

inline constexpr int block_threads = 256;

// As many blocks as give every element a thread, up to a number that fills any GPU: kernels stride over the rest.
inline unsigned blocks_for(std::int64_t elements, int threads = block_threads, std::int64_t most = 65535) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((elements + threads - 1) / threads, 1, most));
}

// Call it after <<<>>>: says which op could not be launched.
inline void check_launch(const char* op) { check(cudaGetLastError(), op); }

#ifdef __CUDACC__
// The first element of this thread, and the distance to its next one.
__device__ inline std::int64_t first_element() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t element_stride() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }
#endif

}  // namespace pando::cuda
