// SPDX-License-Identifier: Apache-2.0
// Keras, the starting point: a convolutional network that reads digits, on the host.
//
// keras_mnist_ipu, keras_mnist_replicated and keras_mnist_pipelined continue from here; docs/examples/keras.md walks
// through all four.
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
  std::cout << "Keras MNIST example, running on the host\n";
  const auto [train, test] = tutorial::load_images("mnist", arguments.samples);

  keras::Model model = make_model();
  model.compile({.optimizer = "sgd", .loss = "categorical_crossentropy", .metrics = {"accuracy"}});
  model.summary();

  std::cout << "\nTraining\n";
  model.fit(as_input(train.x), as_target(train.y), {.batch_size = batch_size, .epochs = arguments.epochs});

  std::cout << "\nTest\n";
  model.evaluate(as_input(test.x), as_target(test.y), {.batch_size = batch_size});
}

}  // namespace

int main(int count, char** words) {
  return tutorial::run(count, words, "Trains a convolutional network to read digits, on the host.", train);
}
