#include <pando/model/trace.h>

#include <fmt/format.h>

#include <algorithm>

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

struct Trace::State {
  Graph& graph;
  bool training;
  std::vector<Parameter> parameters;
  std::vector<Value> values;
  std::vector<std::pair<Parameter, std::string>> names;
  Value counter;
  Value sample_mask;
};

Trace::Trace(Graph& graph, bool training) : state_(new State{graph, training, {}, {}, {}, {}, {}}) {}
Trace::~Trace() = default;

Graph& Trace::graph() const { return state_->graph; }
bool Trace::training() const { return state_->training; }
void Trace::set_training(bool training) { state_->training = training; }
const std::vector<Parameter>& Trace::parameters() const { return state_->parameters; }

void Trace::set_name(const Parameter& parameter, const std::string& name) {
  state_->names.emplace_back(parameter, name);
}

const std::string& Trace::name_of(const Parameter& parameter) const {
  for (const auto& [known, name] : state_->names)
    if (known == parameter) return name;
  return parameter.name();
}

Value Trace::value_of(const Parameter& parameter) {
  std::vector<Parameter>& known = state_->parameters;
  const std::string& name = name_of(parameter);
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i] == parameter) return state_->values[i];
    if (name_of(known[i]) == name)
      throw Error(fmt::format("two weights of the model are named '{}'; give their layers different names", name));
  }
  known.push_back(parameter);
  const Type& type = parameter.type();
  state_->values.push_back(ops::variable(state_->graph, name, type.dtype, type.shape));
  return state_->values.back();
}

void Trace::adopt(const Parameter& parameter, Value value) {
  set_name(parameter, state_->graph.node(value.id()).attributes.text("name"));
  state_->parameters.push_back(parameter);
  state_->values.push_back(value);
}

void Trace::assign(const Parameter& parameter, Value value) { state_->graph.assign(value_of(parameter), value); }

Value Trace::counter() {
  if (!state_->counter) state_->counter = ops::input(state_->graph, "counter", DType::int64, {2});
  return state_->counter;
}

Value Trace::update_number() { return ops::cast(ops::reshape(ops::slice(counter(), {0}, {1}), {}), DType::float64); }
Value Trace::sample_mask() const { return state_->sample_mask; }
void Trace::set_sample_mask(Value mask) { state_->sample_mask = mask; }

void Trace::bind(Variables& variables) const {
  for (const Parameter& parameter : state_->parameters)
    variables.share(name_of(parameter), parameter.state_->variables, value_name);
}

}  // namespace pando
