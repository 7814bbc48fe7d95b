// SPDX-License-Identifier: Apache-2.0
// Linear layers: dense, convolutions, and the table of an embedding.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontends/torch/nn/weights.h"

namespace pando::torch::nn {

namespace {

void check_channels(const char* who, std::int64_t in, std::int64_t out, std::int64_t groups, const Size2& kernel) {
  check_positive(who, "in_channels", in);
  check_positive(who, "out_channels", out);
  check_positive(who, "groups", groups);
  check_positive(who, "kernel_size", kernel);
  if (in % groups != 0 || out % groups != 0)
    throw Error(
        fmt::format("{}: in_channels {} and out_channels {} must be divisible by groups {}", who, in, out, groups));
}

void check_channels_of(Value x, std::int64_t in) {
  check_image(x);
  if (x.shape()[1] != in) throw Error(fmt::format("the input has {} channels but in_channels is {}", x.shape()[1], in));
}

// The padding before and after, for an output of the input's size.
std::array<std::int64_t, 4> same_padding(const Size2& kernel, const Size2& dilation) {
  const std::int64_t rows = dilation.height * (kernel.height - 1), columns = dilation.width * (kernel.width - 1);
  return {rows / 2, rows - rows / 2, columns / 2, columns - columns / 2};
}

ops::ConvOptions conv_options(const Conv2dOptions& options) {
  const std::string& mode = options.padding.mode;
  if (!mode.empty() && mode != "same" && mode != "valid")
    throw Error(fmt::format("Conv2d: the padding is '{}' but must be a number, 'same' or 'valid'", mode));
  if (mode == "same" && (options.stride.height != 1 || options.stride.width != 1))
    throw Error("Conv2d: padding 'same' needs a stride of 1; give the padding as a number");
  const Size2& sizes = options.padding.sizes;
  return {.strides = {options.stride.height, options.stride.width},
          .dilations = {options.dilation.height, options.dilation.width},
          .padding = ops::Padding::explicit_sizes,
          .padding_sizes = mode == "same" ? same_padding(options.kernel_size, options.dilation)
                                          : std::array{sizes.height, sizes.height, sizes.width, sizes.width},
          .groups = options.groups};
}

bool is(const Size2& size, std::int64_t number) { return size.height == number && size.width == number; }

std::string conv_text(std::int64_t in, std::int64_t out, const Conv2dOptions& options) {
  std::string text =
      fmt::format("{}, {}, kernel_size={}, stride={}", in, out, to_text(options.kernel_size), to_text(options.stride));
  if (!options.padding.mode.empty()) text += fmt::format(", padding={}", options.padding.mode);
  else if (!is(options.padding.sizes, 0)) text += fmt::format(", padding={}", to_text(options.padding.sizes));
  if (!is(options.dilation, 1)) text += fmt::format(", dilation={}", to_text(options.dilation));
  if (options.groups != 1) text += fmt::format(", groups={}", options.groups);
  if (!options.bias) text += ", bias=False";
  return text;
}

std::shared_ptr<const Layer::Body> conv_body(std::int64_t in, std::int64_t out, const Conv2dOptions& options) {
  check_channels("Conv2d", in, out, options.groups, options.kernel_size);
  const Size2& kernel = options.kernel_size;
  const Shape shape = {out, in / options.groups, kernel.height, kernel.width};
  const double limit = 1.0 / std::sqrt(static_cast<double>(shape.elements() / out));
  const ops::ConvOptions conv = conv_options(options);
  Layer::Body body{
      .kind = "Conv2d", .extra = conv_text(in, out, options), .forward = [conv, in](const LayerCall& call, Value x) {
        check_channels_of(x, in);
        const Value y = ops::conv2d(channels_last(as_float(x)), call.parameter(0), conv);
        return channels_first(call.has_parameter(1) ? y + call.parameter(1) : y);
      }};
  body.parameters = {{"weight", uniform_weight(shape, limit), {2, 3, 1, 0}}};
  if (options.bias) body.parameters.push_back({"bias", uniform_weight({out}, limit)});
  return std::make_shared<const Layer::Body>(std::move(body));
}

std::string transpose_text(std::int64_t in, std::int64_t out, const ConvTranspose2dOptions& options) {
  std::string text =
      fmt::format("{}, {}, kernel_size={}, stride={}", in, out, to_text(options.kernel_size), to_text(options.stride));
  if (!is(options.padding, 0)) text += fmt::format(", padding={}", to_text(options.padding));
  if (!is(options.dilation, 1)) text += fmt::format(", dilation={}", to_text(options.dilation));
  if (!is(options.output_padding, 0)) text += fmt::format(", output_padding={}", to_text(options.output_padding));
  if (options.groups != 1) text += fmt::format(", groups={}", options.groups);
  if (!options.bias) text += ", bias=False";
  return text;
}

// An axis of the output: its size, the padding after it, and the zeros that follow.
struct TransposedAxis {
  std::int64_t size, behind, zeros;
};

TransposedAxis transposed_axis(std::int64_t in, std::int64_t stride, std::int64_t padding, std::int64_t dilation,
                               std::int64_t kernel, std::int64_t output_padding) {
  // Output padding beyond the rest of a stride first uncovers what the padding at the end cut off, and then adds zeros.
  const std::int64_t more = std::max<std::int64_t>(0, output_padding - (stride - 1)), shown = std::min(more, padding);
  const std::int64_t size = (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1;
  return {size - (more - shown), padding - shown, more - shown};
}

Value conv_transpose(const LayerCall& call, Value x, const ConvTranspose2dOptions& options) {
  const Size2 &stride = options.stride, &padding = options.padding, &dilation = options.dilation;
  const TransposedAxis rows = transposed_axis(x.shape()[2], stride.height, padding.height, dilation.height,
                                              options.kernel_size.height, options.output_padding.height);
  const TransposedAxis columns = transposed_axis(x.shape()[3], stride.width, padding.width, dilation.width,
                                                 options.kernel_size.width, options.output_padding.width);
  const ops::ConvOptions conv{.strides = {stride.height, stride.width},
                              .dilations = {dilation.height, dilation.width},
                              .padding = ops::Padding::explicit_sizes,
                              .padding_sizes = {padding.height, rows.behind, padding.width, columns.behind},
                              .groups = options.groups};
  Value y = ops::conv2d_transpose(channels_last(as_float(x)), call.parameter(0), conv, {rows.size, columns.size});
  if (rows.zeros > 0 || columns.zeros > 0) y = ops::pad(y, {0, 0, 0, 0}, {0, rows.zeros, columns.zeros, 0});
  return channels_first(call.has_parameter(1) ? y + call.parameter(1) : y);
}

std::shared_ptr<const Layer::Body> transpose_body(std::int64_t in, std::int64_t out,
                                                  const ConvTranspose2dOptions& options) {
  check_channels("ConvTranspose2d", in, out, options.groups, options.kernel_size);
  const Size2 &more = options.output_padding, &stride = options.stride, &dilation = options.dilation;
  if (more.height >= std::max(stride.height, dilation.height) || more.width >= std::max(stride.width, dilation.width))
    throw Error(
        fmt::format("ConvTranspose2d: output_padding is {} but must be smaller than the stride {} or the dilation {}",
                    to_text(more), to_text(stride), to_text(dilation)));
  const Shape shape = {in, out / options.groups, options.kernel_size.height, options.kernel_size.width};
  const double limit = 1.0 / std::sqrt(static_cast<double>(shape.elements() / in));
  Layer::Body body{.kind = "ConvTranspose2d",
                   .extra = transpose_text(in, out, options),
                   .forward = [options, in](const LayerCall& call, Value x) {
                     check_channels_of(x, in);
                     return conv_transpose(call, x, options);
                   }};
  body.parameters = {{"weight", uniform_weight(shape, limit), {2, 3, 1, 0}}};
  if (options.bias) body.parameters.push_back({"bias", uniform_weight({out}, limit)});
  return std::make_shared<const Layer::Body>(std::move(body));
}

std::shared_ptr<const Layer::Body> linear_body(std::int64_t in, std::int64_t out, bool bias) {
  check_positive("Linear", "in_features", in);
  check_positive("Linear", "out_features", out);
  const double limit = 1.0 / std::sqrt(static_cast<double>(in));
  Layer::Body body{.kind = "Linear",
                   .extra = fmt::format("in_features={}, out_features={}, bias={}", in, out, python_flag(bias)),
                   .forward = [in](const LayerCall& call, Value x) {
                     const int rank = x.shape().rank();
                     if (rank < 1 || x.shape()[rank - 1] != in)
                       throw Error(fmt::format("the last axis of the input must have size in_features = {}", in));
                     const Value y = ops::matmul(as_float(x), call.parameter(0));
                     return call.has_parameter(1) ? y + call.parameter(1) : y;
                   }};
  body.parameters = {{"weight", uniform_weight({out, in}, limit), {1, 0}}};
  if (bias) body.parameters.push_back({"bias", uniform_weight({out}, limit)});
  return std::make_shared<const Layer::Body>(std::move(body));
}

std::shared_ptr<const Layer::Body> embedding_body(std::int64_t count, std::int64_t size) {
  check_positive("Embedding", "num_embeddings", count);
  check_positive("Embedding", "embedding_dim", size);
  Layer::Body body{
      .kind = "Embedding", .extra = fmt::format("{}, {}", count, size), .forward = [](const LayerCall& call, Value x) {
        if (is_floating(x.dtype())) throw Error("the input must have integers: the rows to look up");
        return ops::gather(call.parameter(0), ops::cast(x, DType::int32));
      }};
  body.parameters = {{"weight", normal_weight({count, size})}};
  return std::make_shared<const Layer::Body>(std::move(body));
}

}  // namespace

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, const Conv2dOptions& options)
    : Layer(conv_body(in_channels, out_channels, options)) {}
ConvTranspose2d::ConvTranspose2d(std::int64_t in_channels, std::int64_t out_channels,
                                 const ConvTranspose2dOptions& options)
    : Layer(transpose_body(in_channels, out_channels, options)) {}
Linear::Linear(std::int64_t in_features, std::int64_t out_features, const LinearOptions& options)
    : Layer(linear_body(in_features, out_features, options.bias)) {}
Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim)
    : Layer(embedding_body(num_embeddings, embedding_dim)) {}

}  // namespace pando::torch::nn
