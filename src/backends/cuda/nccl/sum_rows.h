// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

namespace pando::cuda {

// sums[i] = (0 + rows[0][i] + rows[1][i] + ...) * scale, added in this order as the host adds them.
void sum_rows(const float* rows, std::size_t count, std::size_t numbers, float scale, float* sums, cudaStream_t stream);

}  // namespace pando::cuda
