// What the two files that wire the parts together share.
#pragma once
#include <pando/program.h>

#include <map>

#include "backends/cpu/cpu_backend.h"
#include "compiler/compile.h"

namespace pando {

struct Device::State {
  cpu::CpuBackend backend;
};

struct Variables::State {
  VariableStore store;
};

struct Program::State {
  std::shared_ptr<Device::State> device;
  std::shared_ptr<Variables::State> variables;
  Plan plan;
  std::unique_ptr<Executable> executable;
  // Of the variables that the program assigns: others who keep copies must know.
  std::vector<std::uint64_t*> versions;
  // Filled by each run: the outputs that are kept for every step.
  std::map<std::string, Array> every_step;
};

// Told every graph that is compiled on this thread, as the front end made it; empty: nobody is. For tests and tools.
std::function<void(const Graph&)>& graph_observer();

// The names of the variables that take a value at the end of a step.
std::vector<std::string> assigned_variables(const Graph& graph);

// Compiles; constants are folded by the backend's own kernels.
Plan compile_for(Backend& backend, const Graph& graph, const ProgramOptions& options);

}  // namespace pando
