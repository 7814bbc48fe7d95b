// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/torch/computation.h>

#include <pando/autodiff/gradients.h>

#include <fmt/format.h>

#include "frontends/torch/nn/module.h"
#include "frontends/torch/optim/optim.h"
#include "graph/op_definition.h"
#include "model/step.h"
#include "model/target.h"
#include "model/tensor.h"
#include "ops/op_list.h"

namespace pando::torch {

using nn::Tracing;

namespace {

std::string input_name(std::size_t index) { return fmt::format("input{}", index); }
std::string output_name(std::size_t index) { return fmt::format("output{}", index); }

Tracing& tracing_for(const char* who) {
  Tracing* tracing = Tracing::current();
  if (tracing == nullptr) throw Error(fmt::format("{}: call it in a function that a Computation traces", who));
  return *tracing;
}

// Types that data have and ops do not take are cast once.
Value as_taken(Value fed) {
  if (fed.dtype() == DType::int64 || fed.dtype() == DType::uint8) return ops::cast(fed, DType::int32);
  return fed.dtype() == DType::float64 ? ops::cast(fed, DType::float32) : fed;
}

struct Traced {
  Graph graph;
  std::unique_ptr<Trace> trace;
  std::vector<Value> outputs;
  std::vector<std::pair<nn::Parameter, Value>> gradients;
};

std::unique_ptr<Traced> traced(const std::vector<Type>& inputs, const nn::ModuleParts& parts,
                               const ComputationFunction& function) {
  auto result = std::make_unique<Traced>();
  // Modules know themselves whether they train.
  result->trace = std::make_unique<Trace>(result->graph, true);
  const TraceScope scope(*result->trace);
  const nn::Module root = nn::assembled("Computation", parts);
  const Tracing tracing(root, *result->trace, std::nullopt);
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    tensors.emplace_back(*result->trace,
                         as_taken(ops::input(result->graph, input_name(i), inputs[i].dtype, inputs[i].shape)));
  const ComputationResults results = function(tensors);
  for (const Tensor& output : results.outputs) result->outputs.push_back(output.state().value);
  for (const auto& [parameter, gradient] : results.gradients)
    result->gradients.emplace_back(parameter, gradient.state().value);
  return result;
}

// The gradient as the parameter is stored. That of the stored value is in the graph already, before a transpose.
Value as_stored(const nn::Parameter& parameter, Value gradient) {
  const std::vector<std::int64_t>& permutation = parameter.state().permutation;
  if (permutation.empty()) return gradient;
  const Node& node = gradient.graph().node(gradient.id());
  if (node.op->id == Op::transpose && node.attributes.integers("permutation") == nn::inverse(permutation))
    return gradient.graph().value(node.inputs[0]);
  return ops::transpose(gradient, permutation);
}

}  // namespace

std::vector<Tensor> gradients(const Tensor& loss, const std::vector<nn::Parameter>& parameters,
                              const std::vector<Tensor>& tensors) {
  Trace& trace = tracing_for("gradients").trace();
  std::vector<Value> values;
  for (const nn::Parameter& parameter : parameters) values.push_back(trace.value_of(parameter.state().stored));
  for (const Tensor& tensor : tensors) values.push_back(tensor.state().value);
  const Value scalar = loss.shape().rank() == 0 ? loss.state().value : ops::reshape(loss.state().value, {});
  std::vector<Value> slopes = pando::gradients(scalar, values);
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    if (i < parameters.size() && !parameters[i].state().permutation.empty())
      slopes[i] = ops::transpose(slopes[i], nn::inverse(parameters[i].state().permutation));
    results.emplace_back(trace, slopes[i]);
  }
  return results;
}

void keep_statistics(bool keep) { tracing_for("keep_statistics").set_keeps_statistics(keep); }

struct Computation::State {
  std::optional<optim::Optimizer> optimizer;
  std::shared_ptr<OptimizerStates> states;
  std::optional<Step> step = {};
};

Computation::Computation(const std::vector<Type>& inputs, const nn::ModuleParts& parts,
                         const ComputationFunction& function, const std::optional<optim::Optimizer>& optimizer,
                         std::shared_ptr<OptimizerStates> states)
    : state_(new State{optimizer, states ? std::move(states) : std::make_shared<OptimizerStates>()}) {
  const std::unique_ptr<Traced> found = traced(inputs, parts, function);
  for (std::size_t i = 0; i < found->outputs.size(); ++i) found->graph.add_output(output_name(i), found->outputs[i]);
  std::vector<Parameter> parameters;
  std::vector<Value> slopes;
  for (const auto& [parameter, gradient] : found->gradients) {
    parameters.push_back(parameter.state().stored);
    slopes.push_back(as_stored(parameter, gradient));
  }
  if (optimizer) {
    if (parameters.empty())
      throw Error("optimizer: none of its parameters has a gradient; call backward() before step()");
    optim::add_updates(*found->trace, state_->states->variables, *optimizer, 0, parameters, slopes);
  }
  StepFeeds feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) feeds.columns.push_back(input_name(i));
  const Division division{.batch_size = 1};
  state_->step.emplace(*found->trace, host_target()->ipus, division,
                       optimizer ? state_->states->variables : Variables(), std::move(feeds));
}
Computation::~Computation() = default;
Computation::Computation(Computation&&) noexcept = default;

Arrays Computation::run(const Arrays& inputs) {
  if (state_->optimizer) optim::set_rates(*state_->optimizer, state_->states->variables);
  Arrays outputs = state_->step->run_once(inputs, state_->states->updates);
  if (state_->optimizer) ++state_->states->updates;
  return outputs;
}

std::vector<Type> Computation::output_types(const std::vector<Type>& inputs, const nn::ModuleParts& parts,
                                            const ComputationFunction& function) {
  const std::unique_ptr<Traced> found = traced(inputs, parts, function);
  std::vector<Type> types;
  for (const Value& output : found->outputs) types.push_back(output.type());
  return types;
}

}  // namespace pando::torch
