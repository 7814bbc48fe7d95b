// SPDX-License-Identifier: Apache-2.0
// Softmax and the losses, over the last axis.
#include <pando/ops/ops.h>

#include <fmt/format.h>

#include "ops/build.h"
#include "ops/checks.h"

namespace pando {

namespace {

constexpr std::string_view last_axis = "the last one the classes";

std::vector<Type> infer_softmax(const OpCall& call) {
  require_floating(call, 0);
  require_rank_at_least(call, 0, 1, last_axis);
  return {call.inputs[0]};
}

std::vector<Type> infer_softmax_gradient(const OpCall& call) {
  require_equal_dtypes(call, 0, 1);
  require_shape(call, 1, call.shape(0), "a probability for each gradient");
  return infer_softmax(call);
}

// The loss of each sample, and the derivative of each loss in its logits.
std::vector<Type> cross_entropy_types(const OpCall& call) {
  const Shape& logits = call.shape(0);
  return {{call.dtype(0), logits.part(0, logits.rank() - 1)}, call.inputs[0]};
}

void require_logits(const OpCall& call) {
  require_floating(call, 0);
  require_rank_at_least(call, 0, 1, last_axis);
  const Shape& logits = call.shape(0);
  if (logits[logits.rank() - 1] < 1)
    call.fail(fmt::format("the logits {} have no classes; the last axis needs at least 1", to_string(logits)));
}

std::vector<Type> infer_cross_entropy(const OpCall& call) {
  require_logits(call);
  require_equal_dtypes(call, 0, 1);
  require_shape(call, 1, call.shape(0), "a target for each logit");
  return cross_entropy_types(call);
}

std::vector<Type> infer_sparse_cross_entropy(const OpCall& call) {
  require_logits(call);
  require_dtype(call, 1, {DType::int32});
  const Shape& logits = call.shape(0);
  require_shape(call, 1, logits.part(0, logits.rank() - 1), "a label for each row of logits");
  if (const std::size_t count = call.attributes.integers("ignored").size(); count > 1)
    call.fail(fmt::format("{} labels are to be ignored but at most 1 can be; leave the others out", count));
  return cross_entropy_types(call);
}

Value sum_of_classes(Value x) { return ops::reduce_sum(x, {.axes = {-1}, .keep_dims = true}); }

std::vector<Value> softmax_gradients(const GradientCall& call) {
  return {build(definitions::softmax_gradient, {call.gradients[0], call.outputs[0]})};
}

// Of y * (dy - sum(dy * y)). As a function of dy it is its own gradient.
std::vector<Value> softmax_gradient_gradients(const GradientCall& call) {
  const Value g = call.gradients[0], dy = call.inputs[0], y = call.inputs[1];
  return {call.needed[0] ? build(definitions::softmax_gradient, {g, y}) : Value(),
          call.needed[1] ? g * (dy - sum_of_classes(dy * y)) - dy * sum_of_classes(g * y) : Value()};
}

std::vector<Value> log_softmax_gradient(const GradientCall& call) {
  const Value g = call.gradients[0], y = call.outputs[0];
  return {g - ops::exp(y) * sum_of_classes(g)};
}

// The gradient of the losses with a last axis of 1, so that it broadcasts over the classes.
Value gradient_of_losses(const GradientCall& call) {
  if (call.gradients[1])
    throw Error(
        fmt::format("{}: second derivatives of this op are not available; compose the loss of log_softmax, "
                    "multiply and reduce_sum",
                    call.node.op->name));
  Shape shape = call.gradients[0].shape();
  shape.append(1);
  return ops::reshape(call.gradients[0], shape);
}

std::vector<Value> cross_entropy_gradient(const GradientCall& call) {
  const Value g = gradient_of_losses(call);
  return {call.needed[0] ? call.outputs[1] * g : Value(),
          call.needed[1] ? -ops::log_softmax(call.inputs[0]) * g : Value()};
}

std::vector<Value> sparse_cross_entropy_gradient(const GradientCall& call) {
  return {call.outputs[1] * gradient_of_losses(call), Value()};
}

}  // namespace

namespace definitions {

const OpDefinition softmax = {.id = Op::softmax,
                              .name = "softmax",
                              .doc = "exp(x) divided by its sum over the last axis",
                              .infer = infer_softmax,
                              .gradient = softmax_gradients};
const OpDefinition softmax_gradient = {.id = Op::softmax_gradient,
                                       .name = "softmax_gradient",
                                       .doc = "the gradient of softmax from that of its result and the result",
                                       .min_inputs = 2,
                                       .infer = infer_softmax_gradient,
                                       .gradient = softmax_gradient_gradients};
const OpDefinition log_softmax = {.id = Op::log_softmax,
                                  .name = "log_softmax",
                                  .doc = "the logarithm of softmax, without overflow",
                                  .infer = infer_softmax,
                                  .gradient = log_softmax_gradient};
const OpDefinition softmax_cross_entropy = {
    .id = Op::softmax_cross_entropy,
    .name = "softmax_cross_entropy",
    .doc = "-sum(targets * log_softmax(logits)) over the last axis, and its derivative in the logits",
    .min_inputs = 2,
    .infer = infer_cross_entropy,
    .gradient = cross_entropy_gradient};
const OpDefinition sparse_softmax_cross_entropy = {.id = Op::sparse_softmax_cross_entropy,
                                                   .name = "sparse_softmax_cross_entropy",
                                                   .doc =
                                                       "-log_softmax(logits) at the label, and its derivative in the "
                                                       "logits; 0 if the label is the ignored one, else NaN "
                                                       "if it is out of range",
                                                   .attributes = {{"ignored", Integers()}},
                                                   .min_inputs = 2,
                                                   .infer = infer_sparse_cross_entropy,
                                                   .gradient = sparse_cross_entropy_gradient};

}  // namespace definitions

namespace ops {

namespace {

// Errors broadcast, but a loss of predictions [64, 1] and targets [64] would silently pair every prediction with every
// target.
void check_pair(std::string_view loss, Value prediction, Value target) {
  if (prediction.shape() != target.shape() || prediction.shape().rank() == 0)
    throw Error(
        fmt::format("{}: the prediction is {} and the target {} but both must have one shape of at least one "
                    "axis; reshape one of them",
                    loss, to_string(prediction.type()), to_string(target.type())));
}

Value mean_of_last_axis(Value errors) { return reduce_mean(errors, {.axes = {-1}}); }

}  // namespace

Value softmax(Value x) { return build(definitions::softmax, {x}); }
Value log_softmax(Value x) { return build(definitions::log_softmax, {x}); }

Value softmax_cross_entropy(Value logits, Value targets) {
  return logits.graph().add(definitions::softmax_cross_entropy, {logits, targets}).front();
}

Value sparse_softmax_cross_entropy(Value logits, Value labels, const SparseCrossEntropyOptions& options) {
  Integers ignored;
  if (options.ignored) ignored.push_back(*options.ignored);
  return logits.graph()
      .add(definitions::sparse_softmax_cross_entropy, {logits, labels}, {{"ignored", std::move(ignored)}})
      .front();
}

Value mean_squared_error(Value prediction, Value target) {
  check_pair("mean_squared_error", prediction, target);
  return mean_of_last_axis(squared_error(prediction, target));
}

Value mean_absolute_error(Value prediction, Value target) {
  check_pair("mean_absolute_error", prediction, target);
  return mean_of_last_axis(absolute_error(prediction, target));
}

Value huber(Value prediction, Value target, double delta) {
  check_pair("huber", prediction, target);
  return mean_of_last_axis(huber_error(prediction, target, delta));
}

}  // namespace ops

}  // namespace pando
