// SPDX-License-Identifier: Apache-2.0
// Layers that change shapes.
#include "frontends/keras/build/layers/simple_body.h"

namespace pando::keras {

namespace {

struct FlattenConfig {
  layers::ShapeLayerOptions options = {};
  void describe(ConfigFields& fields) { fields.fixed("data_format", "channels_last"); }
};

struct ReshapeConfig {
  Shape target_shape = {};
  layers::ShapeLayerOptions options = {};
  void describe(ConfigFields& fields) { fields.required("target_shape", target_shape); }
};

struct PermuteConfig {
  std::vector<std::int64_t> dims = {};
  layers::ShapeLayerOptions options = {};
  void describe(ConfigFields& fields) { fields.required("dims", dims); }
};

Value keep_batch(Value x, const Shape& sample) { return ops::reshape(x, joined({x.shape()[0]}, sample)); }

Integers permutation_with_batch(const std::vector<std::int64_t>& dims) {
  Integers permutation = {0};
  permutation.insert(permutation.end(), dims.begin(), dims.end());
  return permutation;
}

}  // namespace

namespace layers {

Flatten::Flatten(const ShapeLayerOptions& options)
    : Layer(with_input_shape(simple_body({.kind = "Flatten",
                                          .describe = description_of(FlattenConfig{options}),
                                          .keeps_dtype = true,
                                          .function =
                                              [](LayerCall&, const std::vector<Value>& inputs) {
                                                // This must not be -1, which is ambiguous for an empty batch.
                                                const Shape& shape = inputs[0].shape();
                                                return keep_batch(inputs[0], {shape.part(1, shape.rank()).elements()});
                                              }}),
                             options.input_shape),
            options.name) {}

Reshape::Reshape(const Shape& target_shape, const ShapeLayerOptions& options)
    : Layer(with_input_shape(simple_body({.kind = "Reshape",
                                          .describe = description_of(ReshapeConfig{target_shape, options}),
                                          .keeps_dtype = true,
                                          .function =
                                              [target_shape](LayerCall&, const std::vector<Value>& inputs) {
                                                return keep_batch(inputs[0], target_shape);
                                              }}),
                             options.input_shape),
            options.name) {}

Permute::Permute(const std::vector<std::int64_t>& dims, const ShapeLayerOptions& options)
    : Layer(with_input_shape(simple_body({.kind = "Permute",
                                          .describe = description_of(PermuteConfig{dims, options}),
                                          .keeps_dtype = true,
                                          .function =
                                              [dims](LayerCall&, const std::vector<Value>& inputs) {
                                                return ops::transpose(inputs[0], permutation_with_batch(dims));
                                              }}),
                             options.input_shape),
            options.name) {}

}  // namespace layers

std::vector<LayerClass> shape_classes() {
  return {
      layer_class<FlattenConfig>("Flatten", [](const auto& c) { return layers::Flatten(c.options); }),
      layer_class<ReshapeConfig>("Reshape", [](const auto& c) { return layers::Reshape(c.target_shape, c.options); }),
      layer_class<PermuteConfig>("Permute", [](const auto& c) { return layers::Permute(c.dims, c.options); })};
}

}  // namespace pando::keras
