// Makes a kernel for each call of a plan, by a table with a factory for each op: an op without a kernel does not link.
#include "backends/cpu/cpu_backend.h"

#include "backends/cpu/kernels.h"
#include "backends/cpu/tile_executor.h"

namespace pando::cpu {

namespace {

std::unique_ptr<Kernel> make_kernel_for(const KernelCall& call, const Routines& routines) {
  static constexpr KernelFactory factory_of[] = {
#define PANDO_SOURCE(name) nullptr,
#define PANDO_SPAN(name) nullptr,
#define PANDO_OP(name) factories::name,
#include "ops/ops.def"
  };
  return factory_of[static_cast<std::size_t>(call.op->id)](call, routines);
}

}  // namespace

CpuBackend::CpuBackend(int tiles, std::string_view instruction_set)
    : routines_(routines_for(choose_instruction_set(instruction_set))),
      mixed_routines_(with_mixed_products(routines_)),
      tiles_(std::make_shared<TileGroup>(tiles)) {}

std::unique_ptr<Executable> CpuBackend::load(const Plan& plan, const BindVariable& bind) {
  const Routines& routines = plan.mixed_bfloat16 ? mixed_routines_ : routines_;
  std::vector<std::vector<std::unique_ptr<Kernel>>> kernels;
  for (const Superstep& superstep : plan.supersteps) {
    kernels.emplace_back();
    for (const KernelCall& call : superstep) kernels.back().push_back(make_kernel_for(call, routines));
  }
  return std::make_unique<TileExecutor>(plan, std::move(kernels), tiles_, bind);
}

std::vector<Array> CpuBackend::evaluate(const Node& node, const std::vector<Array>& inputs) {
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
  const auto kernel = make_kernel_for(call, routines_);
  const HostMemory scratch = allocate_host_memory(kernel->scratch_bytes(), "folding constants");
  kernel->run({0, 1, scratch.get(), buffers.data()});
  return results;
}

}  // namespace pando::cpu
