// SPDX-License-Identifier: Apache-2.0
// Measures sums over workers whose GPUs NCCL connects.
#pragma once
#include <memory>

#include "backends/cuda/cuda_backend.h"

namespace pando::cuda {

// GpuSumCost of program.h says what each is.
struct MeasuredSums {
  double latency = 0, bandwidth = 0, copies = 0, large_sum = 0;
};
MeasuredSums measure_sums(const std::shared_ptr<Workers>& workers, const CudaBackend& gpu);

}  // namespace pando::cuda
