// Batch and layer normalisation.
#include "frontends/keras/layers/simple_body.h"

#include <fmt/format.h>

namespace pando::keras {

namespace {

Array filled(const Shape& shape, float value) {
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

struct BatchNormalizationBody : LayerBody {
  explicit BatchNormalizationBody(const layers::BatchNormalizationOptions& options) : options_(options) {}
  std::string kind() const override { return "BatchNormalization"; }
  void build(LayerBuild& build, const std::vector<Shape>& inputs) override {
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
    // A frozen one keeps its statistics, as in Keras.
    if (!call.training() || !call.trainable())
      return {ops::batch_norm_inference(inputs[0], scale, offset, mean, variance, options_.epsilon)};
    const ops::BatchNorm norm = ops::batch_norm(inputs[0], scale, offset, options_.epsilon, call.trace().sample_mask());
    const Value mask = call.trace().sample_mask();
    const auto moved = [&](Value old, Value seen) {
      const Value average = old * options_.momentum + seen * (1 - options_.momentum);
      // A spare replica has a batch without samples, which says nothing.
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
  explicit LayerNormalizationBody(const layers::LayerNormalizationOptions& options) : options_(options) {}
  std::string kind() const override { return "LayerNormalization"; }
  void build(LayerBuild& build, const std::vector<Shape>& inputs) override {
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
    : Layer(std::make_shared<BatchNormalizationBody>(options), options.name) {}

LayerNormalization::LayerNormalization(const LayerNormalizationOptions& options)
    : Layer(std::make_shared<LayerNormalizationBody>(options), options.name) {}

}  // namespace layers
}  // namespace pando::keras
