// SPDX-License-Identifier: Apache-2.0
// Kernels of all elementwise ops: a single node is a program of one instruction.
#include <algorithm>

#include "backends/cpu/kernels/elementwise_runner.h"
#include "plan/call_program.h"

namespace pando::cpu {

namespace {

std::unique_ptr<Kernel> elementwise(const KernelCall& call, const Routines& routines) {
  const Shape& shape = call.outputs.front().type.shape;
  ElementwiseRunner runner(program_of(call), call.inputs, call.outputs, shape, routines);
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
#define PANDO_BINARY_INTEGER(name) PANDO_ELEMENTWISE(name)
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
