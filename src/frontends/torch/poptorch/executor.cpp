#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/text.h"
#include "frontends/torch/poptorch/step.h"
#include "pando/array_functions.h"
#include "pando/data/files.h"
#include "pando/poptorch/model.h"

namespace pando::poptorch {

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::vector<Type> types_of(const Arrays& arrays) {
  std::vector<Type> types;
  for (const Array& array : arrays) types.push_back(type_of(array));
  return types;
}

Shape joined(const Integers& first, const Shape& shape, int from) {
  Shape result;
  for (std::int64_t size : first) result.append(size);
  for (int axis = from; axis < shape.rank(); ++axis) result.append(shape[axis]);
  return result;
}

// [batches, ...] as a call returns it: samples of all batches along axis 0, or a number for each batch.
Array flattened(const Array& batches, const Type& of_batch) {
  if (of_batch.shape.rank() == 0) return batches;
  return batches.reshape(joined({batches.shape()[0] * of_batch.shape[0]}, of_batch.shape, 1));
}

constexpr const char* updates_key = "counter/updates";
constexpr const char* model_prefix = "model/";
constexpr const char* optimizer_prefix = "optimizer/";

}  // namespace

struct PoplarExecutor::State {
  torch::nn::Module module;
  Forward forward;
  std::size_t arguments;
  Options options;
  std::optional<torch::optim::Optimizer> optimizer;
  Variables variables = {};
  std::optional<Step> step = {};
  // Of a whole call, as it was compiled for.
  std::vector<Type> compiled_for = {};
  bool attached = false, destroyed = false;
  std::int64_t updates = 0;
  PerfCounters counters = {};
  double device_seconds = 0.0;

  const char* who() const { return optimizer ? "trainingModel" : "inferenceModel"; }
  std::int64_t accumulation() const { return optimizer ? options.state().accumulation : 1; }
  // Rows of a micro-batch for each replica.
  std::int64_t rows() const { return options.state().device_iterations * accumulation(); }
  std::int64_t micro_batches() const { return rows() * options.state().replicas; }
  OutputMode output_mode() const {
    const OutputMode mode = options.state().output_mode;
    if (mode != OutputMode::Default) return mode;
    return optimizer ? OutputMode::Final : OutputMode::All;
  }

  void check_usable() const;
  void check_attached() const;
  // `inputs`: those of a whole call.
  std::vector<Type> micro_batch_types(const std::vector<Type>& inputs) const;
  void check_unchanged(const std::vector<Type>& inputs) const;
  void build(const std::vector<Type>& inputs);
  void set_rates();
  void run_step(const Arrays& inputs);
  void run_once(const Arrays& inputs);
  FillFeeds filler(const Arrays& inputs) const;
  Array collected(std::size_t output) const;
  std::vector<std::string> optimizer_states() const;

  // Outputs of a call of one micro-batch, which is not run as a loop.
  std::vector<Array> single_outputs = {};
};

void PoplarExecutor::State::check_usable() const {
  if (destroyed) throw Error(fmt::format("{}: the model was destroyed; make a new one", who()));
}

void PoplarExecutor::State::check_attached() const {
  check_usable();
  if (!attached)
    throw Error(fmt::format("{}: no device is attached; {}", who(),
                            step ? "call attachToDevice()" : "compile the model, or call it, before"));
}

std::vector<Type> PoplarExecutor::State::micro_batch_types(const std::vector<Type>& inputs) const {
  if (inputs.size() != arguments)
    throw Error(fmt::format("{}: forward() takes {} tensor{} but {} given", who(), arguments, arguments == 1 ? "" : "s",
                            inputs.size() == 1 ? "1 was" : fmt::format("{} were", inputs.size())));
  std::vector<Type> types;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i].shape;
    const std::int64_t product = micro_batches();
    if (shape.rank() == 0 || shape[0] == 0 || shape[0] % product != 0)
      throw Error(
          fmt::format("{}: tensor {} has shape {} but its first size must be a multiple of {}: deviceIterations {} x "
                      "gradientAccumulation {} x replicationFactor {}",
                      who(), i, to_string(shape), product, options.state().device_iterations, accumulation(),
                      options.state().replicas));
    types.push_back({inputs[i].dtype, joined({shape[0] / product}, shape, 1)});
  }
  return types;
}

void PoplarExecutor::State::check_unchanged(const std::vector<Type>& inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] != compiled_for[i])
      throw Error(fmt::format("{}: tensor {} is {} but the model was compiled for {}; make another model for it", who(),
                              i, to_string(inputs[i]), to_string(compiled_for[i])));
}

void PoplarExecutor::State::build(const std::vector<Type>& inputs) {
  const std::vector<Type> types = micro_batch_types(inputs);
  const OutputMode mode = output_mode();
  const bool keeps_all = mode != OutputMode::Final && rows() > 1;
  step.emplace(
      build_step(types, {module, forward, options.state(), optimizer ? &*optimizer : nullptr, variables, keeps_all}));
  compiled_for = inputs;
  options.freeze();
  attached = true;
}

void PoplarExecutor::State::set_rates() {
  if (!optimizer) return;
  for (std::size_t i = 0; i < optimizer->param_groups(); ++i)
    variables.set(rate_variable(i), Array::scalar(static_cast<float>(optimizer->lr(i))));
}

FillFeeds PoplarExecutor::State::filler(const Arrays& inputs) const {
  const std::vector<PortInfo> feeds = step->feeds();
  const std::int64_t replicas = options.state().replicas, group = accumulation(), total = rows();
  std::vector<int> input_of(feeds.size(), -1);
  for (std::size_t f = 0; f < feeds.size(); ++f)
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (feeds[f].name == input_feed(i)) input_of[f] = static_cast<int>(i);
  return [=, first_update = updates](std::int64_t row, std::span<std::byte* const> memory) {
    if (row >= total) return false;
    for (std::int64_t r = 0; r < replicas; ++r)
      for (std::size_t f = 0; f < feeds.size(); ++f) {
        std::byte* to = memory[static_cast<std::size_t>(r) * feeds.size() + f];
        if (input_of[f] < 0) {
          // The update, and the number of the micro-batch's first sample within it.
          const Shape& shape = inputs[0].shape();
          const std::int64_t micro_batch = shape[0] / (total * replicas);
          const std::int32_t counter[2] = {static_cast<std::int32_t>(first_update + row / group),
                                           static_cast<std::int32_t>((row % group * replicas + r) * micro_batch)};
          std::memcpy(to, counter, sizeof counter);
          continue;
        }
        const Array& input = inputs[static_cast<std::size_t>(input_of[f])];
        const std::size_t bytes = input.bytes() / static_cast<std::size_t>(total * replicas);
        std::memcpy(to, input.raw() + static_cast<std::size_t>(row * replicas + r) * bytes, bytes);
      }
    return true;
  };
}

void PoplarExecutor::State::run_once(const Arrays& inputs) {
  const std::int32_t counter[2] = {static_cast<std::int32_t>(updates), 0};
  std::vector<const std::byte*> feeds;
  for (const PortInfo& feed : step->feeds()) {
    const std::byte* memory = reinterpret_cast<const std::byte*>(counter);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (feed.name == input_feed(i)) memory = inputs[i].raw();
    feeds.push_back(memory);
  }
  single_outputs.clear();
  std::vector<std::byte*> outputs;
  for (const PortInfo& output : step->program->outputs())
    outputs.push_back(
        single_outputs.emplace_back(Array::uninitialised(output.type.dtype, output.type.shape)).mutable_raw());
  step->program->step(feeds, outputs);
}

void PoplarExecutor::State::run_step(const Arrays& inputs) {
  if (step->program && rows() == 1) run_once(inputs);
  else if (step->program) {
    Feed feed(*step->program, filler(inputs));
    step->program->run(rows(), feed);
  } else {
    ParallelFeed feed(*step->parallel, filler(inputs));
    step->parallel->run({.rows_per_update = optimizer ? accumulation() : rows(),
                         .updates = optimizer ? options.state().device_iterations : 1,
                         .first_update = updates},
                        feed);
  }
  if (optimizer) updates += options.state().device_iterations;
}

Array PoplarExecutor::State::collected(std::size_t output) const {
  const Type& type = step->outputs[output];
  const std::string name = output_name(output);
  const std::int64_t replicas = options.state().replicas;
  if (step->program && rows() == 1) {
    const Array& value = single_outputs[output];
    return output_mode() == OutputMode::All && type.shape.rank() == 0 ? value.reshape({1}) : value;
  }
  if (step->program && output_mode() == OutputMode::Final) return step->program->output(name);
  // [rows, replicas, ...].
  const Array rows_of = step->program ? expand_dims(step->program->output(name), 1) : step->parallel->result(name);
  const std::int64_t count = rows_of.shape()[0];
  const auto batches = [&](const Array& rows_taken) {
    return flattened(rows_taken.reshape(joined({rows_taken.shape()[0] * replicas}, type.shape, 0)), type);
  };
  const auto of_replicas = [&](const Array& row) {
    const Array result = batches(row);
    return replicas == 1 && type.shape.rank() == 0 ? result.reshape({}) : result;
  };
  switch (output_mode()) {
    case OutputMode::Sum: return of_replicas(sum(rows_of, 0, true).astype(type.dtype));
    case OutputMode::EveryN: {
      std::vector<std::int64_t> chosen;
      for (std::int64_t row = options.state().output_period; row <= count; row += options.state().output_period)
        chosen.push_back(row - 1);
      return batches(take(rows_of, chosen));
    }
    case OutputMode::Final: return of_replicas(rows_of.slice(count - 1, count));
    default: return batches(rows_of);
  }
}

std::vector<std::string> PoplarExecutor::State::optimizer_states() const {
  std::vector<std::string> names;
  if (!optimizer) return names;
  for (const std::string& name : variables.names())
    for (const auto& group : optimizer->state().groups)
      if (name.starts_with(group.rule.name + "/") && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  return names;
}

PoplarExecutor::PoplarExecutor(const torch::nn::Module& module, Forward forward, std::size_t arguments,
                               const Options& options, const std::optional<torch::optim::Optimizer>& optimizer)
    : state_(new State{module, std::move(forward), arguments, options, optimizer}) {
  // The copy does not show its class.
  module.state().kind = torch::nn::kind_of(module);
  if (optimizer) module.train();
}
PoplarExecutor::~PoplarExecutor() = default;
PoplarExecutor::PoplarExecutor(PoplarExecutor&&) noexcept = default;

bool PoplarExecutor::isCompiled() const { return state_->step.has_value(); }
bool PoplarExecutor::isAttachedToDevice() const { return state_->attached; }

void PoplarExecutor::attachToDevice() {
  state_->check_usable();
  if (!state_->step)
    throw Error(fmt::format("{}: compile the model, or call it, before attachToDevice()", state_->who()));
  if (state_->attached) throw Error(fmt::format("{}: a device is attached already", state_->who()));
  state_->attached = true;
}

void PoplarExecutor::detachFromDevice() {
  state_->check_attached();
  state_->attached = false;
}

void PoplarExecutor::copyWeightsToHost() const { state_->check_attached(); }
void PoplarExecutor::copyWeightsToDevice() const { state_->check_attached(); }

void PoplarExecutor::compile_for(const Arrays& inputs) {
  state_->check_usable();
  if (state_->step) throw Error(fmt::format("{}: the model is compiled already", state_->who()));
  state_->build(types_of(inputs));
}

Arrays PoplarExecutor::run(const Arrays& inputs) {
  State& state = *state_;
  state.check_usable();
  const std::vector<Type> types = types_of(inputs);
  if (!state.step) state.build(types);
  state.check_attached();
  state.micro_batch_types(types);
  state.check_unchanged(types);
  const double begin = seconds();
  state.set_rates();
  state.run_step(inputs);
  const double device_end = seconds();
  Arrays outputs;
  for (std::size_t i = 0; i < state.step->outputs.size(); ++i) outputs.push_back(state.collected(i));
  PerfCounters& counters = state.counters;
  counters.last = seconds() - begin;
  state.device_seconds = device_end - begin;
  counters.least = counters.calls == 0 ? counters.last : std::min(counters.least, counters.last);
  counters.most = std::max(counters.most, counters.last);
  counters.mean += (counters.last - counters.mean) / static_cast<double>(++counters.calls);
  return outputs;
}

PerfCounters PoplarExecutor::getPerfCounters() const { return state_->counters; }
std::int64_t PoplarExecutor::cycleCount() const {
  if (state_->counters.calls == 0) throw Error(fmt::format("{}: cycleCount needs a call of the model", state_->who()));
  return static_cast<std::int64_t>(state_->device_seconds * 1e9);
}

void PoplarExecutor::setOptimizer(const torch::optim::Optimizer& optimizer) {
  State& state = *state_;
  state.check_usable();
  if (!state.optimizer) throw Error("setOptimizer: an inferenceModel has no optimizer");
  const bool was_attached = state.attached;
  const auto before = std::exchange(state.optimizer, optimizer);
  if (!state.step) return;
  // The update is part of the program: it is compiled again, and weights, states and counters stay.
  try {
    state.build(std::vector(state.compiled_for));
  } catch (...) {
    state.optimizer = before;
    throw;
  }
  state.attached = was_attached;
}

void PoplarExecutor::save(const std::string& path) const {
  const State& state = *state_;
  state.check_usable();
  std::map<std::string, Array> arrays = {{updates_key, Array::scalar(state.updates)}};
  for (const auto& [name, value] : state.module.state_dict()) arrays[model_prefix + name] = value;
  for (const std::string& name : state.optimizer_states()) arrays[optimizer_prefix + name] = state.variables.get(name);
  data::write_npz(path, arrays);
}

void PoplarExecutor::load(const std::string& path) {
  State& state = *state_;
  state.check_usable();
  torch::nn::StateDict weights;
  std::map<std::string, Array> states;
  std::int64_t updates = 0;
  for (const auto& [key, array] : data::read_npz(path)) {
    if (key == updates_key) updates = array.item<std::int64_t>();
    else if (key.starts_with(model_prefix)) weights[key.substr(std::strlen(model_prefix))] = array;
    else if (key.starts_with(optimizer_prefix)) states[key.substr(std::strlen(optimizer_prefix))] = array;
    else throw Error(fmt::format("load: {} is no file of a model: it has an array named '{}'", path, key));
  }
  if (state.optimizer) {
    const std::vector<std::string> known = state.variables.names();
    for (const auto& [name, array] : states)
      if (std::find(known.begin(), known.end(), name) != known.end() &&
          state.variables.get(name).shape() != array.shape())
        throw Error(fmt::format("load: {} has '{}' with shape {} but the optimizer's has shape {}", path, name,
                                to_string(array.shape()), to_string(state.variables.get(name).shape())));
  }
  state.module.load_state_dict(weights);
  if (!state.optimizer) return;
  for (const auto& [name, array] : states) state.variables.set(name, array);
  state.updates = updates;
}

void PoplarExecutor::destroy() {
  state_->check_usable();
  state_->step.reset();
  state_->attached = false;
  state_->destroyed = true;
}

}  // namespace pando::poptorch
