// SPDX-License-Identifier: Apache-2.0
#include "ops/infer.h"

#include <fmt/format.h>

#include "base/text.h"
#include "graph/elementwise_program.h"

namespace pando {

void require_dtype(const OpCall& call, std::size_t input, std::initializer_list<DType> allowed) {
  std::vector<std::string> names;
  for (DType dtype : allowed) {
    if (call.dtype(input) == dtype) return;
    names.emplace_back(name(dtype));
  }
  call.fail(
      fmt::format("input {} is {} but must be {}; cast it", input, to_string(call.inputs[input]), join(names, " or ")));
}

void require_floating(const OpCall& call, std::size_t input) {
  require_dtype(call, input, {DType::float32, DType::float64});
}

void require_same_dtype(const OpCall& call) {
  for (const Type& type : call.inputs)
    if (type.dtype != call.dtype(0))
      call.fail(fmt::format("inputs are {} and {}; cast one of them", to_string(call.inputs[0]), to_string(type)));
}

void require_rank(const OpCall& call, std::size_t input, int rank, std::string_view meaning) {
  if (call.shape(input).rank() != rank)
    call.fail(fmt::format("input {} has the shape {} but must have {} axes, {}; reshape it", input,
                          to_string(call.shape(input)), rank, meaning));
}

std::vector<Type> epilogue_types(const OpCall& call, const Type& raw, std::size_t own_inputs) {
  const auto& program = call.attributes.program("epilogue");
  if (!program) {
    if (call.inputs.size() != own_inputs)
      call.fail(fmt::format("takes {} inputs, not {}", own_inputs, call.inputs.size()));
    return {raw};
  }
  if (program->operands.size() != call.inputs.size() - own_inputs + 1)
    call.fail("the epilogue's operands do not match the inputs");
  for (std::size_t i = own_inputs; i < call.inputs.size(); ++i)
    if (broadcast_shapes(call.shape(i), raw.shape) != raw.shape)
      call.fail("an operand of the epilogue does not broadcast to the result");
  std::vector<Type> types;
  for (std::int32_t result : program->results) types.push_back({program->dtype(result), raw.shape});
  return types;
}

Value single(std::vector<Value> values) {
  if (values.size() != 1) throw InternalError("an op with one output was expected");
  return values.front();
}

}  // namespace pando
