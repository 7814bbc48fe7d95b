// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/arena.h"

#include <algorithm>

namespace pando::cuda {

namespace {

// More kernels than this hardly run at the same time, and large scratch is that of kernels that fill the GPU.
constexpr std::size_t most_lanes = 4, most_bytes_of_lanes = std::size_t{64} << 20;

}  // namespace

WorkingMemory::WorkingMemory(std::span<const Plan* const> plans, std::span<const PlanKernels> kernels,
                             const std::shared_ptr<Memory>& memory) {
  for (const Plan* plan : plans)
    if (plan != nullptr) arena_bytes_ = std::max(arena_bytes_, plan->arena_bytes);
  for (const PlanKernels& all : kernels)
    for (const PlanKernel& one : all) scratch_bytes_ = std::max(scratch_bytes_, align(one.kernel->scratch_bytes()));
  // The arena starts where device memory is aligned for any access.
  scratch_bytes_ = (scratch_bytes_ + 255) / 256 * 256;
  if (scratch_bytes_ > 0) lanes_ = std::clamp<std::size_t>(most_bytes_of_lanes / scratch_bytes_, 1, most_lanes);
  allocation_ = memory->allocate(bytes(), "the arena of a device");
  scratch_ = memory->kernel_pointer(allocation_.place());
}

}  // namespace pando::cuda
