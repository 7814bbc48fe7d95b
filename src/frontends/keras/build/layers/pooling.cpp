// SPDX-License-Identifier: Apache-2.0
// Pooling.
#include <fmt/format.h>

#include "frontends/keras/build/layers/simple_body.h"
#include "frontends/keras/build/names.h"

namespace pando::keras {

namespace {

using PoolOp = Value (*)(Value, const ops::PoolOptions&);

struct PoolingConfig {
  Pair pool_size = 2;
  layers::Pooling2DOptions options = {};
  void describe(ConfigFields& fields) {
    fields("pool_size", pool_size);
    fields("strides", options.strides);
    fields("padding", options.padding);
    fields.fixed("data_format", "channels_last");
  }
};

struct GlobalPoolingConfig {
  layers::GlobalPooling2DOptions options = {};
  void describe(ConfigFields& fields) {
    fields("keepdims", options.keepdims);
    fields.fixed("data_format", "channels_last");
  }
};

std::shared_ptr<LayerBody> pooling_body(const std::string& kind, PoolOp op, Pair window,
                                        layers::Pooling2DOptions options) {
  check_choice(kind, "padding", options.padding, {"valid", "same"});
  if (!options.strides) options.strides = window;
  const Pair strides = *options.strides;
  if (window.height < 1 || window.width < 1 || strides.height < 1 || strides.width < 1)
    throw Error(fmt::format("{}: pool_size is ({}, {}) and strides is ({}, {}) but all must be at least 1", kind,
                            window.height, window.width, strides.height, strides.width));
  const ops::PoolOptions pool{.window = {window.height, window.width},
                              .strides = {strides.height, strides.width},
                              .padding = options.padding == "same" ? ops::Padding::same : ops::Padding::valid};
  return simple_body(
      {.kind = kind,
       .describe = description_of(PoolingConfig{window, options}),
       .function = [op, pool](LayerCall&, const std::vector<Value>& inputs) { return op(inputs[0], pool); },
       .input_rank = 4});
}

std::shared_ptr<LayerBody> global_pooling_body(const std::string& kind, Value (*op)(Value),
                                               const layers::GlobalPooling2DOptions& options) {
  return simple_body(
      {.kind = kind,
       .describe = description_of(GlobalPoolingConfig{options}),
       .function =
           [op, keep_dimensions = options.keepdims](LayerCall&, const std::vector<Value>& inputs) {
             const Value y = op(inputs[0]);
             const Shape& x = inputs[0].shape();
             return keep_dimensions ? ops::reshape(y, {x[0], 1, 1, x[3]}) : ops::reshape(y, {x[0], x[3]});
           },
       .input_rank = 4});
}

}  // namespace

namespace layers {

MaxPooling2D::MaxPooling2D(Pair pool_size, const Pooling2DOptions& options)
    : Layer(pooling_body("MaxPooling2D", ops::max_pool, pool_size, options), options.name) {}

AveragePooling2D::AveragePooling2D(Pair pool_size, const Pooling2DOptions& options)
    : Layer(pooling_body("AveragePooling2D", ops::average_pool, pool_size, options), options.name) {}

GlobalAveragePooling2D::GlobalAveragePooling2D(const GlobalPooling2DOptions& options)
    : Layer(global_pooling_body("GlobalAveragePooling2D", ops::global_average_pool, options), options.name) {}

GlobalMaxPooling2D::GlobalMaxPooling2D(const GlobalPooling2DOptions& options)
    : Layer(global_pooling_body("GlobalMaxPooling2D", ops::global_max_pool, options), options.name) {}

}  // namespace layers

std::vector<LayerClass> pooling_classes() {
  return {layer_class<PoolingConfig>("MaxPooling2D",
                                     [](const auto& c) { return layers::MaxPooling2D(c.pool_size, c.options); }),
          layer_class<PoolingConfig>("AveragePooling2D",
                                     [](const auto& c) { return layers::AveragePooling2D(c.pool_size, c.options); }),
          layer_class<GlobalPoolingConfig>("GlobalAveragePooling2D",
                                           [](const auto& c) { return layers::GlobalAveragePooling2D(c.options); }),
          layer_class<GlobalPoolingConfig>("GlobalMaxPooling2D",
                                           [](const auto& c) { return layers::GlobalMaxPooling2D(c.options); })};
}

}  // namespace pando::keras
