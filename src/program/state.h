// What the files that wire the parts together share: a Program from the inside.
#pragma once
#include <pando/program/program.h>

#include <atomic>
#include <map>

#include "backends/cpu/cpu_backend.h"
#include "compiler/compile_step.h"
#include "runtime/step_executor.h"

namespace pando {

struct Device::State {
  cpu::CpuBackend backend;
};

struct Variables::State {
  VariableStore store;
};

struct Program::State {
  // [replica * stages + stage].
  std::vector<std::shared_ptr<Device::State>> devices = {};
  StepPlan plan = {};
  std::vector<VariableInfo> variables = {};
  // Of each replica.
  std::vector<Variables> replicas = {};
  // Of each device: stages may sum the same value, each for itself.
  std::vector<std::unique_ptr<VariableStore>> sums = {};
  // What the replicas after the first have of the first one's.
  std::vector<VariableCopies> copies = {};
  // One of the two: the loop of one device, or what runs on several.
  std::unique_ptr<Executable> executable = {};
  std::unique_ptr<StepExecutor> executor = {};
  // Of the last run: the outputs that are kept for every step; and what a divided program told, row by row.
  std::map<std::string, Array> every_step = {};
  std::vector<std::byte> results = {};
  std::int64_t rows_run = 0, next_update = 0;
  std::atomic<bool> in_use = false;
};

// For tests and tools that look into a program.
class ProgramInside {
 public:
  // The program is divided.
  static void set_observer(Program& program, StepObserver* observer) {
    program.state_->executor->set_observer(observer);
  }
  static Variables variables_of_replica(const Program& program, int replica) {
    return program.state_->replicas.at(static_cast<std::size_t>(replica));
  }
};

// Told every graph that is compiled on this thread, as the front end made it; empty: none. For tests and tools.
std::function<void(const Graph&)>& graph_observer();

}  // namespace pando
