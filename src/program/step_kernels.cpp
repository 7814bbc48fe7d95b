// SPDX-License-Identifier: Apache-2.0
#include "program/step_kernels.h"

#include "compiler/compile_step.h"
#include "plan/cost.h"

namespace pando {

std::vector<KernelInfo> kernels_of(const StepPlan& plan) {
  std::vector<KernelInfo> kernels;
  for (std::size_t number = 0; number < plan.stages.size(); ++number) {
    const StagePlan& stage = plan.stages[number];
    for (const auto* program : {&stage.forward, &stage.backward_next, &stage.update_values, &stage.update}) {
      if (!*program) continue;
      for (const Superstep& superstep : (*program)->supersteps)
        for (const KernelCall& call : superstep) {
          const KernelCost cost = cost_of(call);
          kernels.push_back({std::string(call.op->name), call.name, static_cast<int>(number), cost.flops, cost.bytes});
        }
    }
  }
  return kernels;
}

std::vector<KernelInfo> kernels_of(const Graph& step) { return kernels_of(compile_step(step, {})); }

}  // namespace pando
