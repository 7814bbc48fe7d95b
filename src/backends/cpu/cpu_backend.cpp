// SPDX-License-Identifier: Apache-2.0
// Makes a kernel for each call of a plan, by a table with a factory for each op: an op without a kernel does not link.
#include "backends/cpu/cpu_backend.h"

#include "backends/cpu/kernels.h"
#include "backends/cpu/kernels/conv_pool_choice.h"
#include "backends/cpu/suggested_tiles.h"
#include "backends/cpu/tile_executor.h"
#include "base/machine/subnormals.h"

namespace pando::cpu {

namespace {

// Null for ops that only say something about a graph.
KernelFactory factory_of(const OpDefinition& op) {
  static constexpr KernelFactory factories_of_ops[] = {
#define PANDO_SOURCE(name) nullptr,
#define PANDO_SPAN(name) nullptr,
#define PANDO_VIEW(name) nullptr,
#define PANDO_OP(name) factories::name,
#include "ops/ops.def"
  };
  return factories_of_ops[static_cast<std::size_t>(op.id)];
}

PlanKernels make_kernels(const Plan& plan, const Routines& routines) {
  PlanKernels kernels;
  for (const Superstep& superstep : plan.supersteps) {
    kernels.emplace_back();
    for (const KernelCall& call : superstep) kernels.back().push_back(factory_of(*call.op)(call, routines));
  }
  return kernels;
}

}  // namespace

CpuBackend::CpuBackend(int tiles, std::string_view instruction_set, std::shared_ptr<Memory> memory)
    : routines_(routines_for(choose_instruction_set(instruction_set))),
      mixed_routines_(with_mixed_products(routines_)),
      tiles_(std::make_shared<TileGroup>(tiles)),
      chooses_tiles_(tiles == 0),
      memory_(std::move(memory)) {}

std::string CpuBackend::instruction_set() const { return std::string(cpu::name(routines_.instruction_set)); }

bool CpuBackend::prefers_pooled_gradient(const PooledGradientChoice& choice) const {
  return cpu::prefers_pooled_gradient(choice, mixed_routines_);
}

std::string CpuBackend::why_unsupported(const KernelCall& call) const {
  return factory_of(*call.op) == nullptr ? "the op has no kernel" : "";
}

LoadedPlans CpuBackend::load(std::span<const Plan* const> plans, const BindVariable& bind) {
  std::vector<PlanKernels> kernels;
  for (const Plan* plan : plans) {
    kernels.emplace_back();
    if (plan != nullptr) kernels.back() = make_kernels(*plan, plan->mixed_bfloat16 ? mixed_routines_ : routines_);
  }
  const int used = chooses_tiles_ ? suggested_tiles(plans, routines_.instruction_set, tiles()) : tiles();
  const auto working = std::make_shared<const WorkingMemory>(plans, kernels, used, memory_);
  LoadedPlans loaded{.working_bytes = working->bytes(), .tiles = used};
  for (std::size_t i = 0; i < plans.size(); ++i)
    loaded.executables.push_back(
        plans[i] == nullptr
            ? nullptr
            : std::make_unique<TileExecutor>(*plans[i], std::move(kernels[i]), tiles_, used, working, memory_, bind));
  return loaded;
}

std::vector<Array> evaluate(const Node& node, const std::vector<Array>& inputs) {
  KernelCall call{node.op, node.attributes, {}, {}, node.name};
  std::vector<Array> results;
  std::vector<std::byte*> buffers;
  const auto add_operand = [&](std::vector<Operand>& operands, Array array) {
    operands.push_back({static_cast<std::int32_t>(buffers.size()), {array.dtype(), array.shape()}});
    buffers.push_back(array.mutable_raw());
  };
  for (const Array& input : inputs) add_operand(call.inputs, input);
  for (const Type& type : node.outputs) {
    results.emplace_back(type.dtype, type.shape);
    add_operand(call.outputs, results.back());
  }
  const auto kernel = factory_of(*node.op)(call, routines_for(choose_instruction_set("")));
  const Allocation scratch = host_memory()->allocate(kernel->scratch_bytes(), "folding constants");
  const Allocation shared = host_memory()->allocate(kernel->shared_bytes(1), "folding constants");
  bool out_of_range = false;
  const Tile tile = {0, 1, host_pointer(scratch.place()), buffers.data(), host_pointer(shared.place()), &out_of_range};
  // Folded constants have the bits that tiles would compute.
  const SubnormalsAreZero are_zero;
  kernel->run(tile);
  if (kernel->shared_bytes(1) > 0) kernel->finish(tile);
  // The step says so, with the place.
  if (out_of_range) results.clear();
  return results;
}

}  // namespace pando::cpu
