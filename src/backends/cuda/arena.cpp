// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/arena.h"

#include <algorithm>

namespace pando::cuda {

WorkingMemory::WorkingMemory(std::span<const Plan* const> plans, std::span<const PlanKernels> kernels,
                             const std::shared_ptr<Memory>& memory) {
  for (const Plan* plan : plans)
    if (plan != nullptr) arena_bytes_ = std::max(arena_bytes_, plan->arena_bytes);
  for (const PlanKernels& supersteps : kernels)
    for (const auto& superstep : supersteps)
      for (const auto& kernel : superstep) scratch_bytes_ = std::max(scratch_bytes_, align(kernel->scratch_bytes()));
  // The arena starts where device memory is aligned for any access.
  scratch_bytes_ = (scratch_bytes_ + 255) / 256 * 256;
  allocation_ = memory->allocate(bytes(), "the arena of a device");
  scratch_ = memory->kernel_pointer(allocation_.place());
}

}  // namespace pando::cuda
