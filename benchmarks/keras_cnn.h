// SPDX-License-Identifier: Apache-2.0
// The model and the data of the Keras tutorial, as a user's program has them.
#pragma once
#include <pando/pando.h>

namespace pando::limits {

struct Samples {
  Array x, y;
};

inline constexpr std::int64_t keras_cnn_batch = 64;

// Throws Error if MNIST is not available.
inline Samples keras_cnn_samples() {
  const keras::datasets::Split raw = keras::datasets::mnist::load_data().train;
  return {expand_dims(raw.x.astype(DType::float32) / 255.0, -1), keras::utils::to_categorical(raw.y, 10)};
}

inline keras::Model keras_cnn(std::int64_t steps_per_execution) {
  namespace layers = keras::layers;
  const Tensor input = keras::Input({28, 28, 1});
  Tensor x = layers::Conv2D(32, {3, 3}, {.activation = "relu"})(input);
  x = layers::MaxPooling2D({2, 2})(x);
  x = layers::Conv2D(64, {3, 3}, {.activation = "relu"})(x);
  x = layers::MaxPooling2D({2, 2})(x);
  x = layers::Dropout(0.5)(layers::Flatten()(x));
  keras::Model model(input, layers::Dense(10, {.activation = "softmax"})(x));
  model.compile({.optimizer = "sgd",
                 .loss = "categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .steps_per_execution = steps_per_execution});
  return model;
}

}  // namespace pando::limits
