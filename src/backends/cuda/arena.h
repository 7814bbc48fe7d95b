// SPDX-License-Identifier: Apache-2.0
// What the Plans of a device work in, one at a time: scratch of the kernels, then the arena.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "backends/cuda/kernel.h"
#include "runtime/memory.h"

namespace pando::cuda {

// The kernels of a Plan: [s][k] belongs to plan.supersteps[s][k].
using PlanKernels = std::vector<std::vector<std::unique_ptr<Kernel>>>;

class WorkingMemory {
 public:
  // Enough for each of the plans, which may be null.
  WorkingMemory(std::span<const Plan* const> plans, std::span<const PlanKernels> kernels,
                const std::shared_ptr<Memory>& memory);

  std::size_t bytes() const { return scratch_bytes_ + arena_bytes_; }
  std::byte* scratch() const { return scratch_; }
  Place arena() const { return allocation_.place() + scratch_bytes_; }

 private:
  std::size_t scratch_bytes_ = 0, arena_bytes_ = 0;
  Allocation allocation_;
  std::byte* scratch_ = nullptr;
};

}  // namespace pando::cuda
