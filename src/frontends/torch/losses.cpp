#include <pando/torch/losses.h>

#include <fmt/format.h>

#include "frontends/torch/module.h"

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

void check_labels(Value input, Value target) {
  const Shape& shape = input.shape();
  Shape wanted = {shape[0]};
  for (int axis = 2; axis < shape.rank(); ++axis) wanted.append(shape[axis]);
  if (target.shape() != wanted)
    throw Error(fmt::format("the target must have a class for each sample: {}", to_string(wanted)));
}

// Labels that can be looked up, and how much each sample counts (no value: all the same).
struct Labels {
  Value classes, weights;
};

Value class_weights(Value like, const Array& weight) {
  if (weight.shape() != Shape{classes_of(like)})
    throw Error(
        fmt::format("the weight has shape {} but there are {} classes", to_string(weight.shape()), classes_of(like)));
  return ops::constant(like.graph(), weight.astype(like.dtype()));
}

template <class Options>
Labels labels_of(Value input, Value target, const Options& options) {
  Labels labels{ops::cast(target, DType::int32), {}};
  Value counts;
  if (options.ignore_index) {
    const Value ignored = ops::scalar(labels.classes, static_cast<double>(*options.ignore_index));
    const Value kept = ops::not_equal(labels.classes, ignored);
    counts = ops::cast(kept, input.dtype());
    labels.classes = ops::select(kept, labels.classes, ops::scalar(labels.classes, 0.0));
  }
  if (options.weight) labels.weights = ops::gather(class_weights(input, *options.weight), labels.classes);
  if (counts) labels.weights = labels.weights ? labels.weights * counts : counts;
  return labels;
}

// A mean is over the weights.
Value weighted(Value losses, Value weights, const std::string& reduction) {
  if (!weights) return reduced(losses, reduction);
  const Value terms = losses * weights;
  return reduction == "mean" ? ops::reduce_sum(terms) / ops::reduce_sum(weights) : reduced(terms, reduction);
}

// Of log-probabilities, the classes last.
Value picked(Value log_probabilities, Value labels) {
  const Value chosen = ops::one_hot(labels, classes_of(log_probabilities), log_probabilities.dtype());
  return -ops::reduce_sum(log_probabilities * chosen, {.axes = {-1}});
}

// A part of each target is spread over all classes.
Value smoothed(Value logits, const Labels& labels, const CrossEntropyLossOptions& options) {
  const Value log_probabilities = ops::log_softmax(logits);
  const double part = options.label_smoothing, share = part / static_cast<double>(classes_of(logits));
  const Value own = picked(log_probabilities, labels.classes) * (1 - part);
  if (!options.weight)
    return weighted(own - ops::reduce_sum(log_probabilities, {.axes = {-1}}) * share, labels.weights,
                    options.reduction);
  const Value all = log_probabilities * class_weights(logits, *options.weight);
  Value spread = -ops::reduce_sum(all, {.axes = {-1}}) * share;
  if (options.ignore_index)
    spread = spread * ops::cast(ops::not_equal(labels.weights, ops::scalar(labels.weights, 0.0)), spread.dtype());
  const Value terms = own * labels.weights + spread;
  return options.reduction == "mean" ? ops::reduce_sum(terms) / ops::reduce_sum(labels.weights)
                                     : reduced(terms, options.reduction);
}

// Of probabilities as targets; the mean is over the samples.
Value dense_cross_entropy(Value logits, Value target, const CrossEntropyLossOptions& options) {
  if (options.label_smoothing != 0)
    target = target * (1 - options.label_smoothing) + options.label_smoothing / static_cast<double>(classes_of(logits));
  if (!options.weight) return reduced(ops::softmax_cross_entropy(logits, target), options.reduction);
  const Value terms = ops::log_softmax(logits) * target * class_weights(logits, *options.weight);
  return reduced(-ops::reduce_sum(terms, {.axes = {-1}}), options.reduction);
}

Value cross_entropy(Value input, Value target, const CrossEntropyLossOptions& options) {
  const Value logits = classes_last(input);
  if (is_floating(target.dtype())) {
    check_same_shape(input, target);
    return dense_cross_entropy(logits, classes_last(target), options);
  }
  check_labels(input, target);
  const Labels labels = labels_of(logits, target, options);
  if (options.label_smoothing != 0) return smoothed(logits, labels, options);
  return weighted(ops::sparse_softmax_cross_entropy(logits, labels.classes), labels.weights, options.reduction);
}

Value negative_log_likelihood(Value input, Value target, const NLLLossOptions& options) {
  check_labels(input, target);
  const Value log_probabilities = classes_last(input);
  const Labels labels = labels_of(log_probabilities, target, options);
  return weighted(picked(log_probabilities, labels.classes), labels.weights, options.reduction);
}

Value binary_cross_entropy(Value input, Value target, const BCEWithLogitsLossOptions& options) {
  check_same_shape(input, target);
  const auto constant = [&](const Array& value) { return ops::constant(input.graph(), value.astype(input.dtype())); };
  const Value wanted = ops::cast(target, input.dtype());
  Value losses = ops::sigmoid_cross_entropy(input, wanted);
  if (options.pos_weight) {
    // What the loss has of a positive target, log(1 + exp(-x)) t, counts more.
    const Value positive = ops::softplus(-input) * wanted;
    losses = losses + positive * (constant(*options.pos_weight) - 1.0);
  }
  if (options.weight) losses = losses * constant(*options.weight);
  return reduced(losses, options.reduction);
}

using Function = std::function<Value(Value input, Value target)>;

std::shared_ptr<const Loss::Body> body(const std::string& kind, const std::string& reduction,
                                       const Function& function) {
  check_reduction(kind, reduction);
  return std::make_shared<const Loss::Body>(Loss::Body{kind, function});
}

// A loss of each element.
std::shared_ptr<const Loss::Body> elementwise(const std::string& kind, const std::string& reduction,
                                              const Function& error) {
  return body(kind, reduction, [=](Value input, Value target) {
    check_same_shape(input, target);
    return reduced(error(input, ops::cast(target, input.dtype())), reduction);
  });
}

// Huber's error over beta; with beta 0 it is the absolute one.
Value smooth_absolute_error(Value input, Value target, double beta) {
  return beta == 0 ? ops::absolute_error(input, target) : ops::huber_error(input, target, beta) / beta;
}

}  // namespace

CrossEntropyLoss::CrossEntropyLoss(const CrossEntropyLossOptions& options)
    : Loss(body("CrossEntropyLoss", options.reduction,
                [options](Value input, Value target) { return cross_entropy(input, target, options); })) {
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw Error(
        fmt::format("CrossEntropyLoss: label_smoothing is {} but must be between 0 and 1", options.label_smoothing));
}

NLLLoss::NLLLoss(const NLLLossOptions& options)
    : Loss(body("NLLLoss", options.reduction,
                [options](Value input, Value target) { return negative_log_likelihood(input, target, options); })) {}

MSELoss::MSELoss(const LossOptions& options) : Loss(elementwise("MSELoss", options.reduction, ops::squared_error)) {}
L1Loss::L1Loss(const LossOptions& options) : Loss(elementwise("L1Loss", options.reduction, ops::absolute_error)) {}

SmoothL1Loss::SmoothL1Loss(const SmoothL1LossOptions& options)
    : Loss(elementwise("SmoothL1Loss", options.reduction, [beta = options.beta](Value input, Value target) {
        return smooth_absolute_error(input, target, beta);
      })) {
  if (!(options.beta >= 0)) throw Error(fmt::format("SmoothL1Loss: beta is {} but must not be negative", options.beta));
}

BCEWithLogitsLoss::BCEWithLogitsLoss(const BCEWithLogitsLossOptions& options)
    : Loss(body("BCEWithLogitsLoss", options.reduction,
                [options](Value input, Value target) { return binary_cross_entropy(input, target, options); })) {}

}  // namespace pando::torch::nn
