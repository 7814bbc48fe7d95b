// SPDX-License-Identifier: Apache-2.0
// Kernels of all elementwise ops: a single node is a program of one instruction.
#include <algorithm>

#include "backends/cpu/kernels/elementwise_runner.h"

namespace pando::cpu {

namespace {

ElementwiseProgram program_of(const KernelCall& call) {
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

std::unique_ptr<Kernel> elementwise(const KernelCall& call, const Routines& routines) {
  const Shape& shape = call.outputs.front().type.shape;
  const ElementwiseProgram program = call.op->id == Op::fused ? *call.attributes.program("program") : program_of(call);
  ElementwiseRunner runner(program, call.inputs, call.outputs, shape, routines);
  const std::size_t scratch_bytes = runner.scratch_bytes();
  const std::int64_t elements = shape.elements(), block = ElementwiseRunner::block;
  return make_kernel(
      [runner = std::move(runner), elements](const Tile& tile) {
        const Range range = share(tile, (elements + block - 1) / block);
        if (range.begin == range.end) return;
        const std::int64_t first = range.begin * block, last = std::min(range.end * block, elements);
        runner.begin(tile, tile.scratch);
        runner.run(tile, tile.scratch, first, last - first);
      },
      scratch_bytes);
}

}  // namespace

namespace factories {

#define PANDO_ELEMENTWISE(name) \
  std::unique_ptr<Kernel> name(const KernelCall& call, const Routines& routines) { return elementwise(call, routines); }
#define PANDO_UNARY(name) PANDO_ELEMENTWISE(name)
#define PANDO_UNARY_NUMERIC(name) PANDO_ELEMENTWISE(name)
#define PANDO_BINARY(name) PANDO_ELEMENTWISE(name)
#define PANDO_BINARY_NUMERIC(name) PANDO_ELEMENTWISE(name)
#define PANDO_COMPARISON(name) PANDO_ELEMENTWISE(name)
#define PANDO_LOGICAL_1(name) PANDO_ELEMENTWISE(name)
#define PANDO_LOGICAL_2(name) PANDO_ELEMENTWISE(name)
#include "ops/ops.def"
PANDO_ELEMENTWISE(select)
PANDO_ELEMENTWISE(cast)
PANDO_ELEMENTWISE(fused)
#undef PANDO_ELEMENTWISE

}  // namespace factories

}  // namespace pando::cpu
