// SPDX-License-Identifier: Apache-2.0
#include "model/update_rule.h"

#include <fmt/format.h>

#include <algorithm>

namespace pando {

namespace {

std::int32_t stage_of(Value value) { return value.graph().node(value.id()).stage; }

Value sum_of_squares(Value x) {
  const Graph::StageScope stage(x.graph(), stage_of(x));
  return ops::reduce_sum(ops::square(x));
}

// limit / max(norm, limit): 1 for gradients that are short enough.
Value shrinking(Value squares, double limit) {
  const Graph::StageScope stage(squares.graph(), stage_of(squares));
  return limit / ops::maximum(ops::sqrt(squares), ops::scalar(squares, limit));
}

Array filled(const Type& type, double number) {
  Array value(DType::float32, type.shape);
  for (std::int64_t i = 0; i < value.elements(); ++i) value.mutable_data<float>()[i] = static_cast<float>(number);
  return value.astype(type.dtype);
}

}  // namespace

UpdateRule sgd_rule(const ops::SgdOptions& options) {
  UpdateRule rule{
      .name = "sgd",
      .update = [options](Value rate, Value, Value parameter, Value gradient,
                          const auto& states) { return ops::sgd_update(rate, parameter, gradient, states, options); },
      .grows_with_gradients = true};
  if (options.momentum != 0) rule.states = {{"momentum"}};
  return rule;
}

UpdateRule adam_rule(const std::string& name, const ops::AdamOptions& options) {
  return {.name = name,
          .states = {{"m"}, {"v"}},
          .update = [options](Value rate, Value step, Value parameter, Value gradient, const auto& states) {
            return ops::adam_update(rate, step, parameter, gradient, states, options);
          }};
}

UpdateRule rmsprop_rule(const ops::RmspropOptions& options) {
  UpdateRule rule{.name = "rmsprop",
                  .states = {{"rms"}},
                  .update =
                      [options](Value rate, Value, Value parameter, Value gradient, const auto& states) {
                        return ops::rmsprop_update(rate, parameter, gradient, states, options);
                      },
                  .grows_with_gradients = true};
  if (options.momentum != 0) rule.states.push_back({"momentum"});
  if (options.centered) rule.states.push_back({"mg"});
  return rule;
}

UpdateRule adagrad_rule(const ops::AdagradOptions& options, double initial_accumulator) {
  return {.name = "adagrad",
          .states = {{"accumulator", initial_accumulator}},
          .update = [options](Value rate, Value, Value parameter, Value gradient, const auto& states) {
            return ops::adagrad_update(rate, parameter, gradient, states, options);
          }};
}

std::vector<Value> clip_gradients(std::vector<Value> gradients, const GradientClipping& clipping) {
  if (gradients.empty()) return gradients;
  // Each gradient is clipped in its own stage.
  const auto clip = [&](const auto& clipped) {
    for (Value& gradient : gradients) {
      const Graph::StageScope stage(gradient.graph(), stage_of(gradient));
      gradient = clipped(gradient);
    }
  };
  if (clipping.value) clip([&](Value x) { return ops::clip(x, -*clipping.value, *clipping.value); });
  if (clipping.norm) clip([&](Value x) { return x * shrinking(sum_of_squares(x), *clipping.norm); });
  if (clipping.global_norm) {
    // Every stage sums the squares of all stages, in the same order.
    Value squares = sum_of_squares(gradients[0]);
    const Graph::StageScope stage(squares.graph(), any_stage);
    for (std::size_t i = 1; i < gradients.size(); ++i) squares = squares + sum_of_squares(gradients[i]);
    const Value factor = shrinking(squares, *clipping.global_norm);
    clip([&](Value x) { return x * factor; });
  }
  return gradients;
}

void apply_updates(Trace& trace, Variables& variables, const UpdateRule& rule, Value rate, Value step,
                   const std::vector<Parameter>& parameters, const std::vector<Value>& gradients) {
  const std::vector<std::string> known = variables.names();
  const Graph::Scope scope(trace.graph(), rule.name);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Graph::StageScope stage(trace.graph(), trace.stage_of(parameters[i]));
    std::vector<Value> states;
    for (const UpdateRule::State& state : rule.states) {
      const std::string name = fmt::format("{}/{}/{}", rule.name, trace.name_of(parameters[i]), state.name);
      const Type type{parameters[i].type().dtype, state.scalar ? Shape() : parameters[i].shape()};
      if (std::find(known.begin(), known.end(), name) == known.end()) variables.set(name, filled(type, state.initial));
      states.push_back(ops::variable(trace.graph(), name, type.dtype, type.shape, VariableRole::slot));
    }
    const std::vector<Value> updated = rule.update(rate, step, trace.value_of(parameters[i]), gradients[i], states);
    trace.assign(parameters[i], updated[0]);
    for (std::size_t j = 0; j < states.size(); ++j) trace.graph().assign(states[j], updated[j + 1]);
  }
}

}  // namespace pando
