// SPDX-License-Identifier: Apache-2.0
// Convolutions.
#include <fmt/format.h>

#include <algorithm>

#include "frontends/keras/build/layers/simple_body.h"
#include "frontends/keras/build/names.h"

namespace pando::keras {

namespace {

std::array<std::int64_t, 2> sizes(const Pair& pair) { return {pair.height, pair.width}; }

ops::Padding padding_of(const std::string& text) { return text == "same" ? ops::Padding::same : ops::Padding::valid; }

void check_pair(const std::string& who, const std::string& option, const Pair& pair) {
  if (pair.height < 1 || pair.width < 1)
    throw Error(fmt::format("{}: {} is ({}, {}) but both must be at least 1", who, option, pair.height, pair.width));
}

template <class Options>
void check_options(const std::string& who, const Pair& kernel, const Options& options) {
  check_pair(who, "kernel_size", kernel);
  check_pair(who, "strides", options.strides);
  check_pair(who, "dilation_rate", options.dilation_rate);
  check_choice(who, "padding", options.padding, {"valid", "same"});
}

void check_filters(const std::string& who, std::int64_t filters) {
  if (filters < 1) throw Error(fmt::format("{}: filters is {} but must be at least 1", who, filters));
}

template <class Options>
ops::ConvOptions conv_options(const Options& options) {
  return {.strides = sizes(options.strides),
          .dilations = sizes(options.dilation_rate),
          .padding = padding_of(options.padding)};
}

// If the stride is wider than the kernel, Keras keeps the empty places after the last row and column.
Value with_gaps(Value y, const Pair& kernel, const layers::Conv2DOptions& options) {
  const auto gap = [](std::int64_t stride, std::int64_t size, std::int64_t dilation) {
    return std::max<std::int64_t>(stride - (size - 1) * dilation - 1, 0);
  };
  const std::int64_t below = gap(options.strides.height, kernel.height, options.dilation_rate.height);
  const std::int64_t right = gap(options.strides.width, kernel.width, options.dilation_rate.width);
  const bool none = options.padding == "same" || (below == 0 && right == 0);
  return none ? y : ops::pad(y, {0, 0, 0, 0}, {0, below, right, 0});
}

struct ConvolutionConfig {
  std::int64_t filters = 1;
  Pair kernel_size = 1;
  layers::Conv2DOptions options = {};
  void describe(ConfigFields& fields) {
    fields.required("filters", filters);
    fields.required("kernel_size", kernel_size);
    fields("strides", options.strides);
    fields("padding", options.padding);
    fields.fixed("data_format", "channels_last");
    fields("dilation_rate", options.dilation_rate);
    fields("groups", options.groups);
    fields("activation", options.activation);
    fields("use_bias", options.use_bias);
    fields("kernel_initializer", options.kernel_initializer);
    fields("bias_initializer", options.bias_initializer);
    fields("kernel_regularizer", options.kernel_regularizer);
    fields("bias_regularizer", options.bias_regularizer);
    fields.fixed("activity_regularizer", {});
    fields.fixed("kernel_constraint", {});
    fields.fixed("bias_constraint", {});
  }
};

struct TransposedConfig : ConvolutionConfig {
  void describe(ConfigFields& fields) {
    ConvolutionConfig::describe(fields);
    fields.fixed("output_padding", {});
  }
};

struct DepthwiseConfig {
  Pair kernel_size = 1;
  layers::DepthwiseConv2DOptions options = {};
  void describe(ConfigFields& fields) {
    fields.required("kernel_size", kernel_size);
    fields("strides", options.strides);
    fields("padding", options.padding);
    fields.fixed("data_format", "channels_last");
    fields("dilation_rate", options.dilation_rate);
    fields.fixed("groups", 1);
    fields("activation", options.activation);
    fields("use_bias", options.use_bias);
    fields("depth_multiplier", options.depth_multiplier);
    fields("depthwise_initializer", options.depthwise_initializer);
    fields("bias_initializer", options.bias_initializer);
    fields("depthwise_regularizer", options.depthwise_regularizer);
    fields("bias_regularizer", options.bias_regularizer);
    fields.fixed("activity_regularizer", {});
    fields.fixed("depthwise_constraint", {});
    fields.fixed("bias_constraint", {});
    // Keras also writes the settings of its base class.
    fields.ignored("kernel_initializer");
    fields.ignored("kernel_regularizer");
    fields.ignored("kernel_constraint");
  }
};

struct SeparableConfig : DepthwiseConfig {
  std::int64_t filters = 1;
  void describe(ConfigFields& fields) {
    fields.required("filters", filters);
    DepthwiseConfig::describe(fields);
    fields("pointwise_initializer", options.pointwise_initializer);
    fields("pointwise_regularizer", options.pointwise_regularizer);
    fields.fixed("pointwise_constraint", {});
  }
};

struct ConvolutionBody : LayerBody {
  ConvolutionBody(std::int64_t filters, Pair kernel, const layers::Conv2DOptions& options, bool transposed)
      : filters_(filters), kernel_(kernel), options_(options), transposed_(transposed) {
    check_filters(kind(), filters);
    check_options(kind(), kernel, options);
    if (options.groups < 1 || filters % options.groups != 0)
      throw Error(fmt::format("{}: groups is {} but must divide the {} filters", kind(), options.groups, filters));
    if (transposed && options.groups != 1) throw Error("Conv2DTranspose: groups must be 1");
    input_shape = options.input_shape;
  }
  std::string kind() const override { return transposed_ ? "Conv2DTranspose" : "Conv2D"; }
  void describe(ConfigFields& fields) const override {
    if (transposed_) TransposedConfig{{filters_, kernel_, options_}}.describe(fields);
    else ConvolutionConfig{filters_, kernel_, options_}.describe(fields);
  }
  int input_rank() const override { return 4; }
  void build(LayerBuild& build, const std::vector<Shape>& inputs) override {
    const std::int64_t channels = inputs[0][3];
    if (channels % options_.groups != 0)
      throw Error(fmt::format("groups is {} but must divide the {} channels of the input", options_.groups, channels));
    const Shape kernel = transposed_ ? Shape{kernel_.height, kernel_.width, filters_, channels}
                                     : Shape{kernel_.height, kernel_.width, channels / options_.groups, filters_};
    build.add_weight("kernel", kernel,
                     {.initializer = options_.kernel_initializer, .regularizer = options_.kernel_regularizer});
    if (options_.use_bias)
      build.add_weight("bias", {filters_},
                       {.initializer = options_.bias_initializer, .regularizer = options_.bias_regularizer});
  }
  std::vector<Value> call(LayerCall& call, const std::vector<Value>& inputs) const override {
    ops::ConvOptions options = conv_options(options_);
    options.groups = options_.groups;
    Value y = transposed_ ? with_gaps(ops::conv2d_transpose(inputs[0], call.weight(0), options), kernel_, options_)
                          : ops::conv2d(inputs[0], call.weight(0), options);
    if (options_.use_bias) y = y + call.weight(1);
    return {options_.activation(y)};
  }

 private:
  std::int64_t filters_;
  Pair kernel_;
  layers::Conv2DOptions options_;
  bool transposed_;
};

// A depthwise convolution. With filters, a pointwise convolution follows: a separable convolution.
struct DepthwiseBody : LayerBody {
  DepthwiseBody(std::int64_t filters, Pair kernel, const layers::DepthwiseConv2DOptions& options)
      : filters_(filters), kernel_(kernel), options_(options) {
    check_options(kind(), kernel, options);
    if (options.depth_multiplier < 1)
      throw Error(fmt::format("{}: depth_multiplier is {} but must be at least 1", kind(), options.depth_multiplier));
    input_shape = options.input_shape;
  }
  std::string kind() const override { return filters_ > 0 ? "SeparableConv2D" : "DepthwiseConv2D"; }
  void describe(ConfigFields& fields) const override {
    if (filters_ > 0) SeparableConfig{{kernel_, options_}, filters_}.describe(fields);
    else DepthwiseConfig{kernel_, options_}.describe(fields);
  }
  int input_rank() const override { return 4; }
  void build(LayerBuild& build, const std::vector<Shape>& inputs) override {
    const std::int64_t channels = inputs[0][3], multiplied = channels * options_.depth_multiplier;
    build.add_weight("depthwise_kernel", {kernel_.height, kernel_.width, channels, options_.depth_multiplier},
                     {.initializer = options_.depthwise_initializer, .regularizer = options_.depthwise_regularizer});
    if (filters_ > 0)
      build.add_weight("pointwise_kernel", {1, 1, multiplied, filters_},
                       {.initializer = options_.pointwise_initializer, .regularizer = options_.pointwise_regularizer});
    if (options_.use_bias)
      build.add_weight("bias", {filters_ > 0 ? filters_ : multiplied},
                       {.initializer = options_.bias_initializer, .regularizer = options_.bias_regularizer});
  }
  std::vector<Value> call(LayerCall& call, const std::vector<Value>& inputs) const override {
    std::size_t weight = 0;
    Value y = ops::depthwise_conv2d(inputs[0], call.weight(weight++), conv_options(options_));
    if (filters_ > 0) y = ops::conv2d(y, call.weight(weight++));
    if (options_.use_bias) y = y + call.weight(weight);
    return {options_.activation(y)};
  }

 private:
  std::int64_t filters_;
  Pair kernel_;
  layers::DepthwiseConv2DOptions options_;
};

std::int64_t checked_filters(std::int64_t filters) {
  check_filters("SeparableConv2D", filters);
  return filters;
}

}  // namespace

namespace layers {

Conv2D::Conv2D(std::int64_t filters, Pair kernel_size, const Conv2DOptions& options)
    : Layer(std::make_shared<ConvolutionBody>(filters, kernel_size, options, false), options.name) {}

Conv2DTranspose::Conv2DTranspose(std::int64_t filters, Pair kernel_size, const Conv2DOptions& options)
    : Layer(std::make_shared<ConvolutionBody>(filters, kernel_size, options, true), options.name) {}

DepthwiseConv2D::DepthwiseConv2D(Pair kernel_size, const DepthwiseConv2DOptions& options)
    : Layer(std::make_shared<DepthwiseBody>(0, kernel_size, options), options.name) {}

SeparableConv2D::SeparableConv2D(std::int64_t filters, Pair kernel_size, const DepthwiseConv2DOptions& options)
    : Layer(std::make_shared<DepthwiseBody>(checked_filters(filters), kernel_size, options), options.name) {}

}  // namespace layers

std::vector<LayerClass> convolution_classes() {
  return {layer_class<ConvolutionConfig>(
              "Conv2D", [](const auto& c) { return layers::Conv2D(c.filters, c.kernel_size, c.options); }),
          layer_class<TransposedConfig>(
              "Conv2DTranspose",
              [](const auto& c) { return layers::Conv2DTranspose(c.filters, c.kernel_size, c.options); }),
          layer_class<DepthwiseConfig>("DepthwiseConv2D",
                                       [](const auto& c) { return layers::DepthwiseConv2D(c.kernel_size, c.options); }),
          layer_class<SeparableConfig>("SeparableConv2D", [](const auto& c) {
            return layers::SeparableConv2D(c.filters, c.kernel_size, c.options);
          })};
}

}  // namespace pando::keras
