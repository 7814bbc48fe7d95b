// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "frontends/torch/nn/weights.h"

namespace pando::torch::nn {

namespace {

template <class Options>
void check_windows(const char* who, const Options& options) {
  check_positive(who, "kernel_size", options.kernel_size);
  check_positive(who, "stride", options.stride.value_or(options.kernel_size));
}

// The padding at the end: with ceil_mode the last window may reach beyond it, but must begin within the input or its
// padding.
std::int64_t padding_behind(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                            bool ceil_mode) {
  if (!ceil_mode) return padding;
  const std::int64_t rest = size + 2 * padding - kernel;
  std::int64_t windows = (rest + stride - 1) / stride + 1;
  if ((windows - 1) * stride >= size + padding) --windows;
  return std::max(padding, (windows - 1) * stride + kernel - size - padding);
}

template <class Options>
ops::PoolOptions pool_options(const Options& options, const Shape& image) {
  const Size2 &kernel = options.kernel_size, stride = options.stride.value_or(kernel), &padding = options.padding;
  if (2 * padding.height > kernel.height || 2 * padding.width > kernel.width)
    throw Error(fmt::format("the padding {} is more than half of the kernel_size {}", to_text(padding, true),
                            to_text(kernel, true)));
  return {.window = {kernel.height, kernel.width},
          .strides = {stride.height, stride.width},
          .padding = ops::Padding::explicit_sizes,
          .padding_sizes = {
              padding.height, padding_behind(image[2], kernel.height, stride.height, padding.height, options.ceil_mode),
              padding.width, padding_behind(image[3], kernel.width, stride.width, padding.width, options.ceil_mode)}};
}

Value average_pool(Value x, const AvgPool2dOptions& options) {
  check_image(x);
  ops::PoolOptions pool = pool_options(options, x.shape());
  Value image = channels_last(as_float(x));
  if (options.count_include_pad) {
    // Padding counts, but not the part of the last window beyond it.
    const Size2& padding = options.padding;
    image = ops::pad(image, {0, padding.height, padding.width, 0}, {0, padding.height, padding.width, 0});
    pool.padding_sizes = {0, pool.padding_sizes[1] - padding.height, 0, pool.padding_sizes[3] - padding.width};
  }
  return channels_first(ops::average_pool(image, pool));
}

// [out, in]: row i has the mean of the places that output i covers.
Array averaging_matrix(std::int64_t in, std::int64_t out) {
  Array matrix(DType::float32, {out, in});
  for (std::int64_t i = 0; i < out; ++i) {
    const std::int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
    for (std::int64_t j = begin; j < end; ++j)
      matrix.mutable_data<float>()[i * in + j] = 1.0F / static_cast<float>(end - begin);
  }
  return matrix;
}

Value adaptive_pool(Value x, const Size2& size) {
  check_image(x);
  const Value image = as_float(x);
  const std::int64_t height = x.shape()[2], width = x.shape()[3];
  if (height % size.height == 0 && width % size.width == 0)
    return channels_first(
        ops::average_pool(channels_last(image), {.window = {height / size.height, width / size.width}}));
  const Value rows = ops::constant(x.graph(), averaging_matrix(height, size.height));
  const Value columns = ops::constant(x.graph(), averaging_matrix(width, size.width));
  return ops::matmul(ops::matmul(rows, image), columns, {.transpose_b = true});
}

}  // namespace

MaxPool2d::MaxPool2d(const MaxPool2dOptions& options)
    : Layer(std::make_shared<const Body>(
          Body{.kind = "MaxPool2d",
               .extra = fmt::format("kernel_size={}, stride={}, padding={}, dilation=1, ceil_mode={}",
                                    to_text(options.kernel_size, true),
                                    to_text(options.stride.value_or(options.kernel_size), true),
                                    to_text(options.padding, true), python_flag(options.ceil_mode)),
               .forward = [options](const LayerCall&, Value x) {
                 check_image(x);
                 return channels_first(ops::max_pool(channels_last(as_float(x)), pool_options(options, x.shape())));
               }})) {
  check_windows("MaxPool2d", options);
}

AvgPool2d::AvgPool2d(const AvgPool2dOptions& options)
    : Layer(std::make_shared<const Body>(Body{
          .kind = "AvgPool2d",
          .extra =
              fmt::format("kernel_size={}, stride={}, padding={}", to_text(options.kernel_size, true),
                          to_text(options.stride.value_or(options.kernel_size), true), to_text(options.padding, true)),
          .forward = [options](const LayerCall&, Value x) { return average_pool(x, options); }})) {
  check_windows("AvgPool2d", options);
}

AdaptiveAvgPool2d::AdaptiveAvgPool2d(const Size2& size)
    : Layer(std::make_shared<const Body>(
          Body{.kind = "AdaptiveAvgPool2d",
               .extra = fmt::format("output_size={}", to_text(size, true)),
               .forward = [size](const LayerCall&, Value x) { return adaptive_pool(x, size); }})) {
  check_positive("AdaptiveAvgPool2d", "output_size", size);
}

}  // namespace pando::torch::nn
