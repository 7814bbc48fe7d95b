// SPDX-License-Identifier: Apache-2.0
// How optimizers change parameters and their state; one node updates many parameters.
#include "ops/update.h"

#include <pando/ops/ops.h>

#include <fmt/format.h>

#include "ops/build.h"
#include "ops/checks.h"

namespace pando {

namespace {

int count_states(const OpDefinition& op, const Attributes& attributes) {
  switch (op.id) {
    case Op::sgd_update: return attributes.number("momentum") != 0 ? 1 : 0;
    case Op::adam_update: return 2;
    case Op::rmsprop_update:
      return 1 + (attributes.number("momentum") != 0 ? 1 : 0) + (attributes.flag("centered") ? 1 : 0);
    case Op::adagrad_update: return 1;
    default: throw InternalError(fmt::format("{} updates no parameters", op.name));
  }
}

void require_group(const OpCall& call, const UpdateLayout& layout, std::size_t parameter) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(layout.inputs_per_group); ++i) {
    const Type& type = call.inputs[parameter + i];
    if (type != call.inputs[parameter])
      call.fail(fmt::format("input {}, a gradient or state, is {} but its parameter is {}; give it the same type",
                            parameter + i, to_string(type), to_string(call.inputs[parameter])));
  }
  require_equal_dtypes(call, 0, parameter);
}

std::vector<Type> update_types(const OpCall& call) {
  require_floating(call, 0);
  require_shape(call, 0, {}, "a scalar rate");
  const UpdateLayout layout = update_layout(call.op, call.attributes);
  const auto members = static_cast<std::int64_t>(call.inputs.size()) - layout.scalars;
  const std::int64_t groups = call.attributes.integer("groups");
  if (groups < 1 || members % layout.inputs_per_group != 0 || members / layout.inputs_per_group != groups)
    call.fail(
        fmt::format("{} group(s) need {} input(s) and then {} each (parameter, gradient and {} state(s)), but "
                    "there are {} inputs; give the states that the options ask for",
                    groups, layout.scalars, layout.inputs_per_group, layout.outputs_per_group - 1, call.inputs.size()));
  std::vector<Type> types;
  for (int group = 0; group < groups; ++group) {
    const auto parameter = static_cast<std::size_t>(layout.input(group, 0));
    require_group(call, layout, parameter);
    types.insert(types.end(), static_cast<std::size_t>(layout.outputs_per_group), call.inputs[parameter]);
  }
  return types;
}

void require_fraction(const OpCall& call, std::string_view key) {
  const double value = call.attributes.number(key);
  if (!(value >= 0 && value < 1)) call.fail(fmt::format("'{}' is {} but must be at least 0 and below 1", key, value));
}

std::vector<Type> infer_sgd(const OpCall& call) {
  for (std::string_view key : {"momentum", "weight_decay"}) number_attribute(call, key, 0);
  return update_types(call);
}

std::vector<Type> infer_adam(const OpCall& call) {
  for (std::string_view key : {"beta1", "beta2"}) require_fraction(call, key);
  for (std::string_view key : {"epsilon", "weight_decay"}) number_attribute(call, key, 0);
  require_dtype(call, 1, {DType::int32, DType::float64});
  require_shape(call, 1, {}, "a scalar number of updates");
  return update_types(call);
}

std::vector<Type> infer_rmsprop(const OpCall& call) {
  require_fraction(call, "rho");
  for (std::string_view key : {"momentum", "epsilon"}) number_attribute(call, key, 0);
  return update_types(call);
}

std::vector<Type> infer_adagrad(const OpCall& call) {
  number_attribute(call, "epsilon", 0);
  return update_types(call);
}

int replaced_input(const Node& node, int output) {
  const UpdateLayout layout = update_layout(node);
  const int place = output % layout.outputs_per_group;
  return layout.input(output / layout.outputs_per_group, layout.input_of_output[static_cast<std::size_t>(place)]);
}

}  // namespace

UpdateLayout update_layout(const OpDefinition& op, const Attributes& attributes) {
  const int states = count_states(op, attributes);
  UpdateLayout layout = {.scalars = op.id == Op::adam_update ? 2 : 1,
                         .inputs_per_group = 2 + states,
                         .outputs_per_group = 1 + states,
                         .input_of_output = {0}};
  for (int state = 0; state < states; ++state) layout.input_of_output.push_back(2 + state);
  return layout;
}

namespace definitions {

const OpDefinition sgd_update = {.id = Op::sgd_update,
                                 .name = "sgd_update",
                                 .doc = "stochastic gradient descent, with momentum if it is not 0",
                                 .attributes = {{"momentum", 0.0},
                                                {"nesterov", false},
                                                {"weight_decay", 0.0},
                                                {"rate_in_velocity", false},
                                                {"groups", std::int64_t{1}}},
                                 .min_inputs = 3,
                                 .max_inputs = -1,
                                 .infer = infer_sgd,
                                 .in_place = replaced_input,
                                 .is_update = true};
const OpDefinition adam_update = {.id = Op::adam_update,
                                  .name = "adam_update",
                                  .doc = "Adam, or AdamW if the weight decay is decoupled",
                                  .attributes = {{"beta1", 0.9},
                                                 {"beta2", 0.999},
                                                 {"epsilon", 1e-7},
                                                 {"weight_decay", 0.0},
                                                 {"decoupled", false},
                                                 {"epsilon_after_correction", false},
                                                 {"groups", std::int64_t{1}}},
                                  .min_inputs = 6,
                                  .max_inputs = -1,
                                  .infer = infer_adam,
                                  .in_place = replaced_input,
                                  .is_update = true};
const OpDefinition rmsprop_update = {
    .id = Op::rmsprop_update,
    .name = "rmsprop_update",
    .doc = "RMSprop: gradients over the root of their mean square, or of their variance if centered",
    .attributes = {{"rho", 0.9},
                   {"momentum", 0.0},
                   {"epsilon", 1e-7},
                   {"centered", false},
                   {"epsilon_inside_root", false},
                   {"rate_in_velocity", false},
                   {"groups", std::int64_t{1}}},
    .min_inputs = 4,
    .max_inputs = -1,
    .infer = infer_rmsprop,
    .in_place = replaced_input,
    .is_update = true};
const OpDefinition adagrad_update = {
    .id = Op::adagrad_update,
    .name = "adagrad_update",
    .doc = "Adagrad: gradients over the root of their sum of squares",
    .attributes = {{"epsilon", 1e-7}, {"epsilon_inside_root", false}, {"groups", std::int64_t{1}}},
    .min_inputs = 4,
    .max_inputs = -1,
    .infer = infer_adagrad,
    .in_place = replaced_input,
    .is_update = true};

}  // namespace definitions

namespace ops {

namespace {

std::vector<Value> update(const OpDefinition& op, std::vector<Value> inputs, const std::vector<Value>& states,
                          Attributes attributes) {
  inputs.insert(inputs.end(), states.begin(), states.end());
  return inputs.front().graph().add(op, inputs, std::move(attributes));
}

}  // namespace

std::vector<Value> sgd_update(Value rate, Value parameter, Value gradient, const std::vector<Value>& states,
                              const SgdOptions& options) {
  return update(definitions::sgd_update, {rate, parameter, gradient}, states,
                {{"momentum", options.momentum},
                 {"nesterov", options.nesterov},
                 {"weight_decay", options.weight_decay},
                 {"rate_in_velocity", options.rate_in_velocity}});
}

std::vector<Value> adam_update(Value rate, Value step, Value parameter, Value gradient,
                               const std::vector<Value>& states, const AdamOptions& options) {
  return update(definitions::adam_update, {rate, step, parameter, gradient}, states,
                {{"beta1", options.beta1},
                 {"beta2", options.beta2},
                 {"epsilon", options.epsilon},
                 {"weight_decay", options.weight_decay},
                 {"decoupled", options.decoupled},
                 {"epsilon_after_correction", options.epsilon_after_correction}});
}

std::vector<Value> rmsprop_update(Value rate, Value parameter, Value gradient, const std::vector<Value>& states,
                                  const RmspropOptions& options) {
  return update(definitions::rmsprop_update, {rate, parameter, gradient}, states,
                {{"rho", options.rho},
                 {"momentum", options.momentum},
                 {"epsilon", options.epsilon},
                 {"centered", options.centered},
                 {"epsilon_inside_root", options.epsilon_inside_root},
                 {"rate_in_velocity", options.rate_in_velocity}});
}

std::vector<Value> adagrad_update(Value rate, Value parameter, Value gradient, const std::vector<Value>& states,
                                  const AdagradOptions& options) {
  return update(definitions::adagrad_update, {rate, parameter, gradient}, states,
                {{"epsilon", options.epsilon}, {"epsilon_inside_root", options.epsilon_inside_root}});
}

}  // namespace ops

}  // namespace pando
