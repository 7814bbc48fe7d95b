// SPDX-License-Identifier: Apache-2.0
#include "frontends/tf1/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontends/tf1/session.h"

namespace pando::tf1 {

namespace {

constexpr const char* source_kind = "tf1.Source";

}  // namespace

std::vector<Tensor> make_source(const std::string& name, Source source, std::vector<Type> types) {
  return TensorRecorder::source({.name = name,
                                 .kind = source_kind,
                                 .inputs = {},
                                 .function = {},
                                 .outputs = std::move(types),
                                 .layer = std::make_shared<Source>(std::move(source))});
}

const Source* source_of(const Tensor& tensor) {
  const auto& recording = tensor.state().recording;
  if (!recording || recording->kind != source_kind) return nullptr;
  return static_cast<const Source*>(recording->layer.get());
}

DefaultGraph& DefaultGraph::current() {
  static DefaultGraph graph;
  return graph;
}

std::size_t DefaultGraph::add(const Parameter& parameter) {
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].parameter == parameter) return cleared_ + i;
  entries_.push_back(
      {parameter.name(), [parameter, first = parameter.value()] { Parameter(parameter).set_value(first); }, parameter});
  return end() - 1;
}

std::size_t DefaultGraph::add(const std::string& name, Function<void()> reset) {
  entries_.push_back({name, std::move(reset)});
  return end() - 1;
}

const Parameter* DefaultGraph::find(const std::string& name) const {
  for (const Entry& entry : entries_)
    if (entry.parameter && entry.name == name) return &*entry.parameter;
  return nullptr;
}

std::map<std::string, Parameter> DefaultGraph::parameters() const {
  std::map<std::string, Parameter> list;
  for (const Entry& entry : entries_)
    if (entry.parameter && !list.emplace(entry.name, *entry.parameter).second)
      throw Error(fmt::format("save: two variables are named '{}'; give their layers other names", entry.name));
  return list;
}

std::string DefaultGraph::unique_name(const std::string& name) const {
  const auto taken = [&](const std::string& candidate) {
    return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == candidate; });
  };
  if (!taken(name)) return name;
  for (int number = 1;; ++number)
    if (const std::string candidate = fmt::format("{}_{}", name, number); !taken(candidate)) return candidate;
}

void DefaultGraph::reset(std::size_t end) const {
  for (std::size_t i = cleared_; i < end; ++i) entries_[i - cleared_].reset();
}

void DefaultGraph::clear() {
  cleared_ = end();
  entries_.clear();
  computations_.clear();
  sources_.clear();
}

void DefaultGraph::forget_since(std::size_t entry) {
  for (std::size_t i = std::max(entry, cleared_); i < end(); ++i) entries_[i - cleared_] = {"", [] {}};
}

void DefaultGraph::add(const std::string& kind, const std::weak_ptr<DataSource>& source) {
  const auto same = std::count_if(sources_.begin(), sources_.end(), [&](const auto& known) {
    return known.first == kind || known.first.starts_with(kind + "_");
  });
  sources_.emplace_back(same == 0 ? kind : fmt::format("{}_{}", kind, same), source);
}

std::vector<std::shared_ptr<Computation>> DefaultGraph::computations() const {
  std::vector<std::shared_ptr<Computation>> list;
  for (const auto& known : computations_)
    if (auto computation = known.lock()) list.push_back(std::move(computation));
  return list;
}

std::vector<std::pair<std::string, std::shared_ptr<DataSource>>> DefaultGraph::sources() const {
  std::vector<std::pair<std::string, std::shared_ptr<DataSource>>> list;
  for (const auto& [name, known] : sources_)
    if (auto source = known.lock()) list.emplace_back(name, std::move(source));
  return list;
}

Outputs::Outputs(std::initializer_list<Output> list) : Outputs(std::vector<Output>(list)) {}

Outputs::Outputs(const std::vector<Output>& list) {
  for (const Output& output : list) {
    if (const auto* tensor = std::get_if<Tensor>(&output.value)) tensors_.push_back(*tensor);
    else operations_.push_back(std::get<Operation>(output.value));
  }
}

Tensor Outputs::tensor(std::size_t index) const {
  if (index >= tensors_.size())
    throw Error(fmt::format("Outputs: there is no tensor {}, there are {}", index, tensors_.size()));
  return tensors_[index];
}

Operation Outputs::operation(std::size_t index) const {
  if (index >= operations_.size())
    throw Error(fmt::format("Outputs: there is no operation {}, there are {}", index, operations_.size()));
  return operations_[index];
}

Outputs TracedFunction::operator()(const std::string& who, const std::vector<Tensor>& inputs) const {
  if (inputs.size() != arguments_)
    throw Error(fmt::format("{}: the function takes {} tensor{} but is given {}", who, arguments_,
                            arguments_ == 1 ? "" : "s", inputs.size()));
  return call_(inputs);
}

Tensor placeholder(DType dtype, const Shape& shape, const std::string& name) {
  return make_source(name, {.kind = Source::Kind::placeholder}, {{dtype, shape}})[0];
}

Tensor constant(const Array& value) {
  if (Trace* trace = current_trace()) return {*trace, ops::constant(trace->graph(), value)};
  return make_source("Const", {.kind = Source::Kind::constant, .constant = value.clone()}, {type_of(value)})[0];
}

Variable::Variable(const Array& initial_value, const VariableOptions& options)
    : parameter_(DefaultGraph::current().unique_name(options.name.empty() ? "Variable" : options.name), initial_value,
                 options.trainable) {
  DefaultGraph::current().add(parameter_);
}

Variable::operator Tensor() const {
  if (Trace* trace = current_trace()) return {*trace, trace->value_of(parameter_)};
  return make_source(name(), {.kind = Source::Kind::variable, .variable = parameter_}, {parameter_.type()})[0];
}

bool Variable::exists() const {
  const Parameter* known = DefaultGraph::current().find(name());
  return known != nullptr && *known == parameter_;
}

Operation Variable::assign(const Tensor& value) const {
  Trace* trace = current_trace();
  if (trace == nullptr)
    throw Error(fmt::format("assign: '{}' can only be assigned within a computation that is compiled", name()));
  // Both would be made from the value at the start of the step.
  if (trace->has_new_statistic(parameter_))
    throw Error(fmt::format(
        "assign: '{}' is assigned twice in one step, at whose end it takes one value; assign it once", name()));
  trace->assign_statistic(parameter_, values_in(*trace, "assign", {value})[0]);
  return {};
}

Variable get_variable(const std::string& name, const Array& initial_value, bool trainable) {
  const Parameter* known = DefaultGraph::current().find(name);
  if (known == nullptr) return Variable(initial_value, {.name = name, .trainable = trainable});
  if (known->type() != type_of(initial_value))
    throw Error(fmt::format("get_variable: '{}' is {} already, not {}", name, to_string(known->type()),
                            to_string(type_of(initial_value))));
  return Variable(*known);
}

Operation global_variables_initializer() {
  return Operation(std::make_shared<const OperationState>(
      OperationState{[end = DefaultGraph::current().end()](Session::State& session) {
        DefaultGraph::current().reset(end);
        session.set_initialised(end);
      }}));
}

void reset_default_graph() { DefaultGraph::current().clear(); }

}  // namespace pando::tf1
