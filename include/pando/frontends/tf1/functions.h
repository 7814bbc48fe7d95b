// SPDX-License-Identifier: Apache-2.0
// Functions on tensors, losses and layers, by their names in TensorFlow 1.
#pragma once
#include <pando/frontends/tf1/graph.h>

namespace pando::tf1 {

using Axes = std::vector<std::int64_t>;

PANDO_API Tensor cast(const Tensor& x, DType dtype);
PANDO_API Tensor reshape(const Tensor& x, const Shape& shape);
PANDO_API Tensor concat(const std::vector<Tensor>& values, std::int64_t axis);
PANDO_API Tensor matmul(const Tensor& a, const Tensor& b);
PANDO_API Tensor square(const Tensor& x);
PANDO_API Tensor sqrt(const Tensor& x);
PANDO_API Tensor exp(const Tensor& x);
PANDO_API Tensor log(const Tensor& x);
PANDO_API Tensor abs(const Tensor& x);
PANDO_API Tensor maximum(const Tensor& a, const Tensor& b);
PANDO_API Tensor minimum(const Tensor& a, const Tensor& b);
PANDO_API Tensor less(const Tensor& a, const Tensor& b);
PANDO_API Tensor greater(const Tensor& a, const Tensor& b);
PANDO_API Tensor equal(const Tensor& a, const Tensor& b);
PANDO_API Tensor one_hot(const Tensor& indices, std::int64_t depth);
PANDO_API Tensor argmax(const Tensor& x, std::int64_t axis);
// No axes means all of them.
PANDO_API Tensor reduce_sum(const Tensor& x, const Axes& axes = {});
PANDO_API Tensor reduce_mean(const Tensor& x, const Axes& axes = {});
PANDO_API Tensor reduce_max(const Tensor& x, const Axes& axes = {});

namespace nn {
PANDO_API Tensor relu(const Tensor& x);
PANDO_API Tensor sigmoid(const Tensor& x);
PANDO_API Tensor tanh(const Tensor& x);
PANDO_API Tensor softmax(const Tensor& x);
PANDO_API Tensor log_softmax(const Tensor& x);
// One loss for each sample.
PANDO_API Tensor softmax_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits);
PANDO_API Tensor sparse_softmax_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits);
PANDO_API Tensor sigmoid_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits);
}  // namespace nn

// Means over all elements.
namespace losses {
PANDO_API Tensor sparse_softmax_cross_entropy(const Tensor& labels, const Tensor& logits);
PANDO_API Tensor softmax_cross_entropy(const Tensor& onehot_labels, const Tensor& logits);
PANDO_API Tensor sigmoid_cross_entropy(const Tensor& multi_class_labels, const Tensor& logits);
PANDO_API Tensor mean_squared_error(const Tensor& labels, const Tensor& predictions);
PANDO_API Tensor absolute_difference(const Tensor& labels, const Tensor& predictions);
PANDO_API Tensor huber_loss(const Tensor& labels, const Tensor& predictions, double delta = 1.0);
}  // namespace losses

// The gradients of a scalar, in a computation that is being traced.
PANDO_API std::vector<Tensor> gradients(const Tensor& y, const std::vector<Tensor>& xs);

}  // namespace pando::tf1
