// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/torch/losses.h>

#include <fmt/format.h>

#include <limits>

#include "frontends/torch/nn/module.h"

namespace pando::torch::nn {

namespace {

std::int64_t classes_of(Value x) { return x.shape()[x.shape().rank() - 1]; }

// Classes are axis 1 in PyTorch and the last one in the ops.
Value classes_last(Value x) {
  const int rank = x.shape().rank();
  if (rank < 2) throw Error("the input must have the axes [batch, classes, ...]");
  if (rank == 2) return x;
  Integers permutation = {0};
  for (int axis = 2; axis < rank; ++axis) permutation.push_back(axis);
  permutation.push_back(1);
  return ops::transpose(x, permutation);
}

void check_same_shape(Value input, Value target) {
  if (input.shape() != target.shape()) throw Error("input and target must have the same shape");
}

// A number that an int32 label cannot have need not be looked for.
std::optional<std::int64_t> label_in_range(std::int64_t ignore_index) {
  using Limits = std::numeric_limits<std::int32_t>;
  return ignore_index >= Limits::min() && ignore_index <= Limits::max() ? std::optional(ignore_index) : std::nullopt;
}

// With the classes of `input` on axis 1. `loss` is the name of the class.
void check_labels(const LayerCall& call, std::string_view loss, Value input, Value target, std::int64_t ignore_index) {
  const Shape& shape = input.shape();
  Shape wanted = {shape[0]};
  for (int axis = 2; axis < shape.rank(); ++axis) wanted.append(shape[axis]);
  if (target.shape() != wanted)
    throw Error(fmt::format("the target must have a class for each sample: {}", to_string(wanted)));
  call.trace().expect_classes({.targets = target,
                               .count = shape[1],
                               .ignored = label_in_range(ignore_index),
                               .loss = std::string(loss),
                               .name = call.graph().scope()});
}

// Labels that can be looked up, which of them count (no value means all), and their weights (no value means equal).
struct Labels {
  Value classes, counts = {}, weights = {};
};

// No value if there are none.
Value class_weights(const LayerCall& call, Value logits) {
  if (!call.has_buffer(0)) return {};
  const Value weight = call.buffer(0);
  if (weight.shape() != Shape{classes_of(logits)})
    throw Error(
        fmt::format("the weight has shape {} but there are {} classes", to_string(weight.shape()), classes_of(logits)));
  return ops::cast(weight, logits.dtype());
}

Value is_counted(Value classes, std::int64_t ignored) {
  return ops::not_equal(classes, ops::scalar(classes, static_cast<double>(ignored)));
}

Labels labels_of(Value input, Value target, Value weight, std::int64_t ignore_index) {
  Labels labels{ops::cast(target, DType::int32)};
  if (const auto ignored = label_in_range(ignore_index)) {
    const Value kept = is_counted(labels.classes, *ignored);
    labels.counts = ops::cast(kept, input.dtype());
    labels.classes = ops::select(kept, labels.classes, ops::scalar(labels.classes, 0.0));
  }
  labels.weights = weight ? ops::gather(weight, labels.classes) : labels.counts;
  if (weight && labels.counts) labels.weights = labels.weights * labels.counts;
  return labels;
}

// The sum of the terms, or that sum divided by the sum of their weights.
Value mean_or_sum(const Trace& trace, Value terms, Value weights, const std::string& reduction) {
  if (reduction != "mean") return reduced(trace, terms, reduction);
  const Value mask = mask_for(trace, terms);
  const Value sum = ops::reduce_sum(mask ? terms * mask : terms);
  return divided_by_weights(trace, sum, ops::reduce_sum(mask ? weights * mask : weights));
}

// A mean divides by the weights.
Value weighted(const Trace& trace, Value losses, Value weights, const std::string& reduction) {
  if (!weights) return reduced(trace, losses, reduction);
  return mean_or_sum(trace, losses * weights, weights, reduction);
}

// Takes log-probabilities, with the classes last.
Value picked(Value log_probabilities, Value labels) {
  const Value chosen = ops::one_hot(labels, classes_of(log_probabilities), log_probabilities.dtype());
  const Value zero = ops::scalar(chosen, 0.0);
  // The log-probabilities of other classes may be -inf. A label that a program computes and that is not a class chooses
  // nothing, and 0 / 0 is NaN.
  const Value own = ops::select(ops::not_equal(chosen, zero), log_probabilities, zero);
  return -ops::reduce_sum(own, {.axes = {-1}}) / ops::reduce_sum(chosen, {.axes = {-1}});
}

// A part of each target is spread over all classes.
Value smoothed(const Trace& trace, Value logits, const Labels& labels, Value weight,
               const CrossEntropyLossOptions& options) {
  const Value log_probabilities = ops::log_softmax(logits);
  const double part = options.label_smoothing, share = part / static_cast<double>(classes_of(logits));
  const Value own = picked(log_probabilities, labels.classes) * (1 - part);
  if (!weight)
    return weighted(trace, own - ops::reduce_sum(log_probabilities, {.axes = {-1}}) * share, labels.weights,
                    options.reduction);
  Value spread = -ops::reduce_sum(log_probabilities * weight, {.axes = {-1}}) * share;
  if (labels.counts) spread = spread * labels.counts;
  return mean_or_sum(trace, own * labels.weights + spread, labels.weights, options.reduction);
}

// For probabilities as targets; the mean is over the samples.
Value dense_cross_entropy(const Trace& trace, Value logits, Value target, Value weight,
                          const CrossEntropyLossOptions& options) {
  if (options.label_smoothing != 0)
    target = target * (1 - options.label_smoothing) + options.label_smoothing / static_cast<double>(classes_of(logits));
  if (!weight) return reduced(trace, ops::softmax_cross_entropy(logits, target), options.reduction);
  const Value terms = ops::log_softmax(logits) * target * weight;
  return reduced(trace, -ops::reduce_sum(terms, {.axes = {-1}}), options.reduction);
}

// The op itself leaves out ignored labels; only a mean needs to know how many are left.
Value sparse_cross_entropy(const Trace& trace, Value logits, Value target, const CrossEntropyLossOptions& options) {
  const Value classes = ops::cast(target, DType::int32);
  const std::optional<std::int64_t> ignored = label_in_range(options.ignore_index);
  const Value losses = ops::sparse_softmax_cross_entropy(logits, classes, {.ignored = ignored});
  if (!ignored) return reduced(trace, losses, options.reduction);
  return mean_or_sum(trace, losses, ops::cast(is_counted(classes, *ignored), losses.dtype()), options.reduction);
}

Value cross_entropy(const LayerCall& call, Value input, Value target, const CrossEntropyLossOptions& options) {
  const Value logits = classes_last(input), weight = class_weights(call, logits);
  if (is_floating(target.dtype())) {
    if (target.shape().rank() + 1 == input.shape().rank())
      throw Error(fmt::format("a target of type {} must have a probability for each class; cast classes to int64",
                              name(target.dtype())));
    check_same_shape(input, target);
    return dense_cross_entropy(call.trace(), logits, classes_last(target), weight, options);
  }
  check_labels(call, "CrossEntropyLoss", input, target, options.ignore_index);
  if (!weight && options.label_smoothing == 0) return sparse_cross_entropy(call.trace(), logits, target, options);
  const Labels labels = labels_of(logits, target, weight, options.ignore_index);
  if (options.label_smoothing != 0) return smoothed(call.trace(), logits, labels, weight, options);
  const Value losses = ops::sparse_softmax_cross_entropy(logits, labels.classes);
  return weighted(call.trace(), losses, labels.weights, options.reduction);
}

Value negative_log_likelihood(const LayerCall& call, Value input, Value target, const NLLLossOptions& options) {
  const Value log_probabilities = classes_last(input);
  check_labels(call, "NLLLoss", input, target, options.ignore_index);
  const Labels labels =
      labels_of(log_probabilities, target, class_weights(call, log_probabilities), options.ignore_index);
  return weighted(call.trace(), picked(log_probabilities, labels.classes), labels.weights, options.reduction);
}

Value binary_cross_entropy(const LayerCall& call, Value input, Value target, const BCEWithLogitsLossOptions& options) {
  check_same_shape(input, target);
  const auto buffer = [&](std::size_t index) { return ops::cast(call.buffer(index), input.dtype()); };
  const Value wanted = ops::cast(target, input.dtype());
  Value losses = ops::sigmoid_cross_entropy(input, wanted);
  if (options.pos_weight) {
    // The part of the loss from a positive target, log(1 + exp(-x)) t, counts more.
    const Value positive = ops::softplus(-input) * wanted;
    losses = losses + positive * (buffer(options.weight ? 1 : 0) - 1.0);
  }
  if (options.weight) losses = losses * buffer(0);
  return reduced(call.trace(), losses, options.reduction);
}

using LossFunction = Function<Value(const LayerCall& call, Value input, Value target)>;

// As in PyTorch: buffers that are not given do not exist.
std::vector<Layer::Body::Weight> buffers(const std::optional<Array>& weight,
                                         const std::optional<Array>& pos_weight = {}) {
  std::vector<Layer::Body::Weight> list;
  if (weight) list.push_back({"weight", weight->astype(DType::float32)});
  if (pos_weight) list.push_back({"pos_weight", pos_weight->astype(DType::float32)});
  return list;
}

std::shared_ptr<const Loss::Body> body(const std::string& kind, const std::string& reduction,
                                       const LossFunction& function,
                                       const std::vector<Layer::Body::Weight>& buffers = {}) {
  check_reduction(kind, reduction);
  return std::make_shared<const Loss::Body>(Loss::Body{kind, function, buffers});
}

// One loss for each element.
std::shared_ptr<const Loss::Body> elementwise(const std::string& kind, const std::string& reduction,
                                              const Function<Value(Value input, Value target)>& error) {
  return body(kind, reduction, [=](const LayerCall& call, Value input, Value target) {
    check_same_shape(input, target);
    return reduced(call.trace(), error(input, ops::cast(target, input.dtype())), reduction);
  });
}

// Huber's error over beta; with beta 0 it is the absolute one.
Value smooth_absolute_error(Value input, Value target, double beta) {
  return beta == 0 ? ops::absolute_error(input, target) : ops::huber_error(input, target, beta) / beta;
}

}  // namespace

CrossEntropyLoss::CrossEntropyLoss(const CrossEntropyLossOptions& options)
    : Loss(body(
          "CrossEntropyLoss", options.reduction,
          [options](const LayerCall& call, Value input, Value target) {
            return cross_entropy(call, input, target, options);
          },
          buffers(options.weight))) {
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw Error(
        fmt::format("CrossEntropyLoss: label_smoothing is {} but must be between 0 and 1", options.label_smoothing));
}

NLLLoss::NLLLoss(const NLLLossOptions& options)
    : Loss(body(
          "NLLLoss", options.reduction,
          [options](const LayerCall& call, Value input, Value target) {
            return negative_log_likelihood(call, input, target, options);
          },
          buffers(options.weight))) {}

MSELoss::MSELoss(const LossOptions& options) : Loss(elementwise("MSELoss", options.reduction, ops::squared_error)) {}
L1Loss::L1Loss(const LossOptions& options) : Loss(elementwise("L1Loss", options.reduction, ops::absolute_error)) {}

SmoothL1Loss::SmoothL1Loss(const SmoothL1LossOptions& options)
    : Loss(elementwise("SmoothL1Loss", options.reduction, [beta = options.beta](Value input, Value target) {
        return smooth_absolute_error(input, target, beta);
      })) {
  if (!(options.beta >= 0)) throw Error(fmt::format("SmoothL1Loss: beta is {} but must not be negative", options.beta));
}

BCEWithLogitsLoss::BCEWithLogitsLoss(const BCEWithLogitsLossOptions& options)
    : Loss(body(
          "BCEWithLogitsLoss", options.reduction,
          [options](const LayerCall& call, Value input, Value target) {
            return binary_cross_entropy(call, input, target, options);
          },
          buffers(options.weight, options.pos_weight))) {}

}  // namespace pando::torch::nn
