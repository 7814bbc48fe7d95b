// SPDX-License-Identifier: Apache-2.0
// The kernels of a Plan, and what the Plans of a device work in, one at a time: scratch of the kernels, then the arena.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "backends/cuda/kernel.h"
#include "runtime/memory.h"

namespace pando::cuda {

// A kernel and the buffers of the Plan that it reads and writes. It does one call of the Plan, or several at once.
struct PlanKernel {
  std::unique_ptr<Kernel> kernel;
  std::vector<Operand> inputs, outputs;
  // Its (first) call, plan.supersteps[superstep][call], and the number of that call among all calls.
  std::size_t superstep = 0, call = 0, number = 0;
};
// In an order in which they can run.
using PlanKernels = std::vector<PlanKernel>;

class WorkingMemory {
 public:
  // Enough for each of the plans, which may be null.
  WorkingMemory(std::span<const Plan* const> plans, std::span<const PlanKernels> kernels,
                const std::shared_ptr<Memory>& memory);

  std::size_t bytes() const { return scratch_bytes_ * lanes_ + arena_bytes_; }
  // Kernels that may run at the same time have different scratch; there are a few of them.
  std::size_t lanes() const { return lanes_; }
  std::byte* scratch(std::size_t lane) const { return scratch_ + lane * scratch_bytes_; }
  Place arena() const { return allocation_.place() + scratch_bytes_ * lanes_; }

 private:
  // The bytes of scratch of one lane.
  std::size_t scratch_bytes_ = 0;
  std::size_t lanes_ = 1, arena_bytes_ = 0;
  Allocation allocation_;
  std::byte* scratch_ = nullptr;
};

}  // namespace pando::cuda
