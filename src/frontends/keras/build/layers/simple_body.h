// SPDX-License-Identifier: Apache-2.0
// SimpleBody: a layer without weights, described by a function.
#pragma once
#include <utility>

#include "frontends/keras/build/layers/layer_class.h"

namespace pando::keras {

struct SimpleBody : LayerBody {
  using Apply = Function<Value(LayerCall&, const std::vector<Value>&)>;
  struct Description {
    std::string kind;
    // Describes the layer's settings: description_of(config).
    Function<void(ConfigFields&)> describe;
    // Integers stay integers.
    bool keeps_dtype = false;
    Apply function;
    int input_rank = 0;
    int input_count = 1;
  };

  explicit SimpleBody(Description description) : description_(std::move(description)) {}
  std::string kind() const override { return description_.kind; }
  std::vector<Value> call(LayerCall& call, const std::vector<Value>& inputs) const override {
    return {description_.function(call, inputs)};
  }
  std::optional<DType> input_dtype() const override {
    return description_.keeps_dtype ? std::nullopt : LayerBody::input_dtype();
  }
  int input_rank() const override { return description_.input_rank; }
  int input_count() const override { return description_.input_count; }
  void describe(ConfigFields& fields) const override { description_.describe(fields); }

 private:
  Description description_;
};

inline std::shared_ptr<LayerBody> simple_body(SimpleBody::Description description) {
  return std::make_shared<SimpleBody>(std::move(description));
}

inline std::shared_ptr<LayerBody> with_input_shape(std::shared_ptr<LayerBody> body, const layers::InputShape& shape) {
  body->input_shape = shape;
  return body;
}

}  // namespace pando::keras
