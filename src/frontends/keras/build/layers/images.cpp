// SPDX-License-Identifier: Apache-2.0
// Layers that change images without weights: padding, scaling, rescaling.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontends/keras/build/layers/simple_body.h"
#include "frontends/keras/files/memory_limit.h"
#include "frontends/keras/build/names.h"

namespace pando::keras {

namespace {

Value repeat_pixels(Value x, Pair size) {
  const Shape& s = x.shape();
  const Value apart = ops::reshape(x, {s[0], s[1], 1, s[2], 1, s[3]});
  return ops::reshape(ops::broadcast(apart, {s[0], s[1], size.height, s[2], size.width, s[3]}),
                      {s[0], s[1] * size.height, s[2] * size.width, s[3]});
}

// Row i holds the weights with which the inputs make output i; pixels have their centres at halves.
Array interpolation_matrix(std::int64_t inputs, std::int64_t times) {
  const Shape shape = {inputs * times, inputs};
  charge_memory(shape);
  Array matrix(DType::float32, shape);
  float* weights = matrix.mutable_data<float>();
  for (std::int64_t i = 0; i < inputs * times; ++i) {
    const double place = std::max(0.0, (static_cast<double>(i) + 0.5) / static_cast<double>(times) - 0.5);
    const auto below = std::min(static_cast<std::int64_t>(place), inputs - 1);
    const auto above = std::min(below + 1, inputs - 1);
    const double part = place - static_cast<double>(below);
    weights[i * inputs + below] += static_cast<float>(1 - part);
    weights[i * inputs + above] += static_cast<float>(part);
  }
  return matrix;
}

// Rows first, then columns: each is a product with the matrix of its axis.
Value interpolate_pixels(Value x, Pair size) {
  const Shape s = x.shape();
  const std::int64_t height = s[1] * size.height, width = s[2] * size.width;
  Graph& graph = x.graph();
  Value y = ops::matmul(ops::constant(graph, interpolation_matrix(s[1], size.height)),
                        ops::reshape(x, {s[0], s[1], s[2] * s[3]}));
  y = ops::matmul(ops::constant(graph, interpolation_matrix(s[2], size.width)),
                  ops::reshape(y, {s[0] * height, s[2], s[3]}));
  return ops::reshape(y, {s[0], height, width, s[3]});
}

struct ZeroPaddingConfig {
  layers::Padding2D padding = 1;
  layers::NamedOptions options = {};
  void describe(ConfigFields& fields) {
    fields("padding", padding);
    fields.fixed("data_format", "channels_last");
  }
};

struct UpSamplingConfig {
  Pair size = 2;
  layers::UpSampling2DOptions options = {};
  void describe(ConfigFields& fields) {
    fields("size", size);
    fields("interpolation", options.interpolation);
    fields.fixed("data_format", "channels_last");
  }
};

struct RescalingConfig {
  double scale = 1.0;
  layers::RescalingOptions options = {};
  void describe(ConfigFields& fields) {
    fields.required("scale", scale);
    fields("offset", options.offset);
  }
};

}  // namespace

namespace layers {

ZeroPadding2D::ZeroPadding2D(Padding2D padding, const NamedOptions& options)
    : Layer(simple_body({.kind = "ZeroPadding2D",
                         .describe = description_of(ZeroPaddingConfig{padding}),
                         .function =
                             [padding](LayerCall&, const std::vector<Value>& inputs) {
                               return ops::pad(inputs[0], {0, padding.top, padding.left, 0},
                                               {0, padding.bottom, padding.right, 0});
                             },
                         .input_rank = 4}),
            options.name) {}

UpSampling2D::UpSampling2D(Pair size, const UpSampling2DOptions& options)
    : Layer(simple_body({.kind = "UpSampling2D",
                         .describe = description_of(UpSamplingConfig{size, options}),
                         .function =
                             [size, bilinear = options.interpolation == "bilinear"](LayerCall&,
                                                                                    const std::vector<Value>& inputs) {
                               return bilinear ? interpolate_pixels(inputs[0], size) : repeat_pixels(inputs[0], size);
                             },
                         .input_rank = 4}),
            options.name) {
  check_choice("UpSampling2D", "interpolation", options.interpolation, {"nearest", "bilinear"});
  if (size.height < 1 || size.width < 1)
    throw Error(fmt::format("UpSampling2D: size is ({}, {}) but both must be at least 1", size.height, size.width));
}

Rescaling::Rescaling(double scale, const RescalingOptions& options)
    : Layer(with_input_shape(
                simple_body({.kind = "Rescaling",
                             .describe = description_of(RescalingConfig{scale, options}),
                             .function = [scale, offset = options.offset](
                                             LayerCall&,
                                             const std::vector<Value>& inputs) { return inputs[0] * scale + offset; }}),
                options.input_shape),
            options.name) {}

}  // namespace layers

std::vector<LayerClass> image_classes() {
  return {
      layer_class<ZeroPaddingConfig>("ZeroPadding2D",
                                     [](const auto& c) { return layers::ZeroPadding2D(c.padding, c.options); }),
      layer_class<UpSamplingConfig>("UpSampling2D",
                                    [](const auto& c) { return layers::UpSampling2D(c.size, c.options); }),
      layer_class<RescalingConfig>("Rescaling", [](const auto& c) { return layers::Rescaling(c.scale, c.options); })};
}

}  // namespace pando::keras
