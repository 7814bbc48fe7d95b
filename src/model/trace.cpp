// SPDX-License-Identifier: Apache-2.0
#include <pando/model/trace.h>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "graph/rewrite.h"
#include "model/objective.h"

namespace pando {

namespace {

// Within the variables that each parameter has for itself.
constexpr const char* value_name = "value";

}  // namespace

struct Parameter::State {
  std::string name;
  Type type;
  bool trainable;
  Variables variables;
  bool has_adopted = false;
};

Parameter::Parameter(const std::string& name, const Array& value, bool trainable)
    : state_(new State{name, {value.dtype(), value.shape()}, trainable, {}}) {
  state_->variables.set(value_name, value);
}

const std::string& Parameter::name() const { return state_->name; }
const Type& Parameter::type() const { return state_->type; }
bool Parameter::trainable() const { return state_->trainable; }
Array Parameter::value() const { return state_->variables.get(value_name); }

void Parameter::set_value(const Array& value) {
  if (value.shape() != shape())
    throw Error(fmt::format("the weight '{}' has shape {} but the value has shape {}", name(), to_string(shape()),
                            to_string(value.shape())));
  state_->variables.set(value_name, value.astype(type().dtype));
}

void Parameter::adopt(void* data, std::shared_ptr<const void> owner) {
  state_->variables.adopt(value_name, type(), data, std::move(owner));
  state_->has_adopted = true;
}

void Parameter::note_change() {
  if (state_->has_adopted) state_->variables.note_change(value_name);
}

void Parameter::bring_back() {
  if (state_->has_adopted) state_->variables.bring_back(value_name);
}

struct Trace::State {
  Graph& graph;
  bool training;
  std::vector<Parameter> parameters;
  // By what all copies of a parameter share.
  std::unordered_map<const void*, Value> values;
  // What assign_statistic() was given last, of this replica alone.
  std::unordered_map<const void*, Value> statistics;
  std::unordered_map<const void*, std::string> names;
  std::unordered_map<std::string, const void*> owners;
  Value counter;
  Value sample_mask;
  std::vector<Value> promised_rows = {};
  std::vector<Classes> expected_classes = {};
  std::vector<Value> losses = {};
  // How many random ops have drawn with a seed.
  std::unordered_map<std::int64_t, std::int64_t> streams = {};
};

Trace::Trace(Graph& graph, bool training) : state_(new State{graph, training, {}, {}, {}, {}, {}, {}, {}}) {}
Trace::~Trace() = default;

Graph& Trace::graph() const { return state_->graph; }
bool Trace::training() const { return state_->training; }
void Trace::set_training(bool training) { state_->training = training; }
const std::vector<Parameter>& Trace::parameters() const { return state_->parameters; }

void Trace::set_name(const Parameter& parameter, const std::string& name) {
  state_->names.try_emplace(parameter.state_.get(), name);
}

const std::string& Trace::name_of(const Parameter& parameter) const {
  const auto found = state_->names.find(parameter.state_.get());
  return found != state_->names.end() ? found->second : parameter.name();
}

Value Trace::value_of(const Parameter& parameter) {
  const void* key = parameter.state_.get();
  if (const auto known = state_->values.find(key); known != state_->values.end()) return known->second;
  const std::string& name = name_of(parameter);
  if (!state_->owners.try_emplace(name, key).second)
    throw Error(fmt::format("two weights of the model are named '{}'; give their layers different names", name));
  const Type& type = parameter.type();
  const VariableRole role = parameter.trainable() ? VariableRole::weight : VariableRole::statistic;
  state_->parameters.push_back(parameter);
  return state_->values[key] = ops::variable(state_->graph, name, type.dtype, type.shape, role);
}

void Trace::assign(const Parameter& parameter, Value value) {
  if (has_new_statistic(parameter))
    throw Error(
        fmt::format("'{}' is trained by the optimizer, and a layer assigns it a value, too; make it a weight "
                    "that is not trainable",
                    name_of(parameter)));
  state_->graph.assign(value_of(parameter), value);
}

void Trace::assign_statistic(const Parameter& parameter, Value value) {
  const Value variable = value_of(parameter);
  if (has_new_statistic(parameter)) GraphEditor::unassign(state_->graph, variable.id());
  state_->graph.assign(variable, is_floating(value.dtype()) ? ops::replica_mean(value) : value);
  state_->statistics[parameter.state_.get()] = value;
}

Value Trace::current_value_of(const Parameter& parameter) {
  const auto assigned = state_->statistics.find(parameter.state_.get());
  return assigned == state_->statistics.end() ? value_of(parameter) : ops::stop_gradient(assigned->second);
}

bool Trace::has_new_statistic(const Parameter& parameter) const {
  return state_->statistics.contains(parameter.state_.get());
}

std::int64_t Trace::next_stream(std::int64_t seed) { return state_->streams[seed]++; }

std::int32_t Trace::stage_of(const Parameter& parameter) {
  return updating_stage(state_->graph, value_of(parameter).id());
}

Value Trace::counter() {
  if (!state_->counter) state_->counter = ops::counter(state_->graph);
  return state_->counter;
}

Value Trace::update_number() {
  const Graph::StageScope stage(state_->graph, any_stage);
  return ops::cast(ops::reshape(ops::slice(counter(), {0}, {1}), {}), DType::float64);
}
Value Trace::sample_mask() const { return state_->sample_mask; }
void Trace::set_sample_mask(Value mask) { state_->sample_mask = mask; }
void Trace::promise_rows(Value value) { state_->promised_rows.push_back(value); }
const std::vector<Value>& Trace::promised_rows() const { return state_->promised_rows; }
void Trace::expect_classes(const Classes& classes) { state_->expected_classes.push_back(classes); }
const std::vector<Trace::Classes>& Trace::expected_classes() const { return state_->expected_classes; }
void Trace::add_loss(Value term) { state_->losses.push_back(term); }
const std::vector<Value>& Trace::losses() const { return state_->losses; }

void Trace::bind(Variables& variables) const {
  for (const Parameter& parameter : state_->parameters)
    variables.share(name_of(parameter), parameter.state_->variables, value_name);
}

}  // namespace pando
