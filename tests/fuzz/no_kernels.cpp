// SPDX-License-Identifier: Apache-2.0
// A backend without kernels: models are read here and never run, and kernels take long to compile.
#include <pando/base/error.h>

#include "backends/cpu/cpu_backend.h"

namespace pando::cpu {

namespace {

const Routines no_routines = {};

}  // namespace

const std::vector<InstructionSet>& available_instruction_sets() {
  static const std::vector<InstructionSet> none;
  return none;
}

std::string_view name(InstructionSet) { return "none"; }

CpuBackend::CpuBackend(int, std::string_view, std::shared_ptr<Memory>)
    : routines_(no_routines), mixed_routines_(no_routines), tiles_(std::make_shared<TileGroup>(1)) {}

std::string CpuBackend::instruction_set() const { return std::string(cpu::name(routines_.instruction_set)); }
std::string CpuBackend::why_unsupported(const KernelCall&) const { return "there are no kernels in a fuzzer"; }

LoadedPlans CpuBackend::load(std::span<const Plan* const>, const BindVariable&) {
  throw InternalError("there are no kernels in a fuzzer");
}

std::vector<Array> evaluate(const Node&, const std::vector<Array>&) {
  throw InternalError("there are no kernels in a fuzzer");
}

}  // namespace pando::cpu
