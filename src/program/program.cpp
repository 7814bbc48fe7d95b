// SPDX-License-Identifier: Apache-2.0
// Wires the parts together: the graph of a step in, a program that runs on its devices out.
#include <pando/program/program.h>

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpu/cpu_backend.h"
#include "base/text.h"
#include "comm/start.h"
#include "program/backends.h"
#include "program/state.h"

namespace pando {

Device::Device(const DeviceOptions& options) : state_(new State{make_backend(options)}) {}
int Device::tiles() const { return state_->backend->tiles(); }
std::string Device::backend() const { return state_->backend->name(); }
std::string Device::instruction_set() const { return state_->backend->instruction_set(); }

std::vector<std::string> available_instruction_sets() {
  std::vector<std::string> names;
  for (cpu::InstructionSet set : cpu::available_instruction_sets()) names.emplace_back(cpu::name(set));
  return names;
}

Variables::Variables() : state_(std::make_shared<State>()) {}
void Variables::set(const std::string& name, const Array& value) { state_->store.set(name, value); }
void Variables::adopt(const std::string& name, const Type& type, void* data, std::shared_ptr<const void> owner,
                      const Device& device) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  state_->store.adopt(name, type, {device.state_->backend->memory(), address, std::move(owner)});
}
void Variables::adopt(const std::string& name, const Type& type, void* data, std::shared_ptr<const void> owner) {
  state_->store.adopt(name, type, {host_memory(), reinterpret_cast<std::uintptr_t>(data), std::move(owner)});
}
void Variables::note_change(const std::string& name) { state_->store.note_change(name); }
void Variables::bring_back(const std::string& name) { state_->store.bring_back(name); }
Array Variables::get(const std::string& name) const { return state_->store.get(name); }
std::vector<std::string> Variables::names() const { return state_->store.names(); }
void Variables::share(const std::string& name, const Variables& other, const std::string& other_name) {
  state_->store.share(name, other.state_->store, other_name);
}

std::vector<std::string> compile_passes() { return pass_names(); }

Precision precision_named(const std::string& name) {
  if (name == "float32") return Precision::float32;
  if (name == "mixed_bfloat16") return Precision::mixed_bfloat16;
  if (name == "tf32") return Precision::tf32;
  throw Error(unknown_name("precision", name, {"float32", "mixed_bfloat16", "tf32"}));
}

Function<void(const Graph&)>& graph_observer() {
  thread_local Function<void(const Graph&)> observer;
  return observer;
}

namespace {

// The host folds constants, whatever the backend.
CompileOptions compile_options(const Backend& backend, const ProgramOptions& options) {
  CompileOptions made{.disabled_passes = options.disabled_passes,
                      .check_numerics = options.check_numerics,
                      .mixed_bfloat16 = options.precision == Precision::mixed_bfloat16,
                      .tf32 = options.precision == Precision::tf32,
                      .evaluate = cpu::evaluate,
                      .backend = backend.name(),
                      .capabilities = backend.capabilities(),
                      .prefers_pooled_gradient =
                          [&](const PooledGradientChoice& choice) { return backend.prefers_pooled_gradient(choice); },
                      .why_unsupported = [&](const KernelCall& call) { return backend.why_unsupported(call); }};
  if (options.on_pass)
    made.on_pass = [&](const PassReport& report) {
      options.on_pass({std::string(report.name), report.microseconds, report.text});
    };
  return made;
}

std::vector<VariableInfo> variables_of(const Graph& graph) {
  std::vector<VariableInfo> list;
  for (const Node& node : graph.nodes())
    if (is_role(node, Role::variable))
      list.push_back(
          {node.attributes.text("name"), node.outputs[0], variable_role_named(node.attributes.text("role"))});
  return list;
}

// What replicas add up, on a device; nothing if there is one replica.
HostBlocks blocks_of(const std::vector<VariablePort>& variables, int replicas, const Backend& backend,
                     const BindVariable& bind) {
  HostBlocks blocks;
  if (replicas == 1) return blocks;
  for (const VariablePort& variable : variables) {
    if (variable.type.dtype != DType::float32)
      throw Error(fmt::format("the variable '{}' is {} but only float32 ones can be shared by replicas", variable.name,
                              to_string(variable.type)));
    blocks.add(bind(variable)->mirror_in(backend.memory()).place(),
               static_cast<std::size_t>(variable.type.shape.elements()));
  }
  return blocks;
}

LoadedStage load_stage(const StagePlan& plan, int replicas, Backend& backend, const BindVariable& bind) {
  LoadedStage loaded{.memory = backend.memory(),
                     .programs = backend.load(plan.all(), bind),
                     .sums = blocks_of(plan.sums, replicas, backend, bind),
                     .statistics = blocks_of(plan.statistics, replicas, backend, bind),
                     .link = backend.sum_link()};
  for (const VariablePort& port : plan.statistics) {
    const std::shared_ptr<StoredVariable> statistic = bind(port);
    loaded.statistics_use.add(statistic, true, &statistic->mirror_in(backend.memory()));
  }
  return loaded;
}

// The variables that programs share by name; sums belong to one program.
std::vector<std::string> shared_names(const StepPlan& plan) {
  std::vector<std::string> names;
  for (const StagePlan& stage : plan.stages)
    for (const Plan* program : stage.all()) {
      if (program == nullptr) continue;
      for (const VariablePort& variable : program->variables)
        if (variable.role != VariableRole::sum && std::find(names.begin(), names.end(), variable.name) == names.end())
          names.push_back(variable.name);
    }
  return names;
}

// The number of replicas of this worker.
int replicas_here(const Division& division, const Workers* workers) {
  const int all = std::max(1, division.replicas);
  if (workers == nullptr) return all;
  if (all % workers->count() != 0)
    throw Error(fmt::format("a program of {} replicas cannot be shared by {} workers; give each the same number", all,
                            workers->count()));
  return all / workers->count();
}

}  // namespace

Program::Program(const Graph& graph, const Device& device, const Variables& variables, const ProgramOptions& options)
    : Program(graph, {device}, {}, variables, options) {}

Program::Program(const Graph& graph, const std::vector<Device>& devices, const Division& division,
                 const Variables& variables, const ProgramOptions& options)
    : state_(new State) {
  State& state = *state_;
  for (const Device& device : devices) state.devices.push_back(device.state_);
  state.workers = options.workers;
  const auto replicas = static_cast<std::size_t>(replicas_here(division, options.workers.get()));
  const std::size_t stages = devices.size() / replicas;
  if (division.replicas < 1 || devices.size() != stages * replicas || stages < static_cast<std::size_t>(graph.stages()))
    throw Error(fmt::format("a program of {} replicas of {} stages was given {} devices; give one for each stage",
                            division.replicas, graph.stages(), devices.size()));
  if (division.accumulation < 1)
    throw Error(
        fmt::format("an update of a program was given {} micro-batches; give at least 1", division.accumulation));
  if (!options.workers && !graph.assignments().empty()) warn_of_copies();
  if (graph_observer()) graph_observer()(graph);
  state.plan = compile_step(graph, division, compile_options(*state.devices.front()->backend, options),
                            static_cast<int>(stages));
  state.variables = variables_of(graph);
  for (std::size_t r = 0; r < replicas; ++r) state.replicas.push_back(r == 0 ? variables : Variables());
  for (std::size_t i = 0; i < devices.size(); ++i) state.sums.push_back(std::make_unique<VariableStore>());
  const auto bind_for = [&](std::size_t device) {
    return [&own = state.replicas[device / stages].state_->store, &sums = *state.sums[device],
            &memory = state.devices[device]->backend->memory()](const VariablePort& variable) {
      return (variable.role == VariableRole::sum ? sums : own).bind(variable.name, variable.type, memory);
    };
  };
  if (state.plan.is_whole()) {
    const Plan* const plan = &*state.plan.stages[0].forward;
    state.whole = state.devices[0]->backend->load({&plan, 1}, bind_for(0));
    return;
  }
  std::vector<LoadedStage> loaded;
  for (std::size_t i = 0; i < devices.size(); ++i)
    loaded.push_back(
        load_stage(state.plan.stages[i % stages], state.plan.replicas, *state.devices[i]->backend, bind_for(i)));
  for (std::size_t r = 1; r < state.replicas.size(); ++r)
    state.copies.emplace_back(state.replicas[0].state_->store, state.replicas[r].state_->store,
                              shared_names(state.plan));
  state.executor = std::make_unique<StepExecutor>(state.plan, std::move(loaded), options.workers);
}

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

}  // namespace pando
