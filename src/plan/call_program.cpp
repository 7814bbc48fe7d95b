// SPDX-License-Identifier: Apache-2.0
#include "plan/call_program.h"

#include "graph/op_definition.h"

namespace pando {

ElementwiseProgram program_of(const KernelCall& call) {
  if (call.op->name == "fused") return *call.attributes.program("program");
  ElementwiseProgram program;
  ElementwiseProgram::Instruction instruction = {.op = call.op, .result = call.outputs.front().type.dtype};
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    program.operands.push_back(call.inputs[i].type.dtype);
    instruction.arguments[i] = static_cast<std::int32_t>(i);
  }
  for (std::size_t i = 0; i < call.op->parameters.size(); ++i)
    instruction.parameters[i] = call.attributes.number(call.op->parameters[i]);
  program.instructions = {instruction};
  program.results = {static_cast<std::int32_t>(program.operands.size())};
  return program;
}

}  // namespace pando
