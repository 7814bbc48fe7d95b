// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/keras/metrics.h>

#include <fmt/format.h>

#include "frontends/keras/build/names.h"
#include "graph/op_definition.h"

namespace pando::keras {

namespace {

// Keras keeps probabilities this far from 0 and 1.
constexpr double epsilon = 1e-7;

// What `op` was applied to, if the value is its result: softmax and sigmoid are undone by the losses that follow them.
Value undone(Value value, std::string_view op) {
  const Node& node = value.graph().node(value.id());
  return node.op->name == op ? Value(value.graph(), node.inputs[0]) : Value();
}

// The mean over all axes but the batch.
Value mean_of_sample(Value x) {
  Integers axes;
  for (int axis = 1; axis < x.shape().rank(); ++axis) axes.push_back(axis);
  return axes.empty() ? x : ops::reduce_mean(x, {.axes = axes});
}

Value as_labels(Value prediction, Value target) {
  const Shape& shape = prediction.shape();
  return ops::reshape(ops::cast(target, DType::int32), shape.part(0, shape.rank() - 1));
}

// -sum of target * log(probability), the probabilities made to sum to 1.
Value probability_crossentropy(Value probability, Value target) {
  const Value sum = ops::reduce_sum(probability, {.axes = {-1}, .keep_dims = true});
  const Value log = ops::log(ops::clip(probability / sum, epsilon, 1 - epsilon));
  return -ops::reduce_sum(target * log, {.axes = {-1}});
}

Value categorical_crossentropy(Value prediction, Value target, const losses::CrossentropyOptions& options) {
  if (options.label_smoothing != 0) {
    const auto classes = static_cast<double>(target.shape()[target.shape().rank() - 1]);
    target = target * (1 - options.label_smoothing) + options.label_smoothing / classes;
  }
  const Value logits = options.from_logits ? prediction : undone(prediction, "softmax");
  return mean_of_sample(logits ? ops::softmax_cross_entropy(logits, target)
                               : probability_crossentropy(prediction, target));
}

Value sparse_crossentropy(Value prediction, Value target, bool from_logits) {
  const Value labels = as_labels(prediction, target);
  Value logits = from_logits ? prediction : undone(prediction, "softmax");
  // Unlike above, Keras clips first and makes the sum 1 afterwards.
  if (!logits) logits = ops::log(ops::clip(prediction, epsilon, 1 - epsilon));
  return mean_of_sample(ops::sparse_softmax_cross_entropy(logits, labels));
}

// Keras adds epsilon to what it has clipped.
Value chance_crossentropy(Value chance, Value target) {
  const Value p = ops::clip(chance, epsilon, 1 - epsilon);
  return -(target * ops::log(p + epsilon) + (1.0 - target) * ops::log(1.0 - p + epsilon));
}

Value binary_crossentropy(Value prediction, Value target, const losses::CrossentropyOptions& options) {
  if (options.label_smoothing != 0) target = target * (1 - options.label_smoothing) + options.label_smoothing / 2;
  const Value logits = options.from_logits ? prediction : undone(prediction, "sigmoid");
  return mean_of_sample(logits ? ops::sigmoid_cross_entropy(logits, target) : chance_crossentropy(prediction, target));
}

const std::map<std::string, Function<Loss()>>& losses_by_name() {
  using namespace losses;
  static const std::map<std::string, Function<Loss()>> table = {
      {"categorical_crossentropy", [] { return CategoricalCrossentropy(); }},
      {"sparse_categorical_crossentropy", [] { return SparseCategoricalCrossentropy(); }},
      {"binary_crossentropy", [] { return BinaryCrossentropy(); }},
      {"mean_squared_error", losses::MeanSquaredError},
      {"mse", losses::MeanSquaredError},
      {"mean_absolute_error", losses::MeanAbsoluteError},
      {"mae", losses::MeanAbsoluteError},
      {"huber", [] { return Huber(); }},
      {"log_cosh", LogCosh},
      {"hinge", Hinge},
      {"poisson", Poisson},
      {"kl_divergence", KLDivergence},
      {"kld", KLDivergence}};
  return table;
}

Loss mean_loss(const std::string& name, Value (*function)(Value, Value)) {
  return {name, [function](Value prediction, Value target) { return mean_of_sample(function(prediction, target)); }};
}

}  // namespace

namespace losses {

Loss::Loss(const std::string& name) : Loss(find_by_name("loss", losses_by_name(), name)()) {}

Loss Loss::summed() const {
  Loss sum = *this;
  sum.is_sum_ = true;
  return sum;
}

Loss CategoricalCrossentropy(const CrossentropyOptions& options) {
  return {"categorical_crossentropy",
          [options](Value prediction, Value target) { return categorical_crossentropy(prediction, target, options); }};
}
Loss SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options) {
  return {"sparse_categorical_crossentropy",
          [options](Value prediction, Value target) {
            return sparse_crossentropy(prediction, target, options.from_logits);
          },
          Targets::labels};
}
Loss BinaryCrossentropy(const CrossentropyOptions& options) {
  return {"binary_crossentropy",
          [options](Value prediction, Value target) { return binary_crossentropy(prediction, target, options); }};
}
Loss MeanSquaredError() { return mean_loss("mean_squared_error", ops::squared_error); }
Loss MeanAbsoluteError() { return mean_loss("mean_absolute_error", ops::absolute_error); }
Loss Huber(double delta) {
  return {"huber", [delta](Value prediction, Value target) {
            return mean_of_sample(ops::huber_error(prediction, target, delta));
          }};
}
Loss LogCosh() {
  return mean_loss("log_cosh", [](Value prediction, Value target) {
    // log(cosh(x)) without overflow.
    const Value x = prediction - target;
    return x + ops::softplus(x * -2.0) - 0.6931471805599453;
  });
}
Loss Hinge() {
  return mean_loss("hinge", [](Value prediction, Value target) {
    // Targets 0 and 1 mean -1 and 1.
    const Value sign = ops::select(ops::equal(target, ops::scalar(target, 0.0)), ops::scalar(target, -1.0), target);
    return ops::relu(1.0 - sign * prediction);
  });
}
Loss Poisson() {
  return mean_loss("poisson",
                   [](Value prediction, Value target) { return prediction - target * ops::log(prediction + epsilon); });
}
Loss KLDivergence() {
  return {"kl_divergence", [](Value prediction, Value target) {
            const Value t = ops::clip(target, epsilon, 1.0), p = ops::clip(prediction, epsilon, 1.0);
            return mean_of_sample(ops::reduce_sum(t * ops::log(t / p), {.axes = {-1}}));
          }};
}

}  // namespace losses

namespace {

std::int64_t last_size(Value x) { return x.shape()[x.shape().rank() - 1]; }

// argmax is the same before and after softmax, which then need not be computed.
Value chosen(Value prediction) {
  const Value logits = undone(prediction, "softmax");
  return ops::argmax(logits ? logits : prediction, -1);
}

Value as_mean(Value is_right, Value like) { return mean_of_sample(ops::cast(is_right, like.dtype())); }

Value categorical_accuracy(Value prediction, Value target) {
  return as_mean(ops::equal(chosen(prediction), ops::argmax(target, -1)), prediction);
}
Value sparse_accuracy(Value prediction, Value target) {
  return as_mean(ops::equal(chosen(prediction), as_labels(prediction, target)), prediction);
}
Value binary_accuracy(Value prediction, Value target, double threshold) {
  const Value above = ops::greater(prediction, ops::scalar(prediction, threshold));
  const DType dtype = prediction.dtype();
  return as_mean(ops::equal(ops::cast(above, dtype), ops::cast(target, dtype)), prediction);
}

// As Keras chooses: by the shapes of predictions and targets.
Value any_accuracy(Value prediction, Value target) {
  target = is_floating(target.dtype()) ? target : ops::cast(target, prediction.dtype());
  const Shape &p = prediction.shape(), &t = target.shape();
  if (p.rank() < 2 || (last_size(prediction) == 1 && p == t)) return binary_accuracy(prediction, target, 0.5);
  return p == t ? categorical_accuracy(prediction, target) : sparse_accuracy(prediction, target);
}

// Right if fewer than k predictions are greater than that of the wanted class.
Value top_k_accuracy(Value prediction, Value labels, std::int64_t k) {
  const Value wanted = ops::one_hot(labels, last_size(prediction), prediction.dtype());
  const Value own = ops::reduce_sum(prediction * wanted, {.axes = {-1}, .keep_dims = true});
  const Value greater = ops::cast(ops::greater(prediction, own), prediction.dtype());
  const Value ahead = ops::reduce_sum(greater, {.axes = {-1}});
  return as_mean(ops::less(ahead, ops::scalar(ahead, static_cast<double>(k))), prediction);
}

const std::map<std::string, Function<Metric()>>& metrics_by_name() {
  using namespace metrics;
  static const std::map<std::string, Function<Metric()>> table = [] {
    std::map<std::string, Function<Metric()>> entries = {
        {"accuracy", Accuracy},
        {"acc", Accuracy},
        {"categorical_accuracy", CategoricalAccuracy},
        {"sparse_categorical_accuracy", SparseCategoricalAccuracy},
        {"binary_accuracy", [] { return BinaryAccuracy(); }},
        {"top_k_categorical_accuracy", [] { return TopKCategoricalAccuracy(); }},
        {"sparse_top_k_categorical_accuracy", [] { return SparseTopKCategoricalAccuracy(); }}};
    for (const auto& [name, make] : losses_by_name()) entries.emplace(name, [make = make] { return Metric(make()); });
    return entries;
  }();
  return table;
}

}  // namespace

namespace metrics {

Metric::Metric(const std::string& name) : Metric(find_by_name("metric", metrics_by_name(), name)()) { name_ = name; }

Metric Accuracy() { return {"accuracy", any_accuracy}; }
Metric CategoricalAccuracy() { return {"categorical_accuracy", categorical_accuracy}; }
Metric SparseCategoricalAccuracy() { return {"sparse_categorical_accuracy", sparse_accuracy}; }
Metric BinaryAccuracy(double threshold) {
  return {"binary_accuracy",
          [threshold](Value prediction, Value target) { return binary_accuracy(prediction, target, threshold); }};
}
Metric TopKCategoricalAccuracy(std::int64_t k) {
  return {"top_k_categorical_accuracy",
          [k](Value prediction, Value target) { return top_k_accuracy(prediction, ops::argmax(target, -1), k); }};
}
Metric SparseTopKCategoricalAccuracy(std::int64_t k) {
  return {"sparse_top_k_categorical_accuracy",
          [k](Value prediction, Value target) { return top_k_accuracy(prediction, as_labels(prediction, target), k); }};
}
Metric MeanSquaredError() { return losses::MeanSquaredError(); }
Metric MeanAbsoluteError() { return losses::MeanAbsoluteError(); }

}  // namespace metrics

}  // namespace pando::keras
