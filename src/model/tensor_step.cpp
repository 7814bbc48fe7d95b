// SPDX-License-Identifier: Apache-2.0
// The graph is kept: when the memory of a variable changes, only the program is made again.
#include <pando/model/tensor_step.h>

#include <fmt/format.h>

#include <algorithm>

#include "model/fed_indices.h"
#include "model/target.h"
#include "model/tensor.h"

namespace pando {

namespace {

std::string fed_name(std::size_t index) { return fmt::format("input{}", index); }

}  // namespace

struct TensorStep::State {
  std::string name;
  std::vector<Type> inputs;
  std::vector<TensorStepVariable> variables;
  Device device;
  Precision precision;
  Graph graph = {};
  std::vector<Type> outputs = {};
  std::vector<FedIndices> fed_indices = {};
  // Where the variables of the program are.
  std::vector<void*> held = {};
  std::optional<Program> program = {};
  // For each feed of the program, its input: the compiler leaves those out that nothing depends on.
  std::vector<std::size_t> input_of_feed = {};
  // What run() passes on; kept, so that it allocates nothing.
  std::vector<const std::byte*> fed = {};

  void trace(const Body& body);
  void compile(const std::vector<HeldMemory>& memory);
};

void TensorStep::State::trace(const Body& body) {
  Trace trace(graph, true);
  const TraceScope scope(trace);
  std::vector<Tensor> given, kept;
  std::vector<std::string> names;
  for (const Type& type : inputs) {
    names.push_back(fed_name(names.size()));
    given.emplace_back(trace, ops::input(graph, names.back(), type.dtype, type.shape));
  }
  for (const auto& [variable, type, role] : variables)
    kept.emplace_back(trace, ops::variable(graph, variable, type.dtype, type.shape, role));
  const Results results = body(given, kept, Tensor(trace, trace.counter()));
  const auto check = [&](const Tensor& tensor) {
    if (!belongs_to(tensor, trace)) throw Error(fmt::format("{}: it returns a tensor of another trace", name));
  };
  for (const Tensor& output : results.outputs) {
    check(output);
    graph.add_output(fmt::format("output{}", outputs.size()), output.value());
    outputs.push_back(output.state().type);
  }
  for (const auto& [variable, value] : results.assigned) {
    check(value);
    const TensorStepVariable& target = variables.at(variable);
    if (value.state().type != target.type)
      throw Error(fmt::format("{}: the variable '{}' is {} and cannot become {}", name, target.name,
                              to_string(target.type), to_string(value.state().type)));
    graph.assign(kept[variable].value(), value.value());
  }
  // The host checks only what it can read.
  if (device.backend() == "cpu") fed_indices = find_fed_indices(trace, names);
}

void TensorStep::State::compile(const std::vector<HeldMemory>& memory) {
  program.reset();
  Variables stored;
  for (std::size_t i = 0; i < variables.size(); ++i)
    stored.adopt(variables[i].name, variables[i].type, memory[i].data, memory[i].owner, device);
  program.emplace(graph, device, stored, ProgramOptions{.precision = precision});
  held.clear();
  for (const HeldMemory& variable : memory) held.push_back(variable.data);
  input_of_feed.clear();
  for (const PortInfo& port : program->feeds())
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (port.name == fed_name(i)) input_of_feed.push_back(i);
  fed.resize(input_of_feed.size());
}

TensorStep::TensorStep(const std::string& name, const std::vector<Type>& inputs,
                       const std::vector<TensorStepVariable>& variables, const Body& body,
                       const TensorStepOptions& options)
    : state_(new State{name, inputs, variables, options.device ? *options.device : host_target()->ipus.front(),
                       options.precision}) {
  state_->trace(body);
}
TensorStep::~TensorStep() = default;
TensorStep::TensorStep(TensorStep&&) noexcept = default;

std::vector<Type> TensorStep::outputs() const { return state_->outputs; }

void TensorStep::hold(const std::vector<HeldMemory>& variables) {
  if (variables.size() != state_->variables.size())
    throw Error(fmt::format("{}: the memory of {} variables was given but it has {}", state_->name, variables.size(),
                            state_->variables.size()));
  const bool is_same = state_->program && std::equal(variables.begin(), variables.end(), state_->held.begin(),
                                                     [](const auto& given, void* had) { return given.data == had; });
  if (!is_same) state_->compile(variables);
}

void TensorStep::run(std::span<const void* const> inputs, std::span<void* const> outputs, std::int64_t update) {
  State& state = *state_;
  if (!state.program) throw Error(fmt::format("{}: call hold() before run()", state.name));
  if (inputs.size() != state.inputs.size() || outputs.size() != state.outputs.size())
    throw Error(fmt::format("{}: {} inputs and {} outputs were given but it has {} and {}", state.name, inputs.size(),
                            outputs.size(), state.inputs.size(), state.outputs.size()));
  const auto bytes_of = [&](std::size_t input) { return static_cast<const std::byte*>(inputs[input]); };
  for (const FedIndices& indices : state.fed_indices)
    indices.check(bytes_of(indices.column), state.inputs[indices.column].shape.elements());
  for (std::size_t i = 0; i < state.fed.size(); ++i) state.fed[i] = bytes_of(state.input_of_feed[i]);
  static_assert(sizeof(std::byte*) == sizeof(void*));
  state.program->step(state.fed, {reinterpret_cast<std::byte* const*>(outputs.data()), outputs.size()}, update);
}

const Program& TensorStep::program() const {
  if (!state_->program) throw Error(fmt::format("{}: call hold() before program()", state_->name));
  return *state_->program;
}

}  // namespace pando
