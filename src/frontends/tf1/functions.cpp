// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/tf1/functions.h>

#include <pando/autodiff/gradients.h>

#include <fmt/format.h>

#include "model/tensor.h"

namespace pando::tf1 {

namespace {

Tensor unary(const char* name, const Tensor& x, Value (*op)(Value)) {
  return apply(name, {x}, [op](const std::vector<Value>& v) { return op(v[0]); });
}

Tensor binary(const char* name, const Tensor& a, const Tensor& b, Value (*op)(Value, Value)) {
  return apply(name, {a, b}, [op](const std::vector<Value>& v) { return op(v[0], v[1]); });
}

Tensor reduction(const char* name, const Tensor& x, const Axes& axes, Value (*op)(Value, const ops::ReduceOptions&)) {
  return apply(name, {x}, [op, axes](const std::vector<Value>& v) { return op(v[0], {.axes = axes}); });
}

// The mean of a loss of labels and predictions.
Tensor mean_loss(const char* name, const Tensor& labels, const Tensor& predictions,
                 const Function<Value(Value prediction, Value label)>& loss) {
  return apply(name, {labels, predictions},
               [loss](const std::vector<Value>& v) { return ops::reduce_mean(loss(v[1], v[0])); });
}

Value sparse_cross_entropy(Value logits, Value labels) {
  return ops::sparse_softmax_cross_entropy(logits, ops::cast(labels, DType::int32));
}
Value as_type_of(Value prediction, Value label) { return ops::cast(label, prediction.dtype()); }

}  // namespace

Tensor cast(const Tensor& x, DType dtype) {
  return apply("cast", {x}, [dtype](const std::vector<Value>& v) { return ops::cast(v[0], dtype); });
}
Tensor reshape(const Tensor& x, const Shape& shape) { return x.view(shape); }
Tensor concat(const std::vector<Tensor>& values, std::int64_t axis) {
  return apply("concat", values, [axis](const std::vector<Value>& v) { return ops::concat(v, axis); });
}
Tensor matmul(const Tensor& a, const Tensor& b) {
  return apply("matmul", {a, b}, [](const std::vector<Value>& v) { return ops::matmul(v[0], v[1]); });
}
Tensor square(const Tensor& x) { return unary("square", x, ops::square); }
Tensor sqrt(const Tensor& x) { return unary("sqrt", x, ops::sqrt); }
Tensor exp(const Tensor& x) { return unary("exp", x, ops::exp); }
Tensor log(const Tensor& x) { return unary("log", x, ops::log); }
Tensor abs(const Tensor& x) { return unary("abs", x, ops::abs); }
Tensor maximum(const Tensor& a, const Tensor& b) { return binary("maximum", a, b, ops::maximum); }
Tensor minimum(const Tensor& a, const Tensor& b) { return binary("minimum", a, b, ops::minimum); }
Tensor less(const Tensor& a, const Tensor& b) { return binary("less", a, b, ops::less); }
Tensor greater(const Tensor& a, const Tensor& b) { return binary("greater", a, b, ops::greater); }
Tensor equal(const Tensor& a, const Tensor& b) { return binary("equal", a, b, ops::equal); }
Tensor one_hot(const Tensor& indices, std::int64_t depth) {
  return apply("one_hot", {indices},
               [depth](const std::vector<Value>& v) { return ops::one_hot(ops::cast(v[0], DType::int32), depth); });
}
Tensor argmax(const Tensor& x, std::int64_t axis) {
  return apply("argmax", {x}, [axis](const std::vector<Value>& v) { return ops::argmax(v[0], axis); });
}
Tensor reduce_sum(const Tensor& x, const Axes& axes) { return reduction("reduce_sum", x, axes, ops::reduce_sum); }
Tensor reduce_mean(const Tensor& x, const Axes& axes) { return reduction("reduce_mean", x, axes, ops::reduce_mean); }
Tensor reduce_max(const Tensor& x, const Axes& axes) { return reduction("reduce_max", x, axes, ops::reduce_max); }

namespace nn {

Tensor relu(const Tensor& x) { return unary("relu", x, ops::relu); }
Tensor sigmoid(const Tensor& x) { return unary("sigmoid", x, ops::sigmoid); }
Tensor tanh(const Tensor& x) { return unary("tanh", x, ops::tanh); }
Tensor softmax(const Tensor& x) { return unary("softmax", x, ops::softmax); }
Tensor log_softmax(const Tensor& x) { return unary("log_softmax", x, ops::log_softmax); }
Tensor softmax_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits) {
  return binary("softmax_cross_entropy_with_logits", logits, labels, ops::softmax_cross_entropy);
}
Tensor sparse_softmax_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits) {
  return binary("sparse_softmax_cross_entropy_with_logits", logits, labels, sparse_cross_entropy);
}
Tensor sigmoid_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits) {
  return binary("sigmoid_cross_entropy_with_logits", logits, labels, ops::sigmoid_cross_entropy);
}

}  // namespace nn

namespace losses {

Tensor sparse_softmax_cross_entropy(const Tensor& labels, const Tensor& logits) {
  return mean_loss("sparse_softmax_cross_entropy", labels, logits, sparse_cross_entropy);
}
Tensor softmax_cross_entropy(const Tensor& onehot_labels, const Tensor& logits) {
  return mean_loss("softmax_cross_entropy", onehot_labels, logits,
                   [](Value p, Value l) { return ops::softmax_cross_entropy(p, as_type_of(p, l)); });
}
Tensor sigmoid_cross_entropy(const Tensor& multi_class_labels, const Tensor& logits) {
  return mean_loss("sigmoid_cross_entropy", multi_class_labels, logits,
                   [](Value p, Value l) { return ops::sigmoid_cross_entropy(p, as_type_of(p, l)); });
}
Tensor mean_squared_error(const Tensor& labels, const Tensor& predictions) {
  return mean_loss("mean_squared_error", labels, predictions,
                   [](Value p, Value l) { return ops::squared_error(p, as_type_of(p, l)); });
}
Tensor absolute_difference(const Tensor& labels, const Tensor& predictions) {
  return mean_loss("absolute_difference", labels, predictions,
                   [](Value p, Value l) { return ops::absolute_error(p, as_type_of(p, l)); });
}
Tensor huber_loss(const Tensor& labels, const Tensor& predictions, double delta) {
  return mean_loss("huber_loss", labels, predictions,
                   [delta](Value p, Value l) { return ops::huber_error(p, as_type_of(p, l), delta); });
}

}  // namespace losses

std::vector<Tensor> gradients(const Tensor& y, const std::vector<Tensor>& xs) {
  Trace* trace = current_trace();
  if (trace == nullptr) throw Error("gradients: they belong in a computation that ipu_compiler::compile traces");
  const Value loss = values_in(*trace, "gradients", {y})[0];
  if (loss.shape().elements() != 1)
    throw Error(fmt::format("gradients: y has shape {} but must be one number; use reduce_mean or reduce_sum",
                            to_string(loss.shape())));
  std::vector<Tensor> slopes;
  for (const Value& slope : pando::gradients(loss, values_in(*trace, "gradients", xs)))
    slopes.emplace_back(*trace, slope);
  return slopes;
}

}  // namespace pando::tf1
