// SPDX-License-Identifier: Apache-2.0
// Normalisation over the batch or over the last axis.
#include <pando/ops/ops.h>

#include <fmt/format.h>

#include "ops/build.h"
#include "ops/checks.h"

namespace pando {

namespace {

constexpr std::string_view channels_axis = "the last one the channels";
constexpr std::string_view a_channel = "one value per channel";

Shape channels_of(const Shape& x) { return x.part(x.rank() - 1, x.rank()); }
Shape rows_of(const Shape& x) { return x.part(0, x.rank() - 1); }

void require_floats(const OpCall& call) {
  require_floating(call, 0);
  require_same_dtype(call);
}

void require_weights(const OpCall& call, std::size_t input, const Shape& x) {
  if (input < call.inputs.size()) require_shape(call, input, x.part(0, 1), "one weight per sample");
}

std::vector<Type> infer_batch_norm(const OpCall& call) {
  require_floats(call);
  require_rank_at_least(call, 0, 2, channels_axis);
  const Shape channels = channels_of(call.shape(0));
  for (std::size_t i : {1, 2}) require_shape(call, i, channels, a_channel);
  require_weights(call, 3, call.shape(0));
  number_attribute(call, "epsilon", 0);
  const Type statistic = {call.dtype(0), channels};
  return {call.inputs[0], statistic, statistic, statistic};
}

std::vector<Type> infer_batch_norm_gradient(const OpCall& call) {
  require_floats(call);
  require_rank_at_least(call, 1, 2, channels_axis);
  require_shape(call, 0, call.shape(1), "that of x");
  const Type channels = {call.dtype(0), channels_of(call.shape(1))};
  for (std::size_t i : {2, 3, 4}) require_shape(call, i, channels.shape, a_channel);
  require_weights(call, 5, call.shape(1));
  return {call.inputs[1], channels, channels};
}

std::vector<Type> infer_layer_norm(const OpCall& call) {
  require_floats(call);
  require_rank_at_least(call, 0, 1, channels_axis);
  for (std::size_t i : {1, 2}) require_shape(call, i, channels_of(call.shape(0)), a_channel);
  number_attribute(call, "epsilon", 0);
  const Type statistic = {call.dtype(0), rows_of(call.shape(0))};
  return {call.inputs[0], statistic, statistic};
}

std::vector<Type> infer_layer_norm_gradient(const OpCall& call) {
  require_floats(call);
  require_rank_at_least(call, 1, 1, channels_axis);
  require_shape(call, 0, call.shape(1), "that of x");
  const Type channels = {call.dtype(0), channels_of(call.shape(1))};
  require_shape(call, 2, channels.shape, a_channel);
  for (std::size_t i : {3, 4}) require_shape(call, i, rows_of(call.shape(1)), "one value per row");
  return {call.inputs[1], channels, channels};
}

void require_gradient_of_y_only(const GradientCall& call) {
  for (std::size_t i = 1; i < call.gradients.size(); ++i)
    if (call.gradients[i])
      throw Error(fmt::format("{}: the statistics have no gradient; compute them with reduce_mean instead",
                              call.node.op->name));
}

// The needed gradients among those of x, scale and offset, from one node.
std::vector<Value> norm_gradients(const GradientCall& call, const OpDefinition& op, const std::vector<Value>& inputs) {
  std::vector<Value> results = call.graph.add(op, inputs);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!call.needed[i]) results[i] = Value();
  return results;
}

std::vector<Value> batch_norm_gradients(const GradientCall& call) {
  require_gradient_of_y_only(call);
  std::vector<Value> inputs = {call.gradients[0], call.inputs[0], call.inputs[1], call.outputs[1], call.outputs[3]};
  if (call.inputs.size() > 3) {
    if (call.needed[3])
      throw Error("batch_norm: the sample weights have no gradient; use weights that depend on no parameter");
    inputs.push_back(call.inputs[3]);
  }
  return norm_gradients(call, definitions::batch_norm_gradient, inputs);
}

std::vector<Value> layer_norm_gradients(const GradientCall& call) {
  require_gradient_of_y_only(call);
  return norm_gradients(call, definitions::layer_norm_gradient,
                        {call.gradients[0], call.inputs[0], call.inputs[1], call.outputs[1], call.outputs[2]});
}

}  // namespace

namespace definitions {

const OpDefinition batch_norm = {
    .id = Op::batch_norm,
    .name = "batch_norm",
    .doc =
        "x of mean 0 and variance 1 over all axes but the last, scaled and offset; then the mean, the biased "
        "variance and 1 / sqrt(variance + epsilon); samples may be weighted",
    .attributes = {{"epsilon", 1e-3}},
    .min_inputs = 3,
    .max_inputs = 4,
    .infer = infer_batch_norm,
    .gradient = batch_norm_gradients};
const OpDefinition batch_norm_gradient = {.id = Op::batch_norm_gradient,
                                          .name = "batch_norm_gradient",
                                          .doc = "the gradients of batch_norm in x, scale and offset",
                                          .min_inputs = 5,
                                          .max_inputs = 6,
                                          .infer = infer_batch_norm_gradient};
const OpDefinition layer_norm = {
    .id = Op::layer_norm,
    .name = "layer_norm",
    .doc =
        "x of mean 0 and variance 1 over the last axis, scaled and offset; then the mean and "
        "1 / sqrt(variance + epsilon)",
    .attributes = {{"epsilon", 1e-3}},
    .min_inputs = 3,
    .infer = infer_layer_norm,
    .gradient = layer_norm_gradients};
const OpDefinition layer_norm_gradient = {.id = Op::layer_norm_gradient,
                                          .name = "layer_norm_gradient",
                                          .doc = "the gradients of layer_norm in x, scale and offset",
                                          .min_inputs = 5,
                                          .infer = infer_layer_norm_gradient};

}  // namespace definitions

namespace ops {

BatchNorm batch_norm(Value x, Value scale, Value offset, double epsilon, Value weights) {
  std::vector<Value> inputs = {x, scale, offset};
  if (weights) inputs.push_back(weights);
  const std::vector<Value> outputs = x.graph().add(definitions::batch_norm, inputs, {{"epsilon", epsilon}});
  return {outputs[0], outputs[1], outputs[2]};
}

Value batch_norm_inference(Value x, Value scale, Value offset, Value mean, Value variance, double epsilon) {
  for (const Value& value : {scale, offset, mean, variance})
    if (x.shape().rank() < 2 || value.shape() != channels_of(x.shape()))
      throw Error(
          fmt::format("batch_norm_inference: x is {} and one of scale, offset, mean and variance {} but must "
                      "have one value per channel, the last of at least two axes of x; reshape it",
                      to_string(x.shape()), to_string(value.shape())));
  return (x - mean) * (scale * rsqrt(variance + epsilon)) + offset;
}

Value layer_norm(Value x, Value scale, Value offset, double epsilon) {
  return x.graph().add(definitions::layer_norm, {x, scale, offset}, {{"epsilon", epsilon}}).front();
}

}  // namespace ops

}  // namespace pando
