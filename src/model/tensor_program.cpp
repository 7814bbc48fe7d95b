// SPDX-License-Identifier: Apache-2.0
#include <pando/model/tensor_program.h>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "model/tensor.h"

namespace pando {

namespace {

std::string input_name(std::size_t index) { return fmt::format("input{}", index); }

}  // namespace

struct TensorProgram::State {
  // A result that is an input as it is needs no program, and keeps its memory.
  struct Result {
    Type type;
    std::optional<std::size_t> input = {};
  };
  // A program and the inputs that it is fed: the compiler leaves those out that no result depends on.
  struct Instance {
    Program program;
    std::vector<std::size_t> feeds = {};
  };
  // The function for one list of input types.
  struct Form {
    std::vector<Type> inputs = {};
    Graph graph = {};
    std::vector<Result> results = {};
    // Programs that no thread uses at the moment.
    std::vector<std::unique_ptr<Instance>> idle = {};
  };

  std::string name;
  Body body;
  Device device = Device({.tiles = 1, .backend = "cpu"});
  std::mutex mutex = {};
  std::vector<std::shared_ptr<Form>> forms = {};

  std::shared_ptr<Form> trace(const std::vector<Type>& types) const;
  std::shared_ptr<Form> find(const std::vector<Type>& types);
  std::unique_ptr<Instance> take(Form& form);
  void give_back(Form& form, std::unique_ptr<Instance> instance);
};

auto TensorProgram::State::trace(const std::vector<Type>& types) const -> std::shared_ptr<Form> {
  auto form = std::make_shared<Form>();
  form->inputs = types;
  Trace trace(form->graph, false);
  const TraceScope scope(trace);
  std::vector<Tensor> inputs;
  for (const Type& type : types)
    inputs.emplace_back(trace, ops::input(form->graph, input_name(inputs.size()), type.dtype, type.shape));
  for (const Tensor& tensor : body(inputs)) {
    if (!belongs_to(tensor, trace))
      throw Error(fmt::format("{}: it returns a tensor that is not made of its inputs", name));
    const auto same = std::find(inputs.begin(), inputs.end(), tensor);
    Result result{.type = tensor.state().type};
    if (same != inputs.end()) result.input = static_cast<std::size_t>(same - inputs.begin());
    else form->graph.add_output(fmt::format("output{}", form->results.size()), tensor.value());
    form->results.push_back(result);
  }
  if (!trace.parameters().empty())
    throw Error(fmt::format("{}: it uses the weight '{}', and only models have weights; use a function of its inputs",
                            name, trace.parameters().front().name()));
  return form;
}

// The function is called without the lock: it may be of another language, whose own lock another caller holds. If two
// threads trace the same types at once, the first to end is kept.
auto TensorProgram::State::find(const std::vector<Type>& types) -> std::shared_ptr<Form> {
  const auto known = [&]() -> std::shared_ptr<Form> {
    const std::lock_guard lock(mutex);
    const auto found =
        std::find_if(forms.begin(), forms.end(), [&](const auto& form) { return form->inputs == types; });
    return found == forms.end() ? nullptr : *found;
  };
  if (auto form = known()) return form;
  std::shared_ptr<Form> made = trace(types);
  if (auto form = known()) return form;
  const std::lock_guard lock(mutex);
  forms.push_back(made);
  return made;
}

auto TensorProgram::State::take(Form& form) -> std::unique_ptr<Instance> {
  {
    const std::lock_guard lock(mutex);
    if (!form.idle.empty()) {
      std::unique_ptr<Instance> instance = std::move(form.idle.back());
      form.idle.pop_back();
      return instance;
    }
  }
  auto made = std::make_unique<Instance>(Instance{Program(form.graph, device, Variables())});
  for (const PortInfo& port : made->program.feeds())
    for (std::size_t i = 0; i < form.inputs.size(); ++i)
      if (port.name == input_name(i)) made->feeds.push_back(i);
  return made;
}

void TensorProgram::State::give_back(Form& form, std::unique_ptr<Instance> instance) {
  const std::lock_guard lock(mutex);
  form.idle.push_back(std::move(instance));
}

TensorProgram::TensorProgram(const std::string& name, Body body) : state_(new State{name, std::move(body)}) {}

std::vector<Type> TensorProgram::types(const std::vector<Type>& inputs) const {
  std::vector<Type> types;
  for (const State::Result& result : state_->find(inputs)->results) types.push_back(result.type);
  return types;
}

Arrays TensorProgram::operator()(const Arrays& inputs) const {
  std::vector<Type> types;
  for (const Array& input : inputs) types.push_back(type_of(input));
  const std::shared_ptr<State::Form> form = state_->find(types);
  Arrays results;
  std::vector<std::byte*> to;
  for (const State::Result& result : form->results) {
    if (result.input) {
      results.push_back(inputs[*result.input]);
      continue;
    }
    results.push_back(Array::uninitialised(result.type.dtype, result.type.shape));
    to.push_back(results.back().mutable_raw());
  }
  if (to.empty()) return results;
  std::unique_ptr<State::Instance> instance = state_->take(*form);
  std::vector<const std::byte*> from;
  for (const std::size_t input : instance->feeds) from.push_back(inputs[input].raw());
  instance->program.step(from, to);
  state_->give_back(*form, std::move(instance));
  return results;
}

}  // namespace pando
