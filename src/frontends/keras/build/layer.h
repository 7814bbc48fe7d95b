// SPDX-License-Identifier: Apache-2.0
// The internals of a layer, for front-end code that is not in the public headers.
#pragma once
#include <pando/frontends/keras/layer.h>

#include "model/tensor.h"

namespace pando::keras {

struct LayerWeight {
  Parameter parameter;
  Regularizer regularizer;
};

struct Layer::State {
  std::shared_ptr<LayerBody> body;
  std::string name;
  // Everything random in the layer is drawn from this seed, so the time of building does not matter.
  std::uint64_t key;
  std::vector<LayerWeight> weights = {};
  bool built = false;
  // The sizes that the weights were made for.
  std::vector<Shape> input_shapes = {};
  bool trainable = true;
  int calls = 0;
  // Not owned: a recorded call owns its layer.
  std::weak_ptr<const Recording> first_call = {};
};

class LayerAccess {
 public:
  static const std::vector<LayerWeight>& own_weights(const Layer& layer) { return layer.state_->weights; }
  static std::uint64_t& key(const Layer& layer) { return layer.state_->key; }
  static std::shared_ptr<void> identity(const Layer& layer) { return layer.state_; }
  static Layer layer_of(const std::shared_ptr<void>& identity) {
    return Layer(std::static_pointer_cast<Layer::State>(identity));
  }
};

// The layer and all inside it.
void for_each_layer(const Layer& layer, const Function<void(const Layer&)>& visit);

// "(None, 28, 28, 1)".
std::string keras_shape(const Shape& shape);

}  // namespace pando::keras
