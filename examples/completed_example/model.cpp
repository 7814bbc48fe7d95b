// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <optional>

using namespace pando;
namespace layers = pando::keras::layers;

keras::Model make_model(bool pipelining) {
  std::optional<ipu::keras::PipelineStage> stage;
  Tensor input = keras::Input({28, 28, 1});
  if (pipelining) stage.emplace(0);
  Tensor x = layers::Conv2D(32, {3, 3}, {.activation = "relu"})(input);
  x = layers::MaxPooling2D({2, 2})(x);
  // One scope ends before the next begins.
  stage.reset();
  if (pipelining) stage.emplace(1);
  x = layers::Conv2D(64, {3, 3}, {.activation = "relu"})(x);
  x = layers::MaxPooling2D({2, 2})(x);
  x = layers::Flatten()(x);
  x = layers::Dropout(0.5)(x);
  x = layers::Dense(10, {.activation = "softmax"})(x);
  return keras::Model(input, x);
}
