// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/nccl/sum_rows.h"

#include "backends/cuda/launch.h"

namespace pando::cuda {

namespace {

// Each operation rounds by itself, whatever the compiler would join.
__global__ void sum(const float* rows, std::int64_t count, std::int64_t numbers, float scale, float* sums) {
  for (std::int64_t i = first_element(); i < numbers; i += element_stride()) {
    float added = 0;
    for (std::int64_t row = 0; row < count; ++row) added = __fadd_rn(added, rows[row * numbers + i]);
    sums[i] = __fmul_rn(added, scale);
  }
}

}  // namespace

void sum_rows(const float* rows, std::size_t count, std::size_t numbers, float scale, float* sums,
              cudaStream_t stream) {
  const auto elements = static_cast<std::int64_t>(numbers);
  sum<<<blocks_for(elements), block_threads, 0, stream>>>(rows, static_cast<std::int64_t>(count), elements, scale,
                                                          sums);
  check_launch("to add up the numbers of all workers");
}

}  // namespace pando::cuda
