// What the two files that wire the parts together share.
#pragma once
#include <pando/program.h>

#include "backends/cpu/cpu_backend.h"
#include "compiler/compile.h"

namespace pando {

struct Device::State {
  cpu::CpuBackend backend;
};

struct Variables::State {
  VariableStore store;
};

// Compiles; constants are folded by the backend's own kernels.
Plan compile_for(Backend& backend, const Graph& graph, const ProgramOptions& options);

}  // namespace pando
