// SPDX-License-Identifier: Apache-2.0
// Counts from the types of operands alone, without running anything: an operand that is used is read or written once,
// and an op that does not say how much it calculates does so once for each element.
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

std::vector<std::size_t> live_bytes(const Plan& plan) {
  const std::size_t supersteps = plan.supersteps.size();
  // The first and the last superstep in which a kernel uses each buffer.
  std::vector<std::size_t> first(plan.buffers.size(), supersteps), last(plan.buffers.size(), 0);
  const auto use = [&](std::int32_t buffer, std::size_t superstep) {
    if (buffer < 0) return;
    const auto i = static_cast<std::size_t>(buffer);
    first[i] = std::min(first[i], superstep);
    last[i] = std::max(last[i], superstep);
  };
  for (std::size_t s = 0; s < supersteps; ++s)
    for (const KernelCall& call : plan.supersteps[s]) {
      for (const Operand& operand : call.inputs) use(operand.buffer, s);
      for (const Operand& operand : call.outputs) use(operand.buffer, s);
    }
  // What leaves the program lives to the end.
  for (const Port& output : plan.outputs)
    if (supersteps > 0 && output.buffer >= 0) use(output.buffer, supersteps - 1);
  std::vector<std::size_t> live(supersteps, 0);
  for (std::size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].kind == Buffer::Kind::arena)
      for (std::size_t s = first[i]; s <= last[i] && s < supersteps; ++s) live[s] += plan.buffers[i].bytes;
  return live;
}

}  // namespace pando
