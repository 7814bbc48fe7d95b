// SPDX-License-Identifier: Apache-2.0
// Layers of several inputs.
#include <fmt/format.h>

#include "frontends/keras/build/layers/simple_body.h"

namespace pando::keras {

namespace {

struct MergeConfig {
  layers::NamedOptions options = {};
  void describe(ConfigFields&) {}
};

struct ConcatenateConfig {
  layers::ConcatenateOptions options = {};
  void describe(ConfigFields& fields) { fields("axis", options.axis); }
};

std::shared_ptr<LayerBody> merge_body(const std::string& kind, Value (*op)(Value, Value)) {
  return simple_body({.kind = kind,
                      .describe = description_of(MergeConfig()),
                      .function =
                          [op, kind](LayerCall&, const std::vector<Value>& inputs) {
                            if (inputs.size() < 2) throw Error(fmt::format("{} needs at least 2 inputs", kind));
                            Value y = inputs[0];
                            for (std::size_t i = 1; i < inputs.size(); ++i) y = op(y, inputs[i]);
                            return y;
                          },
                      .input_count = 0});
}

}  // namespace

namespace layers {

Add::Add(const NamedOptions& options) : Layer(merge_body("Add", ops::add), options.name) {}
Multiply::Multiply(const NamedOptions& options) : Layer(merge_body("Multiply", ops::multiply), options.name) {}

Concatenate::Concatenate(const ConcatenateOptions& options)
    : Layer(simple_body({.kind = "Concatenate",
                         .describe = description_of(ConcatenateConfig{options}),
                         .keeps_dtype = true,
                         .function =
                             [axis = options.axis](LayerCall&, const std::vector<Value>& inputs) {
                               if (axis == 0) throw Error("axis is 0, the batch; samples cannot be joined");
                               return ops::concat(inputs, axis);
                             },
                         .input_count = 0}),
            options.name) {}

}  // namespace layers

std::vector<LayerClass> merge_classes() {
  return {layer_class<MergeConfig>("Add", [](const auto& c) { return layers::Add(c.options); }),
          layer_class<MergeConfig>("Multiply", [](const auto& c) { return layers::Multiply(c.options); }),
          layer_class<ConcatenateConfig>("Concatenate", [](const auto& c) { return layers::Concatenate(c.options); })};
}

}  // namespace pando::keras
