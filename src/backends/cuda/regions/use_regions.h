// SPDX-License-Identifier: Apache-2.0
// Regions in place of the kernels of their calls.
#pragma once
#include "backends/cuda/arena.h"
#include "backends/cuda/devices.h"

namespace pando::cuda {

// Replaces the kernels of calls on single samples by a region, where that is faster. What a region writes gets memory
// of its own in the plan's arena: its calls run at once, and cannot share memory as calls do that run in turn. Does
// nothing where kernels cannot be compiled.
void use_regions(Plan& plan, const Gpu& gpu, PlanKernels& kernels);

}  // namespace pando::cuda
