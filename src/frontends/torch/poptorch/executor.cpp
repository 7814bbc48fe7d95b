// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <tuple>

#include "base/text.h"
#include "frontends/torch/poptorch/executor_state.h"
#include "pando/data/files.h"

namespace pando::poptorch {

using torch::utils::data::BatchLoader;
using torch::utils::data::LoaderState;

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr const char *updates_key = "counter/updates", *optimizer_begin_key = "counter/optimizer_begin";
constexpr const char* loader_key = "loader/seed_epoch_batches";
constexpr const char* model_prefix = "model/";
constexpr const char* optimizer_prefix = "optimizer/";

}  // namespace

std::vector<Type> types_of(const Arrays& arrays) {
  std::vector<Type> types;
  for (const Array& array : arrays) types.push_back(type_of(array));
  return types;
}

void PoplarExecutor::State::check_usable() const {
  if (destroyed) throw Error(fmt::format("{}: the model was destroyed; make a new one", who()));
}

void PoplarExecutor::State::check_attached() const {
  check_usable();
  if (!attached)
    throw Error(fmt::format("{}: no device is attached; {}", who(),
                            step ? "call attachToDevice()" : "first compile the model or call it"));
}

void PoplarExecutor::State::check_arguments(std::size_t count) const {
  if (count != arguments)
    throw Error(fmt::format("{}: forward() takes {} tensor{} but {} given", who(), arguments, arguments == 1 ? "" : "s",
                            count == 1 ? "1 was" : fmt::format("{} were", count)));
}

std::vector<Type> PoplarExecutor::State::micro_batch_types(const std::vector<Type>& inputs) const {
  check_arguments(inputs.size());
  std::vector<Type> types;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i].shape;
    const std::int64_t product = micro_batches();
    if (shape.rank() == 0 || shape[0] == 0 || shape[0] % product != 0)
      throw Error(fmt::format(
          "{}: tensor {} has shape {} but the first size of the first call must be a multiple of {}: "
          "deviceIterations {} x gradientAccumulation {} x replicationFactor {}; later calls may have fewer "
          "samples",
          who(), i, to_string(shape), product, options.state().device_iterations, accumulation(),
          options.state().all_replicas()));
    types.push_back({inputs[i].dtype, joined({shape[0] / product}, shape.part(1, shape.rank()))});
  }
  return types;
}

std::int64_t PoplarExecutor::State::samples_of(const std::vector<Type>& inputs) const {
  check_arguments(inputs.size());
  if (inputs == compiled_for) return micro_batch() * micro_batches();
  // Only the number of samples may differ, along the first axis of all tensors, and only to fewer.
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Type whole = inputs[i];
    const bool has_samples = whole.shape.rank() > 0 && whole.shape[0] > 0 && whole.shape[0] == inputs[0].shape[0] &&
                             whole.shape[0] < compiled_for[0].shape[0];
    if (has_samples) whole.shape[0] = compiled_for[0].shape[0];
    if (whole != compiled_for[i])
      throw Error(fmt::format("{}: tensor {} is {} but the model was compiled for {}; make another model for it", who(),
                              i, to_string(inputs[i]), to_string(compiled_for[i])));
  }
  return inputs[0].shape[0];
}

ModuleStep PoplarExecutor::State::make_step(const std::vector<Type>& inputs, bool masked) {
  if (parts) {
    module = torch::nn::assembled(module.state().kind, parts());
    held.clear();
    for (const torch::nn::NamedParameters& list : {module.named_parameters(), module.named_buffers()})
      for (const auto& [name, parameter] : list) held.push_back(parameter.state().stored);
  }
  const bool keeps_all = output_mode() != OutputMode::Final && rows() > 1;
  return build_step(micro_batch_types(inputs), {.module = module,
                                                .forward = forward,
                                                .passes = passes,
                                                .options = options.state(),
                                                .optimizer = optimizer ? &*optimizer : nullptr,
                                                .variables = variables,
                                                .devices = devices,
                                                .keeps_all = keeps_all,
                                                .masked = masked,
                                                .optimizer_begin = optimizer_begin});
}

void PoplarExecutor::State::build(const std::vector<Type>& inputs) {
  step.emplace(make_step(inputs, false));
  masked_step.reset();
  compiled_for = inputs;
  options.freeze();
  attached = true;
}

void PoplarExecutor::State::set_rates() {
  if (optimizer) torch::optim::set_rates(*optimizer, variables);
}

std::vector<std::string> PoplarExecutor::State::optimizer_states() const {
  std::vector<std::string> names;
  // Before it is compiled, a model has what load() gave it.
  if (!step) return optimizer ? variables.names() : names;
  for (const VariableInfo& variable : step->program.variables())
    if (variable.role == VariableRole::slot) names.push_back(variable.name);
  return names;
}

PoplarExecutor::PoplarExecutor(const torch::nn::Module& module, Forward forward, std::size_t arguments,
                               const Options& options, const std::optional<torch::optim::Optimizer>& optimizer)
    : state_(new State{module, std::move(forward), {}, arguments, options, optimizer}) {
  // The copy does not show its class.
  module.state().kind = torch::nn::kind_of(module);
  if (optimizer) module.train();
}
PoplarExecutor::PoplarExecutor(const std::string& kind, Function<torch::nn::ModuleParts()> parts, Passes passes,
                               std::size_t arguments, const Options& options,
                               const std::optional<torch::optim::Optimizer>& optimizer)
    : state_(new State{torch::nn::assembled(kind, {}), {}, std::move(passes), arguments, options, optimizer}) {
  state_->parts = std::move(parts);
}
PoplarExecutor::~PoplarExecutor() = default;
PoplarExecutor::PoplarExecutor(PoplarExecutor&&) noexcept = default;

bool PoplarExecutor::isCompiled() const {
  const CallLock::Call turn = state_->take_turn();
  return state_->step.has_value();
}

bool PoplarExecutor::isAttachedToDevice() const {
  const CallLock::Call turn = state_->take_turn();
  return state_->attached;
}

void PoplarExecutor::attachToDevice() {
  const CallLock::Call turn = state_->take_turn();
  state_->check_usable();
  if (!state_->step)
    throw Error(fmt::format("{}: compile the model or call it before attachToDevice()", state_->who()));
  if (state_->attached) throw Error(fmt::format("{}: a device is attached already", state_->who()));
  state_->attached = true;
}

void PoplarExecutor::detachFromDevice() {
  const CallLock::Call turn = state_->take_turn();
  state_->check_attached();
  state_->attached = false;
}

void PoplarExecutor::copyWeightsToHost() const {
  const CallLock::Call turn = state_->take_turn();
  state_->check_attached();
}

void PoplarExecutor::copyWeightsToDevice() const { copyWeightsToHost(); }

void PoplarExecutor::compile_for(const Arrays& inputs) {
  const CallLock::Call turn = state_->take_turn();
  state_->check_usable();
  if (state_->step) throw Error(fmt::format("{}: the model is compiled already", state_->who()));
  state_->build(types_of(inputs));
}

Arrays PoplarExecutor::run(const Arrays& inputs) {
  const CallLock::Call turn = state_->take_turn();
  State& state = *state_;
  state.check_usable();
  const std::vector<Type> types = types_of(inputs);
  if (!state.step) state.build(types);
  state.check_attached();
  const State::Call call = state.prepared(types);
  const double begin = seconds();
  state.set_rates();
  for (Parameter& parameter : state.held) parameter.note_change();
  state.run_step(call, inputs);
  for (Parameter& parameter : state.held) parameter.bring_back();
  const double device_end = seconds();
  Arrays outputs;
  for (std::size_t i = 0; i < call.step.outputs.size(); ++i) outputs.push_back(state.collected(call, i));
  PerfCounters& counters = state.counters;
  counters.last = seconds() - begin;
  state.device_seconds = device_end - begin;
  counters.least = counters.calls == 0 ? counters.last : std::min(counters.least, counters.last);
  counters.most = std::max(counters.most, counters.last);
  counters.mean += (counters.last - counters.mean) / static_cast<double>(++counters.calls);
  return outputs;
}

PerfCounters PoplarExecutor::getPerfCounters() const {
  const CallLock::Call turn = state_->take_turn();
  return state_->counters;
}
std::int64_t PoplarExecutor::cycleCount() const {
  if (state_->counters.calls == 0) throw Error(fmt::format("{}: cycleCount needs a call of the model", state_->who()));
  return static_cast<std::int64_t>(state_->device_seconds * 1e9);
}

namespace {

// Whether the second optimizer can continue with what the first keeps for each parameter, such as moments.
bool keeps_states(const torch::optim::Optimizer& first, const torch::optim::Optimizer& second) {
  const auto &a = first.state().groups, &b = second.state().groups;
  const auto state_names = [](const torch::optim::ParameterGroup& group) {
    std::vector<std::string> names = {group.rule.name};
    for (const UpdateRule::State& state : group.rule.states) names.push_back(state.name);
    return names;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& one, const auto& other) {
    return one.parameters == other.parameters && state_names(one) == state_names(other);
  });
}

}  // namespace

void PoplarExecutor::setOptimizer(const torch::optim::Optimizer& optimizer) {
  const CallLock::Call turn = state_->take_turn();
  State& state = *state_;
  state.check_usable();
  if (!state.optimizer) throw Error("setOptimizer: an inferenceModel has no optimizer");
  const bool was_attached = state.attached;
  const std::tuple before(*state.optimizer, state.variables, state.optimizer_begin);
  if (!keeps_states(*state.optimizer, optimizer)) {
    state.variables = Variables();
    state.optimizer_begin = state.updates;
  }
  state.optimizer = optimizer;
  if (!state.step) return;
  // The update is part of the program, which is compiled again.
  try {
    state.build(std::vector(state.compiled_for));
  } catch (...) {
    std::tie(state.optimizer, state.variables, state.optimizer_begin) = before;
    throw;
  }
  state.attached = was_attached;
}

void PoplarExecutor::rebuild() {
  const CallLock::Call turn = state_->take_turn();
  State& state = *state_;
  if (!state.step) return;
  Variables states;
  for (const std::string& name : state.optimizer_states()) states.share(name, state.variables, name);
  state.variables = states;
  const bool was_attached = state.attached;
  state.build(std::vector(state.compiled_for));
  state.attached = was_attached;
}

void PoplarExecutor::save(const std::string& path) const { state_->save(path, nullptr); }
void PoplarExecutor::save(const std::string& path, const BatchLoader& loader) const { state_->save(path, &loader); }
void PoplarExecutor::load(const std::string& path) { state_->load(path, nullptr); }
void PoplarExecutor::load(const std::string& path, BatchLoader& loader) { state_->load(path, &loader); }

void PoplarExecutor::State::save(const std::string& path, const BatchLoader* loader) const {
  const CallLock::Call turn = take_turn();
  const State& state = *this;
  check_usable();
  std::map<std::string, Array> arrays = {{updates_key, Array::scalar(state.updates)},
                                         {optimizer_begin_key, Array::scalar(state.optimizer_begin)}};
  for (const auto& [name, value] : state.module.state_dict()) arrays[model_prefix + name] = value;
  for (const std::string& name : state.optimizer_states()) arrays[optimizer_prefix + name] = state.variables.get(name);
  if (loader != nullptr) {
    const LoaderState at = loader->state();
    arrays[loader_key] = Array::of<std::int64_t>({static_cast<std::int64_t>(at.seed), at.epoch, at.batches}, {3});
  }
  data::write_npz(path, arrays);
}

void PoplarExecutor::State::load(const std::string& path, BatchLoader* loader) {
  const CallLock::Call turn = take_turn();
  State& state = *this;
  check_usable();
  std::optional<LoaderState> position;
  torch::nn::StateDict weights;
  std::map<std::string, Array> states;
  std::int64_t updates = 0, optimizer_begin = 0;
  for (const auto& [key, array] : data::read_npz(path)) {
    if (key == updates_key) updates = array.item<std::int64_t>();
    else if (key == optimizer_begin_key) optimizer_begin = array.item<std::int64_t>();
    else if (key == loader_key && array.dtype() == DType::int64 && array.elements() == 3) {
      const std::int64_t* at = array.data<std::int64_t>();
      position = LoaderState{static_cast<std::uint64_t>(at[0]), at[1], at[2]};
    } else if (key.starts_with(model_prefix)) weights[key.substr(std::strlen(model_prefix))] = array;
    else if (key.starts_with(optimizer_prefix)) states[key.substr(std::strlen(optimizer_prefix))] = array;
    else throw Error(fmt::format("load: {} is not a model file: it has an array named '{}'", path, key));
  }
  if (state.optimizer) {
    const std::vector<std::string> known = state.variables.names();
    for (const auto& [name, array] : states)
      if (std::find(known.begin(), known.end(), name) != known.end() &&
          state.variables.get(name).shape() != array.shape())
        throw Error(fmt::format("load: {} has '{}' with shape {} but the optimizer's has shape {}", path, name,
                                to_string(array.shape()), to_string(state.variables.get(name).shape())));
  }
  if (loader != nullptr && !position)
    throw Error(
        fmt::format("load: {} says nothing of a data loader; save it with the loader, or load it without", path));
  // It refuses a state that does not fit before anything is changed, and is put back if the weights do not fit.
  const std::optional<LoaderState> before = loader != nullptr ? std::optional(loader->state()) : std::nullopt;
  if (loader != nullptr) loader->load_state(*position);
  try {
    state.module.load_state_dict(weights);
  } catch (...) {
    if (loader != nullptr) loader->load_state(*before);
    throw;
  }
  if (!state.optimizer) return;
  for (const auto& [name, array] : states) state.variables.set(name, array);
  state.updates = updates;
  // This number is part of the program.
  if (std::exchange(state.optimizer_begin, optimizer_begin) == optimizer_begin || !state.step) return;
  const bool was_attached = state.attached;
  state.build(std::vector(state.compiled_for));
  state.attached = was_attached;
}

void PoplarExecutor::destroy() {
  const CallLock::Call turn = state_->take_turn();
  state_->check_usable();
  state_->step.reset();
  state_->masked_step.reset();
  state_->devices.clear();
  state_->attached = false;
  state_->destroyed = true;
}

}  // namespace pando::poptorch
