// SPDX-License-Identifier: Apache-2.0
// Keras on a virtual IPU: the network of keras_mnist, a whole epoch in each execution.
//
// New here: the configuration, the strategy's scope, and steps_per_execution. docs/examples/keras.md walks through it.
#include <iostream>

#include "tutorial.h"

using namespace pando;
namespace layers = pando::keras::layers;

namespace {

constexpr int classes = 10;
constexpr int batch_size = 64;

// Pixels become numbers from 0 to 1, in images of one channel; labels become one-hot rows.
Array as_input(const Array& images) { return expand_dims(images.astype(DType::float32) / 255.0, -1); }
Array as_target(const Array& labels) { return keras::utils::to_categorical(labels, classes); }

keras::Model make_model() {
  Tensor input = keras::Input({28, 28, 1});
  Tensor x = layers::Conv2D(32, {3, 3}, {.activation = "relu"})(input);
  x = layers::MaxPooling2D({2, 2})(x);
  x = layers::Conv2D(64, {3, 3}, {.activation = "relu"})(x);
  x = layers::MaxPooling2D({2, 2})(x);
  x = layers::Flatten()(x);
  x = layers::Dropout(0.5)(x);
  x = layers::Dense(classes, {.activation = "softmax"})(x);
  return keras::Model(input, x);
}

void train(const tutorial::Arguments& arguments) {
  std::cout << "Keras MNIST example, running on one IPU\n";
  const auto [train, test] = tutorial::load_images("mnist", arguments.samples);

  ipu::IPUConfig config;
  config.auto_select_ipus = 1;
  config.configure_ipu_system();
  ipu::IPUStrategy strategy;
  // Models made in the scope run on the device of the strategy.
  auto scope = strategy.scope();

  keras::Model model = make_model();
  // The device runs that many batches before the host takes over again. The last one may be smaller; nothing is lost.
  const std::int64_t steps_per_epoch = (train.x.shape()[0] + batch_size - 1) / batch_size;
  model.compile({.optimizer = "sgd",
                 .loss = "categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .steps_per_execution = steps_per_epoch});
  std::cout << "\n" << model.explain({.samples = train.x.shape()[0], .batch_size = batch_size});

  std::cout << "\nTraining\n";
  model.fit(as_input(train.x), as_target(train.y), {.batch_size = batch_size, .epochs = arguments.epochs});

  std::cout << "\nTest\n";
  model.evaluate(as_input(test.x), as_target(test.y), {.batch_size = batch_size});
}

}  // namespace

int main(int count, char** words) {
  return tutorial::run(count, words, "Trains a convolutional network to read digits, on a virtual IPU.", train);
}
