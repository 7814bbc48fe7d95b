// SPDX-License-Identifier: Apache-2.0
#include "frontends/torch/nn/module.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <typeinfo>

#include "base/text.h"
#include "pando/base/array_functions.h"
#include "pando/base/random.h"

namespace pando::torch::nn {

namespace {

Array stored_layout(const Array& value, const std::vector<std::int64_t>& permutation) {
  return permutation.empty() ? value : transpose(value, permutation);
}

// "Network" for pando::Network<int>, and for one inside of anything else.
std::string class_name(const Module& module) {
  int status = 0;
  const char* mangled = typeid(module).name();
  char* text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  const std::string name = status == 0 ? text : mangled;
  std::free(text);
  std::size_t end = name.size();
  if (name.ends_with('>')) {
    int depth = 0;
    do {
      --end;
      if (name[end] == '>') ++depth;
      if (name[end] == '<') --depth;
    } while (depth > 0);
  }
  const std::size_t colon = name.rfind("::", end), begin = colon == std::string::npos ? 0 : colon + 2;
  return name.substr(begin, end - begin);
}

void check_new_name(const Module& module, const char* what, const std::string& name) {
  if (name.empty() || name.find('.') != std::string::npos)
    throw Error(fmt::format("{}: a {} cannot be named '{}'; use a name that is not empty and has no dot",
                            kind_of(module), what, name));
  const auto check = [&](const char* known_as, const std::string& known) {
    if (known == name)
      throw Error(fmt::format("{}: a {} named '{}' is registered already", kind_of(module), known_as, name));
  };
  for (const auto& [known, child] : module.state().children) check("module", known);
  for (const auto& [known, parameter] : module.state().parameters) check("parameter", known);
  for (const auto& [known, buffer] : module.state().buffers) check("buffer", known);
}

using Visit = Function<void(const std::string& prefix, const Module::State& state)>;
void for_each_module(const Module::State& state, const std::string& prefix, const Visit& visit) {
  visit(prefix, state);
  for (const auto& [name, child] : state.children) for_each_module(child.state(), prefix + name + ".", visit);
}

NamedParameters collect(const Module& module, NamedParameters Module::State::*kind) {
  NamedParameters all;
  for_each_module(module.state(), "", [&](const std::string& prefix, const Module::State& state) {
    for (const auto& [name, parameter] : state.*kind) {
      const bool known = std::any_of(all.begin(), all.end(), [&p = parameter](const auto& a) { return a.second == p; });
      if (!known) all.emplace_back(prefix + name, parameter);
    }
  });
  return all;
}

// Parameters and buffers under all their names: a module that is shared has several.
NamedParameters everything(const Module& module) {
  NamedParameters all;
  for_each_module(module.state(), "", [&](const std::string& prefix, const Module::State& state) {
    for (const auto* list : {&state.parameters, &state.buffers})
      for (const auto& [name, parameter] : *list) all.emplace_back(prefix + name, parameter);
  });
  return all;
}

std::string indented(const std::string& text) {
  std::string result;
  for (char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

}  // namespace

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& permutation) {
  std::vector<std::int64_t> result(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    result[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return result;
}

// A class that derives from one of ours has its own name; a copy that is only a Module has lost it.
std::string kind_of(const Module& module) {
  const std::type_info& type = typeid(module);
  const bool is_part = type == typeid(Module) || type == typeid(Layer) || type == typeid(Loss);
  return is_part && !module.state().kind.empty() ? module.state().kind : class_name(module);
}

Parameter ModuleAccess::parameter(const Layer::Body::Weight& weight, bool requires_grad) {
  return Parameter(std::shared_ptr<Parameter::State>(new Parameter::State{
      pando::Parameter(weight.name, stored_layout(weight.value, weight.permutation), requires_grad), weight.permutation,
      requires_grad}));
}

Parameter::Parameter(const Array& value, bool requires_grad)
    : Parameter(ModuleAccess::parameter({"parameter", value}, requires_grad)) {}

Shape Parameter::shape() const {
  const Shape& stored = state_->stored.shape();
  if (state_->permutation.empty()) return stored;
  Shape shape = stored;
  for (int i = 0; i < stored.rank(); ++i)
    shape[static_cast<int>(state_->permutation[static_cast<std::size_t>(i)])] = stored[i];
  return shape;
}

Array Parameter::value() const {
  return state_->permutation.empty() ? state_->stored.value()
                                     : transpose(state_->stored.value(), inverse(state_->permutation));
}

void Parameter::set_value(const Array& value) const {
  if (value.shape() != shape())
    throw Error(fmt::format("the parameter has shape {} but the value has shape {}", to_string(shape()),
                            to_string(value.shape())));
  state_->stored.set_value(stored_layout(value, state_->permutation));
}

void Parameter::adopt(void* data, std::shared_ptr<const void> owner) const {
  if (!state_->permutation.empty()) throw Error("adopt: a layer stores the parameter in another layout");
  state_->stored.adopt(data, std::move(owner));
}

bool Parameter::requires_grad() const { return state_->requires_grad; }
const Parameter& Parameter::requires_grad_(bool requires_grad) const {
  state_->requires_grad = requires_grad;
  return *this;
}

Parameter::operator Tensor() const {
  Tracing* tracing = Tracing::current();
  if (tracing == nullptr)
    throw Error("a parameter is a tensor only while forward() is being traced; use value() to look at its numbers");
  const Value stored = tracing->trace().current_value_of(state_->stored);
  const std::vector<std::int64_t>& permutation = state_->permutation;
  return {tracing->trace(), permutation.empty() ? stored : ops::transpose(stored, inverse(permutation))};
}

Module::Module() : state_(std::make_shared<State>()) { state_->key = next_random_key(); }
Module::~Module() = default;

bool Module::training() const { return state_->training; }
NamedParameters Module::named_parameters() const { return collect(*this, &State::parameters); }
NamedParameters Module::named_buffers() const { return collect(*this, &State::buffers); }
std::vector<std::pair<std::string, Module>> Module::named_children() const { return state_->children; }

std::vector<Parameter> Module::parameters() const {
  std::vector<Parameter> list;
  for (const auto& [name, parameter] : named_parameters()) list.push_back(parameter);
  return list;
}

StateDict Module::state_dict() const {
  StateDict values;
  for (const auto& [name, parameter] : everything(*this)) values[name] = parameter.value();
  return values;
}

void Module::load_state_dict(const StateDict& values, const LoadStateDictOptions& options) const {
  const NamedParameters known = everything(*this);
  std::vector<std::string> missing, unexpected, problems;
  for (const auto& [name, parameter] : known) {
    const auto found = values.find(name);
    if (found == values.end()) missing.push_back(fmt::format("\"{}\"", name));
    else if (found->second.shape() != parameter.shape())
      problems.push_back(fmt::format("size mismatch for {}: it is {} but the state_dict has {}", name,
                                     to_string(parameter.shape()), to_string(found->second.shape())));
  }
  for (const auto& [name, value] : values) {
    // PyTorch counts batches, which nothing here depends on.
    const bool counts = name.ends_with("num_batches_tracked");
    const bool is_known = std::any_of(known.begin(), known.end(), [&n = name](const auto& k) { return k.first == n; });
    if (!counts && !is_known) unexpected.push_back(fmt::format("\"{}\"", name));
  }
  if (options.strict && !unexpected.empty())
    problems.insert(problems.begin(), fmt::format("unexpected keys: {}", join(unexpected, ", ")));
  if (options.strict && !missing.empty())
    problems.insert(problems.begin(), fmt::format("missing keys: {}", join(missing, ", ")));
  if (!problems.empty())
    throw Error(fmt::format("load_state_dict for {}: {}; nothing was loaded", kind_of(*this), join(problems, "; ")));
  for (const auto& [name, parameter] : known)
    if (const auto found = values.find(name); found != values.end()) parameter.set_value(found->second);
}

void Module::train(bool mode) const {
  state_->training = mode;
  for (const auto& [name, child] : state_->children) child.train(mode);
}

void Module::requires_grad_(bool requires_grad) const {
  for (const Parameter& parameter : parameters()) parameter.requires_grad_(requires_grad);
}

void Module::set_parameter(const std::string& name, const Parameter& parameter) const {
  for (auto& [known, own] : state_->parameters) {
    if (known != name) continue;
    if (own.shape() != parameter.shape())
      throw Error(fmt::format("{}: the parameter '{}' has shape {} but the other one has shape {}", kind_of(*this),
                              name, to_string(own.shape()), to_string(parameter.shape())));
    own = parameter;
    return;
  }
  throw Error(fmt::format("{} has no parameter named '{}'", kind_of(*this), name));
}

void Module::register_modules(std::initializer_list<Named> modules) {
  for (const auto& [name, module] : modules) register_module(name, module);
}

void Module::register_module(const std::string& name, const Module& module) {
  check_new_name(*this, "module", name);
  if (module == *this) throw Error(fmt::format("{}: the module '{}' is itself", kind_of(*this), name));
  for (const auto& [known, child] : state_->children)
    if (child == module)
      throw Error(fmt::format("{}: the module '{}' is registered already, as '{}'; register it once and call it twice",
                              kind_of(*this), name, known));
  // Only now that it is complete does a module show its class.
  module.state().kind = kind_of(module);
  state_->children.emplace_back(name, module);
}

Parameter Module::register_parameter(const std::string& name, const Array& value) {
  check_new_name(*this, "parameter", name);
  return state_->parameters.emplace_back(name, ModuleAccess::parameter({name, value}, true)).second;
}

Parameter Module::register_buffer(const std::string& name, const Array& value) {
  check_new_name(*this, "buffer", name);
  return state_->buffers.emplace_back(name, ModuleAccess::parameter({name, value}, false)).second;
}

Module assembled(const std::string& kind, const ModuleParts& parts) {
  Module root;
  Module::State& state = root.state();
  state.kind = kind;
  state.children = parts.modules;
  state.parameters = parts.parameters;
  state.buffers = parts.buffers;
  return root;
}

std::string to_string(const Module& module) {
  const Module::State& state = module.state();
  std::vector<std::string> lines;
  for (const auto& [name, child] : state.children)
    lines.push_back(fmt::format("({}): {}", name, indented(to_string(child))));
  if (lines.empty()) return fmt::format("{}({})", kind_of(module), state.extra);
  return fmt::format("{}(\n  {}\n)", kind_of(module), join(lines, "\n  "));
}

std::ostream& operator<<(std::ostream& stream, const Module& module) { return stream << to_string(module); }

Layer::Layer(std::shared_ptr<const Body> body) {
  State& own = state();
  own.kind = body->kind;
  own.extra = body->extra;
  for (const Body::Weight& weight : body->parameters)
    own.parameters.emplace_back(weight.name, ModuleAccess::parameter(weight, true));
  for (const Body::Weight& weight : body->buffers)
    own.buffers.emplace_back(weight.name, ModuleAccess::parameter(weight, false));
  own.layer = std::move(body);
}

Sequential::Sequential() : modules_(std::make_shared<std::vector<AnyModule>>()) { state().kind = "Sequential"; }

Tensor Sequential::forward(const Tensor& x) const {
  Tensor y = x;
  for (const AnyModule& module : *modules_) y = module(y);
  return y;
}

ModuleList::ModuleList(std::in_place_t) : modules_(std::make_shared<std::vector<AnyModule>>()) {
  state().kind = "ModuleList";
}

}  // namespace pando::torch::nn
