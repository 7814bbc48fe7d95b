// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/epilogue.h"

namespace pando::cpu {

Epilogue::Epilogue(const KernelCall& call, std::size_t own_inputs, const Type& raw, const Routines& routines)
    : output_(call.outputs.front()), raw_in_output_(output_.buffer >= 0 && output_.type.dtype == raw.dtype) {
  if (call.attributes.find("epilogue") == nullptr) return;
  const auto& program = call.attributes.program("epilogue");
  if (program == nullptr) return;
  std::vector<Operand> operands = {{.type = raw}};
  operands.insert(operands.end(), call.inputs.begin() + static_cast<std::ptrdiff_t>(own_inputs), call.inputs.end());
  const std::vector<Operand> results(call.outputs.begin(),
                                     call.outputs.begin() + static_cast<std::ptrdiff_t>(program->results.size()));
  runner_.emplace(*program, operands, results, raw.shape, routines, true);
}

}  // namespace pando::cpu
