// SPDX-License-Identifier: Apache-2.0
#include <pando/graph/graph.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "graph/op_definition.h"

namespace pando {

namespace {

std::string place(const OpDefinition& op, std::string_view name) {
  return name.empty() ? std::string(op.name) : fmt::format("{} '{}'", op.name, name);
}

std::string count_text(const OpDefinition& op) {
  const std::string noun = std::max(op.min_inputs, op.max_inputs) == 1 ? "input" : "inputs";
  if (op.max_inputs < 0) return fmt::format("at least {} {}", op.min_inputs, noun);
  if (op.max_inputs > op.min_inputs) return fmt::format("{} to {} {}", op.min_inputs, op.max_inputs, noun);
  return fmt::format("{} {}", op.min_inputs, noun);
}

std::string_view kind_text(const Attribute& attribute) {
  // In the order of the variant.
  static constexpr std::string_view kinds[] = {"a bool",  "an integer", "a number", "a text", "a list of integers",
                                               "a dtype", "an array",   "a program"};
  static_assert(std::size(kinds) == std::variant_size_v<Attribute>);
  return kinds[attribute.index()];
}

void complete(Attributes& attributes, const OpCall& call) {
  for (const auto& [key, value] : attributes) {
    std::vector<std::string> known;
    const AttributeDefinition* definition = nullptr;
    for (const auto& candidate : call.op.attributes) {
      known.emplace_back(candidate.name);
      if (candidate.name == key) definition = &candidate;
    }
    if (definition == nullptr) call.fail(unknown_name("attribute", key, known));
    if (definition->default_value.index() != value.index())
      call.fail(fmt::format("attribute '{}' is {} but must be {}", key, kind_text(value),
                            kind_text(definition->default_value)));
  }
  for (const auto& definition : call.op.attributes)
    if (attributes.find(definition.name) == nullptr)
      attributes.set(std::string(definition.name), definition.default_value);
}

}  // namespace

void OpCall::fail(const std::string& text) const { throw Error(fmt::format("{}: {}", place(op, name), text)); }

Graph& Value::graph() const {
  if (graph_ == nullptr) throw Error("an empty Value was used; build it with an op first");
  return *graph_;
}

const Type& Value::type() const { return graph().type(id_); }

std::string to_string(const Type& type) { return fmt::format("{}{}", name(type.dtype), to_string(type.shape)); }

std::vector<Value> Graph::add(const OpDefinition& op, const std::vector<Value>& inputs, Attributes attributes) {
  std::vector<Type> types;
  std::vector<ValueId> ids;
  const OpCall unchecked{op, {}, attributes, scope_};
  for (const Value& input : inputs) {
    if (!input) unchecked.fail(fmt::format("input {} is an empty Value; build it with an op first", ids.size()));
    if (&input.graph() != this) unchecked.fail("an input belongs to another graph; build all values in one graph");
    ids.push_back(input.id());
    types.push_back(input.type());
  }
  const int count = static_cast<int>(inputs.size());
  if (count < op.min_inputs || (op.max_inputs >= 0 && count > op.max_inputs))
    unchecked.fail(fmt::format("takes {}, not {}", count_text(op), count));
  complete(attributes, unchecked);

  const OpCall call{op, types, attributes, scope_};
  std::vector<Type> outputs = op.infer(call);
  for (const Type& type : outputs) {
    try {
      std::int64_t bytes;
      if (__builtin_mul_overflow(type.shape.elements(), static_cast<std::int64_t>(size_of(type.dtype)), &bytes))
        throw Error(fmt::format("the shape {} has more bytes than fit in 64 bits", to_string(type.shape)));
    } catch (const Error& error) {
      call.fail(fmt::format("{}; use smaller sizes", error.what()));
    }
  }
  nodes_.push_back({&op, std::move(ids), std::move(attributes), std::move(outputs), scope_, stage_, layer_});
  last_stage_ = std::max(last_stage_, stage_);

  std::vector<Value> values;
  const auto node = static_cast<std::int32_t>(nodes_.size() - 1);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(nodes_.back().outputs.size()); ++i)
    values.emplace_back(*this, ValueId{node, i});
  return values;
}

void Graph::add_output(const std::string& name, Value value, bool every_step) {
  add_output(name, value, PortKind::result, 0);
  outputs_.back().every_step = every_step;
}

void Graph::add_output(const std::string& name, Value value, PortKind kind, std::int32_t number) {
  if (&value.graph() != this) throw Error(fmt::format("output '{}' belongs to another graph", name));
  for (const Output& output : outputs_)
    if (output.name == name) throw Error(fmt::format("there are two outputs named '{}'; rename one", name));
  outputs_.push_back({name, value.id(), false, kind, number});
}

void Graph::assign(Value variable, Value value) {
  if (&variable.graph() != this || &value.graph() != this) throw Error("assign: the values belong to another graph");
  const Node& target = node(variable.id());
  if (!is_role(target, Role::variable))
    throw Error(fmt::format("assign: the target is the result of {}, not a variable", target.op->name));
  const std::string& name = target.attributes.text("name");
  if (variable.type() != value.type())
    throw Error(fmt::format("assign: variable '{}' is {} and cannot take a value of {}", name,
                            to_string(variable.type()), to_string(value.type())));
  for (const Assignment& other : assignments_)
    if (other.variable == variable.id()) throw Error(fmt::format("assign: variable '{}' is assigned twice", name));
  assignments_.push_back({variable.id(), value.id()});
}

Graph::Scope::Scope(Graph& graph, const std::string& name)
    : graph_(graph), outer_(graph.scope_), outer_layer_(graph.layer_) {
  if (outer_.empty()) graph.layer_ = name;
  graph.scope_ = outer_.empty() ? name : outer_ + "/" + name;
}

Graph::Scope::Scope(Graph& graph, const Node& node, const std::string& part)
    : graph_(graph), outer_(graph.scope_), outer_layer_(graph.layer_) {
  const bool has_name = !node.name.empty();
  graph.layer_ = has_name ? node.layer : part;
  graph.scope_ = has_name && !part.empty() ? node.name + "/" + part : node.name + part;
}

Graph::Scope::~Scope() {
  graph_.scope_ = outer_;
  graph_.layer_ = outer_layer_;
}

Graph::StageScope::StageScope(Graph& graph, std::int32_t stage) : graph_(graph), outer_(graph.stage_) {
  graph.stage_ = stage;
}

Graph::StageScope::~StageScope() { graph_.stage_ = outer_; }

namespace {

// In the order of the enumerators.
constexpr std::string_view port_kinds[] = {"host", "activation", "gradient", "stash", "sum", "exchange", "result"};
constexpr std::string_view variable_roles[] = {"weight", "statistic", "slot", "rate", "sum", "carried"};

std::size_t find_name(const char* what, std::span<const std::string_view> names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw Error(unknown_name(what, std::string(name), std::vector<std::string>(names.begin(), names.end())));
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

std::string_view name(PortKind kind) { return port_kinds[static_cast<std::size_t>(kind)]; }
PortKind port_kind_named(std::string_view name) {
  return static_cast<PortKind>(find_name("kind of port", port_kinds, name));
}
std::string_view name(VariableRole role) { return variable_roles[static_cast<std::size_t>(role)]; }
VariableRole variable_role_named(std::string_view name) {
  return static_cast<VariableRole>(find_name("role of a variable", variable_roles, name));
}

}  // namespace pando
