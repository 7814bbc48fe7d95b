// What the two files that wire the parts together share.
#pragma once
#include <pando/program/program.h>

#include <atomic>
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
  Plan plan = {};
  std::unique_ptr<Executable> executable = {};
  // Filled by each run: the outputs that are kept for every step.
  std::map<std::string, Array> every_step = {};
  std::atomic<bool> in_use = false;
};

// While it lives, a thread runs a program. Throws Error if another one does.
class ProgramUse {
 public:
  explicit ProgramUse(std::atomic<bool>& in_use) : in_use_(in_use) {
    if (in_use_.exchange(true, std::memory_order_acquire))
      throw Error("run: another thread is running this program; give each thread a program of its own");
  }
  ~ProgramUse() { in_use_.store(false, std::memory_order_release); }
  ProgramUse(const ProgramUse&) = delete;
  ProgramUse& operator=(const ProgramUse&) = delete;

 private:
  std::atomic<bool>& in_use_;
};

// Told every graph that is compiled on this thread, as the front end made it; empty: nobody is. For tests and tools.
std::function<void(const Graph&)>& graph_observer();

// Compiles; constants are folded by the backend's own kernels.
Plan compile_for(Backend& backend, const Graph& graph, const ProgramOptions& options);

}  // namespace pando
