// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "frontends/torch/nn/weights.h"
#include "pando/base/array_functions.h"
#include "model/sample_rows.h"

namespace pando::torch::nn {

namespace {

// Moves the running statistics towards those of a batch with `values` values of each channel. For the weights, see
// ops::batch_norm.
void move_statistics(const LayerCall& call, const ops::BatchNorm& norm, Value weights, std::int64_t values,
                     double momentum) {
  const auto moved = [&](Value old, Value seen) { return old * (1 - momentum) + seen * momentum; };
  // PyTorch keeps the variance of the population, and normalises with that of the batch.
  if (!weights) {
    const auto count = static_cast<double>(values);
    call.assign_buffer(0, moved(call.buffer(0), norm.mean));
    call.assign_buffer(1, moved(call.buffer(1), norm.variance * (count / (count - 1))));
    return;
  }
  const auto values_of_row = static_cast<double>(values / weights.shape()[0]);
  const Value count = ops::reduce_sum(weights) * values_of_row, others = count - 1.0;
  // One value has no variance, so it changes nothing.
  const Value one = ops::scalar(count, 1.0), enough = ops::greater(count, one);
  const Value variance = norm.variance * (count / ops::maximum(others, one));
  call.assign_buffer(0, ops::select(enough, moved(call.buffer(0), norm.mean), call.buffer(0)));
  call.assign_buffer(1, ops::select(enough, moved(call.buffer(1), variance), call.buffer(1)));
}

Value batch_norm(const LayerCall& call, Value x, std::int64_t features, const BatchNorm2dOptions& options) {
  check_image(x);
  if (x.shape()[1] != features)
    throw Error(fmt::format("the input has {} channels but num_features is {}", x.shape()[1], features));
  const Value image = channels_last(as_float(x));
  const Value scale = options.affine ? call.parameter(0) : ops::constant(call.graph(), ones({features}));
  const Value offset = options.affine ? call.parameter(1) : ops::constant(call.graph(), zeros({features}));
  if (options.track_running_stats && !call.training())
    return channels_first(ops::batch_norm_inference(image, scale, offset, call.buffer(0), call.buffer(1), options.eps));
  if (x.shape().elements() == features)
    throw Error("it has one value of each channel, which have no variance; train with larger batches, or call eval()");
  // Samples that only fill the batch up do not count.
  const Value mask = call.trace().sample_mask();
  const Value weights = mask ? mask_of_rows(mask, image.shape()[0]) : Value();
  const ops::BatchNorm norm = ops::batch_norm(image, scale, offset, options.eps, weights);
  if (options.track_running_stats && call.training())
    move_statistics(call, norm, weights, x.shape().elements() / features, options.momentum);
  return channels_first(norm.y);
}

std::shared_ptr<const Layer::Body> batch_norm_body(std::int64_t features, const BatchNorm2dOptions& options) {
  check_positive("BatchNorm2d", "num_features", features);
  Layer::Body body{.kind = "BatchNorm2d",
                   .extra = fmt::format("{}, eps={}, momentum={}, affine={}, track_running_stats={}", features,
                                        float_text(options.eps), float_text(options.momentum),
                                        python_flag(options.affine), python_flag(options.track_running_stats)),
                   .forward = [=](const LayerCall& call, Value x) { return batch_norm(call, x, features, options); }};
  if (options.affine) body.parameters = {{"weight", ones({features})}, {"bias", zeros({features})}};
  if (options.track_running_stats)
    body.buffers = {{"running_mean", zeros({features})}, {"running_var", ones({features})}};
  return std::make_shared<const Layer::Body>(std::move(body));
}

Value layer_norm(const LayerCall& call, Value x, const Shape& normalized, const LayerNormOptions& options) {
  const Shape& shape = x.shape();
  const int before = shape.rank() - normalized.rank();
  if (before < 0 || shape.part(before, shape.rank()) != normalized)
    throw Error(fmt::format("the input must end in the axes {}", to_string(normalized)));
  const std::int64_t elements = normalized.elements();
  const auto weight = [&](std::size_t index, const Array& otherwise) {
    return options.elementwise_affine ? ops::reshape(call.parameter(index), {elements})
                                      : ops::constant(call.graph(), otherwise);
  };
  const Value rows = ops::reshape(as_float(x), {-1, elements});
  return ops::reshape(ops::layer_norm(rows, weight(0, ones({elements})), weight(1, zeros({elements})), options.eps),
                      shape);
}

std::string tuple_text(const Shape& shape) {
  std::vector<std::string> sizes;
  for (std::int64_t size : shape) sizes.push_back(fmt::format("{}", size));
  return fmt::format("({}{})", join(sizes, ", "), sizes.size() == 1 ? "," : "");
}

std::shared_ptr<const Layer::Body> layer_norm_body(const Shape& shape, const LayerNormOptions& options) {
  Layer::Body body{.kind = "LayerNorm",
                   .extra = fmt::format("{}, eps={}, elementwise_affine={}", tuple_text(shape), float_text(options.eps),
                                        python_flag(options.elementwise_affine)),
                   .forward = [=](const LayerCall& call, Value x) { return layer_norm(call, x, shape, options); }};
  if (options.elementwise_affine) body.parameters = {{"weight", ones(shape)}, {"bias", zeros(shape)}};
  return std::make_shared<const Layer::Body>(std::move(body));
}

}  // namespace

BatchNorm2d::BatchNorm2d(std::int64_t num_features, const BatchNorm2dOptions& options)
    : Layer(batch_norm_body(num_features, options)) {}
LayerNorm::LayerNorm(const Shape& normalized_shape, const LayerNormOptions& options)
    : Layer(layer_norm_body(normalized_shape, options)) {}

}  // namespace pando::torch::nn
