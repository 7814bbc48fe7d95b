// SPDX-License-Identifier: Apache-2.0
// The values of a Plan: what its calls read and write, when buffers that hold several values one after the other are
// taken apart.
#pragma once
#include "plan/plan.h"

namespace pando::cuda {

struct PlanValue {
  std::int32_t buffer = -1;
  // The call that makes it; -1 for what is there when a step begins.
  int producer = -1;
  std::vector<int> readers = {};
  // Whether it is read when the step is over: an output, or what a variable then holds.
  bool leaves = false;
};

struct PlanValues {
  explicit PlanValues(const Plan& plan);

  // All calls in order, and for each the numbers of its values; -1 for an output that is never read.
  std::vector<const KernelCall*> calls;
  std::vector<std::vector<int>> inputs, outputs;
  // The calls that must run before it because it overwrites a variable that they read or write.
  std::vector<std::vector<int>> overwritten;
  std::vector<PlanValue> values;
};

}  // namespace pando::cuda
