// SPDX-License-Identifier: Apache-2.0
// What the files that wire the parts together share: a Program from the inside.
#pragma once
#include <pando/program/program.h>

#include <atomic>
#include <map>

#include "compiler/compile_step.h"
#include "runtime/backend.h"
#include "runtime/step_executor.h"

namespace pando {

struct Device::State {
  std::unique_ptr<Backend> backend;
};

struct Variables::State {
  VariableStore store;
};

struct Program::State {
  // [replica * stages + stage].
  std::vector<std::shared_ptr<Device::State>> devices = {};
  StepPlan plan = {};
  std::vector<VariableInfo> variables = {};
  // The processes that run it together, or null.
  std::shared_ptr<Workers> workers = {};
  // One for each replica of this worker.
  std::vector<Variables> replicas = {};
  // One for each device: stages may sum the same value, each for itself.
  std::vector<std::unique_ptr<VariableStore>> sums = {};
  // The copies of the first replica's variables in the other replicas.
  std::vector<VariableCopies> copies = {};
  // The program of one device, whose loop runs there; or the executor for several.
  LoadedPlans whole = {};
  std::unique_ptr<StepExecutor> executor = {};
  // From the last run: the outputs that the host has already, and the results of a divided program. Those are row by
  // row, of the replicas of all workers.
  std::map<std::string, Array> kept = {};
  std::vector<std::byte> results = {};
  std::int64_t rows_run = 0, next_update = 0;
  std::atomic<bool> in_use = false;
  // What step() passes on; kept, so that it allocates nothing.
  std::vector<Place> from = {}, to = {};

  Executable& executable() const { return *whole.executables.front(); }
};

struct Feed::State {
  FeedRing ring;
};

// For tests and tools that look into a program.
class ProgramInside {
 public:
  // The program must be divided.
  static void set_observer(Program& program, StepObserver* observer) {
    program.state_->executor->set_observer(observer);
  }
  static Variables variables_of_replica(const Program& program, int replica) {
    return program.state_->replicas.at(static_cast<std::size_t>(replica));
  }
};

// If set, called with every graph that is compiled on this thread, as the front end made it. Tests and tools use it.
Function<void(const Graph&)>& graph_observer();

}  // namespace pando
