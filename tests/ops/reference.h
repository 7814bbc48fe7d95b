// SPDX-License-Identifier: Apache-2.0
// What ops compute, in plain loops of doubles: slow, and as easy to believe as possible.
#pragma once
#include <pando/ops/ops.h>

#include "tests/ops/tensor.h"

namespace pando::test {

using Tensors = std::vector<Tensor>;

// f of the broadcast elements of the inputs; the result has the type of the last input unless given.
Tensor elementwise(const Tensors& inputs, const std::function<double(const std::vector<double>&)>& f);
Tensor elementwise(const Tensors& inputs, DType dtype, const std::function<double(const std::vector<double>&)>& f);

// Of one element, where the standard library lacks it; the delta of huber is 0.75 and the epsilon of cross_entropy
// 0.125.
namespace of_element {
double logistic(double x);
double gelu(double x);
double gelu_tanh(double x);
double gelu_derivative(double x);
double gelu_tanh_derivative(double x);
double silu_derivative(double x);
double softplus(double x);
double huber(double a, double b);
double cross_entropy(double p, double t);
double erfinv(double x);
double digamma(double x);
double trigamma(double x);
double larger(double a, double b);
double smaller(double a, double b);
}  // namespace of_element

Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b);

// The fields of a convolution's or a pooling's attributes.
struct Geometry {
  std::array<std::int64_t, 2> kernel = {1, 1};
  std::array<std::int64_t, 2> strides = {1, 1};
  std::array<std::int64_t, 2> dilations = {1, 1};
  // Rows above, rows below, columns left, columns right.
  std::array<std::int64_t, 4> padding = {};
  std::int64_t groups = 1;

  std::int64_t output_size(std::size_t axis, std::int64_t size) const;
  // This with the padding that gives ceil(size / stride) places; an odd one goes to the end.
  Geometry same(std::int64_t height, std::int64_t width) const;
};
Tensor conv2d(const Tensor& x, const Tensor& filter, const Geometry& geometry);
Tensor conv2d_input_gradient(const Tensor& dy, const Tensor& filter, const Geometry& geometry, const Shape& x);
Tensor conv2d_weight_gradient(const Tensor& x, const Tensor& dy, const Geometry& geometry, const Shape& filter);

// The values and their places within the windows.
Tensors max_pool(const Tensor& x, const Geometry& geometry);
Tensor max_pool_gradient(const Tensor& dy, const Tensor& positions, const Geometry& geometry, const Shape& x);
Tensor average_pool(const Tensor& x, const Geometry& geometry, bool count_padding);
Tensor average_pool_gradient(const Tensor& dy, const Geometry& geometry, bool count_padding, const Shape& x);

// The same over volumes [batch, depth, height, width, channels]; the padding lies before and after each axis.
struct VolumeGeometry {
  std::array<std::int64_t, 3> kernel = {1, 1, 1};
  std::array<std::int64_t, 3> strides = {1, 1, 1};
  std::array<std::int64_t, 3> dilations = {1, 1, 1};
  std::array<std::int64_t, 6> padding = {};
  std::int64_t groups = 1;

  std::int64_t output_size(std::size_t axis, std::int64_t size) const;
};
Tensor conv3d(const Tensor& x, const Tensor& filter, const VolumeGeometry& geometry);
// Its transpose, whose result has the shape of x.
Tensor conv3d_transpose(const Tensor& dy, const Tensor& filter, const VolumeGeometry& geometry, const Shape& x);
Tensor max_pool3d(const Tensor& x, const VolumeGeometry& geometry);
Tensor average_pool3d(const Tensor& x, const VolumeGeometry& geometry, bool count_padding);

Tensor reduce(const Tensor& x, const Integers& axes, bool keep_dims, double initial,
              const std::function<double(double, double)>& f);
Tensor reduce_mean(const Tensor& x, const Integers& axes, bool keep_dims);
Tensor argmax(const Tensor& x, int axis);

Tensor log_softmax(const Tensor& x);
// The losses and their derivative in the logits.
Tensors softmax_cross_entropy(const Tensor& logits, const Tensor& targets);
Tensors sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels);

Tensor transpose(const Tensor& x, const Integers& permutation);
// Element `place` of the result is element from(place) of x, or `otherwise` where that is -1.
Tensor moved(const Tensor& x, const Shape& shape, double otherwise,
             const std::function<std::int64_t(const Index&)>& from);

// y, mean, variance and 1 / sqrt(variance + epsilon); the weights may be null.
Tensors batch_norm(const Tensor& x, const Tensor& scale, const Tensor& offset, const Tensor* weights, double epsilon);
// The gradients of x, scale and offset.
Tensors batch_norm_gradient(const Tensor& dy, const Tensor& x, const Tensor& scale, const Tensor& mean,
                            const Tensor& inverse, const Tensor* weights);
// y, mean and 1 / sqrt(variance + epsilon).
Tensors layer_norm(const Tensor& x, const Tensor& scale, const Tensor& offset, double epsilon);
Tensors layer_norm_gradient(const Tensor& dy, const Tensor& x, const Tensor& scale, const Tensor& mean,
                            const Tensor& inverse);

// `group` is the parameter, the gradient and the states; the result the new parameter and states.
Tensors sgd_update(double rate, const Tensors& group, const ops::SgdOptions& options);
Tensors adam_update(double rate, double step, const Tensors& group, const ops::AdamOptions& options);
Tensors rmsprop_update(double rate, const Tensors& group, const ops::RmspropOptions& options);
Tensors adagrad_update(double rate, const Tensors& group, const ops::AdagradOptions& options);

// Philox4x32-10, written from the paper and not from src/base/philox.h.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);
// The word that element `element` of a sample draws.
std::uint32_t random_word(std::uint64_t seed, std::uint32_t stream, std::uint32_t update, std::uint32_t sample,
                          std::int64_t element);

}  // namespace pando::test
