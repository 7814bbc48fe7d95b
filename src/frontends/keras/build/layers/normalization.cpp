// SPDX-License-Identifier: Apache-2.0
// Batch and layer normalisation.
#include "frontends/keras/build/layers/simple_body.h"

#include <fmt/format.h>

#include "frontends/keras/files/memory_limit.h"

namespace pando::keras {

namespace {

Array filled(const Shape& shape, float value) {
  charge_memory(shape);
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i) array.mutable_data<float>()[i] = value;
  return array;
}

std::int64_t channels_of(const Shape& shape) {
  if (shape.rank() < 2)
    throw Error(
        fmt::format("the input has {} axes but must have at least 2: the batch and the channels", shape.rank()));
  return shape[shape.rank() - 1];
}

// Scale and offset are weights, or 1 and 0.
struct ScaleOffset {
  Value scale, offset;
};
ScaleOffset scale_offset(LayerCall& call, std::int64_t channels, bool scale, bool center) {
  return {scale ? call.weight(0) : ops::constant(call.graph(), filled({channels}, 1)),
          center ? call.weight(scale ? 1 : 0) : ops::constant(call.graph(), filled({channels}, 0))};
}

// Files name the axis of the channels: -1, or as a number from the front.
void check_axis(std::int64_t axis, const Shape& input) {
  if (axis != -1 && axis != input.rank() - 1)
    throw Error(fmt::format("axis is {} but the channels must be last: -1", axis));
}

struct BatchNormalizationConfig {
  layers::BatchNormalizationOptions options = {};
  void describe(ConfigFields& fields) {
    fields.axis("axis", options.axis);
    fields("momentum", options.momentum);
    fields("epsilon", options.epsilon);
    fields("center", options.center);
    fields("scale", options.scale);
    fields("beta_initializer", options.beta_initializer);
    fields("gamma_initializer", options.gamma_initializer);
    fields("moving_mean_initializer", options.moving_mean_initializer);
    fields("moving_variance_initializer", options.moving_variance_initializer);
    fields("beta_regularizer", options.beta_regularizer);
    fields("gamma_regularizer", options.gamma_regularizer);
    fields.fixed("beta_constraint", {});
    fields.fixed("gamma_constraint", {});
  }
};

struct LayerNormalizationConfig {
  layers::LayerNormalizationOptions options = {};
  void describe(ConfigFields& fields) {
    fields.axis("axis", options.axis);
    fields("epsilon", options.epsilon);
    fields("center", options.center);
    fields("scale", options.scale);
    fields("beta_initializer", options.beta_initializer);
    fields("gamma_initializer", options.gamma_initializer);
    fields.fixed("beta_regularizer", {});
    fields.fixed("gamma_regularizer", {});
    fields.fixed("beta_constraint", {});
    fields.fixed("gamma_constraint", {});
  }
};

struct BatchNormalizationBody : LayerBody {
  explicit BatchNormalizationBody(const BatchNormalizationConfig& config) : options_(config.options) {}
  std::string kind() const override { return "BatchNormalization"; }
  void describe(ConfigFields& fields) const override { BatchNormalizationConfig{options_}.describe(fields); }
  void build(LayerBuild& build, const std::vector<Shape>& inputs) override {
    check_axis(options_.axis, inputs[0]);
    const Shape shape = {channels_of(inputs[0])};
    if (options_.scale)
      build.add_weight("gamma", shape,
                       {.initializer = options_.gamma_initializer, .regularizer = options_.gamma_regularizer});
    if (options_.center)
      build.add_weight("beta", shape,
                       {.initializer = options_.beta_initializer, .regularizer = options_.beta_regularizer});
    build.add_weight("moving_mean", shape, {.initializer = options_.moving_mean_initializer, .trainable = false});
    build.add_weight("moving_variance", shape,
                     {.initializer = options_.moving_variance_initializer, .trainable = false});
  }
  std::vector<Value> call(LayerCall& call, const std::vector<Value>& inputs) const override {
    const std::size_t mean_index = static_cast<std::size_t>(options_.scale) + static_cast<std::size_t>(options_.center);
    const Value mean = call.weight(mean_index), variance = call.weight(mean_index + 1);
    const Shape& shape = inputs[0].shape();
    const auto [scale, offset] = scale_offset(call, shape[shape.rank() - 1], options_.scale, options_.center);
    // A frozen layer keeps its statistics, as in Keras.
    if (!call.training() || !call.trainable())
      return {ops::batch_norm_inference(inputs[0], scale, offset, mean, variance, options_.epsilon)};
    const ops::BatchNorm norm = ops::batch_norm(inputs[0], scale, offset, options_.epsilon, call.trace().sample_mask());
    const Value mask = call.trace().sample_mask();
    const auto moved = [&](Value old, Value seen) {
      const Value average = old * options_.momentum + seen * (1 - options_.momentum);
      // A spare replica has a batch without samples, whose statistics mean nothing.
      if (!mask) return average;
      const Value count = ops::reduce_sum(mask);
      return ops::select(ops::greater(count, ops::scalar(count, 0.0)), average, old);
    };
    call.assign(mean_index, moved(mean, norm.mean));
    call.assign(mean_index + 1, moved(variance, norm.variance));
    return {norm.y};
  }

 private:
  layers::BatchNormalizationOptions options_;
};

struct LayerNormalizationBody : LayerBody {
  explicit LayerNormalizationBody(const LayerNormalizationConfig& config) : options_(config.options) {}
  std::string kind() const override { return "LayerNormalization"; }
  void describe(ConfigFields& fields) const override { LayerNormalizationConfig{options_}.describe(fields); }
  void build(LayerBuild& build, const std::vector<Shape>& inputs) override {
    check_axis(options_.axis, inputs[0]);
    const Shape shape = {channels_of(inputs[0])};
    if (options_.scale) build.add_weight("gamma", shape, {.initializer = options_.gamma_initializer});
    if (options_.center) build.add_weight("beta", shape, {.initializer = options_.beta_initializer});
  }
  std::vector<Value> call(LayerCall& call, const std::vector<Value>& inputs) const override {
    const Shape& shape = inputs[0].shape();
    const auto [scale, offset] = scale_offset(call, shape[shape.rank() - 1], options_.scale, options_.center);
    return {ops::layer_norm(inputs[0], scale, offset, options_.epsilon)};
  }

 private:
  layers::LayerNormalizationOptions options_;
};

}  // namespace

namespace layers {

BatchNormalization::BatchNormalization(const BatchNormalizationOptions& options)
    : Layer(std::make_shared<BatchNormalizationBody>(BatchNormalizationConfig{.options = options}), options.name) {}

LayerNormalization::LayerNormalization(const LayerNormalizationOptions& options)
    : Layer(std::make_shared<LayerNormalizationBody>(LayerNormalizationConfig{.options = options}), options.name) {}

}  // namespace layers

std::vector<LayerClass> normalization_classes() {
  return {layer_class<BatchNormalizationConfig>(
              "BatchNormalization",
              [](const auto& c) { return Layer(std::make_shared<BatchNormalizationBody>(c), c.options.name); }),
          layer_class<LayerNormalizationConfig>("LayerNormalization", [](const auto& c) {
            return Layer(std::make_shared<LayerNormalizationBody>(c), c.options.name);
          })};
}

}  // namespace pando::keras
