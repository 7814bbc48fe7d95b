// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/regions/values.h"

namespace pando::cuda {

PlanValues::PlanValues(const Plan& plan) {
  // What each buffer holds.
  std::vector<int> held(plan.buffers.size(), -1);
  const auto make = [&](std::int32_t buffer, int producer) {
    values.push_back({.buffer = buffer, .producer = producer});
    return held[static_cast<std::size_t>(buffer)] = static_cast<int>(values.size()) - 1;
  };
  const auto value_of = [&](std::int32_t buffer) {
    const int value = held[static_cast<std::size_t>(buffer)];
    return value >= 0 ? value : make(buffer, -1);
  };
  for (const Superstep& superstep : plan.supersteps) {
    const std::size_t first = calls.size();
    for (const KernelCall& call : superstep) {
      const int number = static_cast<int>(calls.size());
      calls.push_back(&call);
      inputs.emplace_back();
      for (const Operand& operand : call.inputs) {
        inputs.back().push_back(value_of(operand.buffer));
        values[static_cast<std::size_t>(inputs.back().back())].readers.push_back(number);
      }
    }
    for (std::size_t i = first; i < calls.size(); ++i) {
      outputs.emplace_back();
      overwritten.emplace_back();
      for (const Operand& operand : calls[i]->outputs) {
        if (operand.buffer >= 0 && plan.buffers[static_cast<std::size_t>(operand.buffer)].kind != Buffer::Kind::arena) {
          const PlanValue& old = values[static_cast<std::size_t>(value_of(operand.buffer))];
          overwritten.back() = old.readers;
          if (old.producer >= 0) overwritten.back().push_back(old.producer);
        }
        outputs.back().push_back(operand.buffer < 0 ? -1 : make(operand.buffer, static_cast<int>(i)));
      }
    }
  }
  for (const Port& output : plan.outputs) values[static_cast<std::size_t>(value_of(output.buffer))].leaves = true;
  for (const VariablePort& variable : plan.variables)
    values[static_cast<std::size_t>(value_of(variable.buffer))].leaves = true;
}

}  // namespace pando::cuda
