#include "plan/cost.h"

#include <algorithm>

namespace pando {

KernelCost cost_of(const KernelCall& call) {
  KernelCost cost;
  double largest = 0;
  std::vector<Type> inputs, outputs;
  const auto add = [&](const Operand& operand, std::vector<Type>& types) {
    types.push_back(operand.type);
    if (operand.buffer < 0) return;
    const auto elements = static_cast<double>(operand.type.shape.elements());
    cost.bytes += elements * static_cast<double>(size_of(operand.type.dtype));
    largest = std::max(largest, elements);
  };
  for (const Operand& operand : call.inputs) add(operand, inputs);
  for (const Operand& operand : call.outputs) add(operand, outputs);
  cost.flops = call.op->flops != nullptr ? call.op->flops(inputs, outputs, call.attributes) : largest;
  return cost;
}

KernelCost cost_of(const Plan& plan) {
  KernelCost total;
  for (const Superstep& superstep : plan.supersteps)
    for (const KernelCall& call : superstep) {
      const KernelCost cost = cost_of(call);
      total.flops += cost.flops;
      total.bytes += cost.bytes;
    }
  return total;
}

}  // namespace pando
