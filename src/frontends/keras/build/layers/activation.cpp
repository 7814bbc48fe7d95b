// SPDX-License-Identifier: Apache-2.0
// Layers that apply a function to every element or row.
#include <fmt/format.h>

#include "frontends/keras/build/layers/simple_body.h"

namespace pando::keras {

namespace {

struct DropoutConfig {
  double rate = 0;
  layers::NamedOptions options = {};
  void describe(ConfigFields& fields) {
    fields.required("rate", rate);
    fields.fixed("noise_shape", {});
    fields.ignored("seed");
  }
};

struct ActivationConfig {
  Activation activation = {};
  layers::NamedOptions options = {};
  void describe(ConfigFields& fields) { fields.required("activation", activation); }
};

struct ReLUConfig {
  layers::ReLUOptions options = {};
  void describe(ConfigFields& fields) {
    fields("max_value", options.max_value);
    fields("negative_slope", options.negative_slope);
    fields.fixed("threshold", 0.0);
  }
};

struct LeakyReLUConfig {
  layers::LeakyReLUOptions options = {};
  void describe(ConfigFields& fields) { fields("alpha", options.alpha); }
};

struct SoftmaxConfig {
  std::int64_t axis = -1;
  layers::NamedOptions options = {};
  void describe(ConfigFields& fields) { fields.axis("axis", axis); }
};

std::shared_ptr<LayerBody> softmax_body(const SoftmaxConfig& config) {
  return simple_body({.kind = "Softmax",
                      .describe = description_of(config),
                      .function = [axis = config.axis](LayerCall&, const std::vector<Value>& inputs) {
                        // Files may count it from the front.
                        if (axis != -1 && axis != inputs[0].shape().rank() - 1)
                          throw Error(fmt::format("axis is {} but must be the last: -1", axis));
                        return ops::softmax(inputs[0]);
                      }});
}

}  // namespace

namespace layers {

Dropout::Dropout(double rate, const NamedOptions& options)
    : Layer(simple_body({.kind = "Dropout",
                         .describe = description_of(DropoutConfig{rate}),
                         .function =
                             [rate](LayerCall& call, const std::vector<Value>& inputs) {
                               if (!call.training() || rate == 0) return inputs[0];
                               return ops::dropout(inputs[0], call.counter(), rate, call.random());
                             }}),
            options.name) {
  if (!(rate >= 0 && rate < 1)) throw Error(fmt::format("Dropout: the rate is {} but must be in [0, 1)", rate));
}

Activation::Activation(const keras::Activation& activation, const NamedOptions& options)
    : Layer(simple_body({.kind = "Activation",
                         .describe = description_of(ActivationConfig{activation}),
                         .function = [activation](LayerCall&,
                                                  const std::vector<Value>& inputs) { return activation(inputs[0]); }}),
            options.name) {}

ReLU::ReLU(const ReLUOptions& options)
    : Layer(simple_body({.kind = "ReLU",
                         .describe = description_of(ReLUConfig{options}),
                         .function =
                             [options](LayerCall&, const std::vector<Value>& inputs) {
                               const Value y = options.negative_slope == 0
                                                   ? ops::relu(inputs[0])
                                                   : ops::leaky_relu(inputs[0], options.negative_slope);
                               return options.max_value ? ops::minimum(y, ops::scalar(y, *options.max_value)) : y;
                             }}),
            options.name) {}

LeakyReLU::LeakyReLU(const LeakyReLUOptions& options)
    : Layer(simple_body({.kind = "LeakyReLU",
                         .describe = description_of(LeakyReLUConfig{options}),
                         .function =
                             [alpha = options.alpha](LayerCall&, const std::vector<Value>& inputs) {
                               return ops::leaky_relu(inputs[0], alpha);
                             }}),
            options.name) {}

Softmax::Softmax(const NamedOptions& options) : Layer(softmax_body({}), options.name) {}

}  // namespace layers

std::vector<LayerClass> activation_classes() {
  return {layer_class<DropoutConfig>("Dropout", [](const auto& c) { return layers::Dropout(c.rate, c.options); }),
          layer_class<ActivationConfig>("Activation",
                                        [](const auto& c) { return layers::Activation(c.activation, c.options); }),
          layer_class<ReLUConfig>("ReLU", [](const auto& c) { return layers::ReLU(c.options); }),
          layer_class<LeakyReLUConfig>("LeakyReLU", [](const auto& c) { return layers::LeakyReLU(c.options); }),
          layer_class<SoftmaxConfig>("Softmax", [](const auto& c) { return Layer(softmax_body(c), c.options.name); })};
}

}  // namespace pando::keras
