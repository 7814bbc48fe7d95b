// SPDX-License-Identifier: Apache-2.0
// The kernels of a step, which say how much work its stages have.
#pragma once
#include <pando/program/program.h>

#include "plan/step_plan.h"

namespace pando {

// In the order in which they run.
std::vector<KernelInfo> kernels_of(const StepPlan& plan);
// The kernels of the program that the graph would make, with as many stages as its nodes have. Nothing is loaded.
std::vector<KernelInfo> kernels_of(const Graph& step);

}  // namespace pando
