// SPDX-License-Identifier: Apache-2.0
#include "frontends/tf1/train.h"

#include <fmt/format.h>

#include "frontends/tf1/computation.h"
#include "pando/frontends/tf1/functions.h"

namespace pando::tf1::train {

namespace {

std::shared_ptr<const Optimizer::State> make_state(UpdateRule rule, double learning_rate) {
  if (!(learning_rate >= 0))
    throw Error(fmt::format("{}: the learning rate is {} but must not be negative", rule.name, learning_rate));
  return std::make_shared<const Optimizer::State>(Optimizer::State{std::move(rule), learning_rate});
}

UpdateRule named(UpdateRule rule, const std::string& name) {
  rule.name = name;
  return rule;
}

UpdateRule rmsprop(const RMSPropOptions& options) {
  UpdateRule rule = rmsprop_rule({.rho = options.decay,
                                  .momentum = options.momentum,
                                  .epsilon = options.epsilon,
                                  .centered = options.centered,
                                  .epsilon_inside_root = true,
                                  .rate_in_velocity = true});
  // TensorFlow 1 begins with a mean square of 1.
  rule.states[0].initial = 1.0;
  return named(std::move(rule), "RMSProp");
}

// Throws Error, beginning with `who`, where an update is not possible.
Trace& trace_to_train(const std::string& who) {
  Tracer& tracer = Tracer::current(who);
  Trace& trace = *current_trace();
  if (&trace != &tracer.step().traced.trace && tracer.loop() == nullptr)
    throw Error(fmt::format(
        "{}: it belongs in straight code or the body of a loop; give a pipeline an optimizer_function", who));
  return trace;
}

}  // namespace

void add_update(Trace& trace, Variables& variables, const Optimizer& optimizer, const std::string& name,
                const std::vector<Parameter>& parameters, const std::vector<Value>& gradients) {
  const std::string rate_name = name + "/learning_rate";
  variables.set(rate_name, Array::scalar(static_cast<float>(optimizer.state().learning_rate)));
  const Value rate = ops::variable(trace.graph(), rate_name, DType::float32, {}, VariableRole::rate);
  const Value step = trace.update_number();
  apply_updates(trace, variables, named(optimizer.state().rule, name), rate, step, parameters, gradients);
}

std::vector<Parameter> trained_parameters(const Trace& trace, const MinimizeOptions& options) {
  std::vector<Parameter> parameters;
  for (const Variable& variable : options.var_list) parameters.push_back(variable.parameter());
  if (parameters.empty())
    for (const Parameter& parameter : trace.parameters())
      if (parameter.trainable()) parameters.push_back(parameter);
  if (parameters.empty()) throw Error("minimize: the computation uses no variable that can be trained");
  return parameters;
}

std::vector<GradientAndVariable> Optimizer::compute_gradients(const Tensor& loss,
                                                              const MinimizeOptions& options) const {
  Trace& trace = trace_to_train("minimize");
  const Value value = values_in(trace, "minimize", {loss})[0];
  if (value.shape().elements() != 1)
    throw Error(fmt::format("minimize: the loss has shape {} but must be one number; use reduce_mean or reduce_sum",
                            to_string(value.shape())));
  const std::vector<Parameter> parameters = trained_parameters(trace, options);
  std::vector<Tensor> values;
  for (const Parameter& parameter : parameters) values.emplace_back(trace, trace.value_of(parameter));
  const std::vector<Tensor> slopes = gradients(Tensor(trace, value), values);
  std::vector<GradientAndVariable> list;
  for (std::size_t i = 0; i < slopes.size(); ++i) list.push_back({slopes[i], parameters[i]});
  return list;
}

Operation Optimizer::apply_gradients(const std::vector<GradientAndVariable>& gradients) const {
  Trace& trace = trace_to_train("apply_gradients");
  Computation& computation = Tracer::current("apply_gradients").computation();
  std::vector<Parameter> parameters;
  std::vector<Value> slopes;
  for (const GradientAndVariable& entry : gradients) {
    parameters.push_back(entry.variable);
    slopes.push_back(values_in(trace, "apply_gradients", {entry.gradient})[0]);
    if (slopes.back().shape() != entry.variable.shape())
      throw Error(fmt::format("apply_gradients: the gradient of '{}' has shape {} but the variable has shape {}",
                              entry.variable.name(), to_string(slopes.back().shape()),
                              to_string(entry.variable.shape())));
  }
  add_update(trace, computation.variables(), *this, computation.new_variable(state_->rule.name), parameters, slopes);
  return {};
}

Operation Optimizer::minimize(const Tensor& loss, const MinimizeOptions& options) const {
  return apply_gradients(compute_gradients(loss, options));
}

GradientDescentOptimizer::GradientDescentOptimizer(const GradientDescentOptions& options)
    : Optimizer(make_state(named(sgd_rule({}), "GradientDescent"), options.learning_rate)) {}
MomentumOptimizer::MomentumOptimizer(const MomentumOptions& options)
    : Optimizer(
          make_state(named(sgd_rule({.momentum = options.momentum, .nesterov = options.use_nesterov}), "Momentum"),
                     options.learning_rate)) {}
AdamOptimizer::AdamOptimizer(const AdamOptions& options)
    : Optimizer(
          make_state(adam_rule("Adam", {.beta1 = options.beta1, .beta2 = options.beta2, .epsilon = options.epsilon}),
                     options.learning_rate)) {}
RMSPropOptimizer::RMSPropOptimizer(const RMSPropOptions& options)
    : Optimizer(make_state(rmsprop(options), options.learning_rate)) {}

}  // namespace pando::tf1::train
