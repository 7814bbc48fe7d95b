// SPDX-License-Identifier: Apache-2.0
// What kernels cost: arithmetic and memory traffic, from the plan alone.
#pragma once
#include "plan/plan.h"

namespace pando {

struct KernelCost {
  double flops = 0;
  // Bytes read and written.
  double bytes = 0;
};

KernelCost cost_of(const KernelCall& call);
// The cost of one step.
KernelCost cost_of(const Plan& plan);

// The bytes of the arena that hold something in each superstep.
std::vector<std::size_t> live_bytes(const Plan& plan);

}  // namespace pando
