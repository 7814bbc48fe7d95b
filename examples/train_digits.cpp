// SPDX-License-Identifier: Apache-2.0
// Trains a small convolutional network to read digits on virtual IPUs, and tests it.
//
// The model is written as in Keras; fit() compiles the whole training step, with its gradients and its weight update,
// and runs many steps of it in each execution while a host thread gathers the batches that follow.
#include <pando/pando.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

using namespace pando;
namespace layers = pando::keras::layers;

namespace {

constexpr int classes = 10;

struct Arguments {
  std::string data = "auto";
  int epochs = 3;
  int batch_size = 64;
  int tiles = 0;
};

keras::Model make_model() {
  Tensor input = keras::Input({28, 28, 1});
  // Pixels are fed as bytes, a quarter of the traffic, and become numbers from 0 to 1 on the device.
  Tensor x = layers::Rescaling(1.0 / 255)(input);
  x = layers::Conv2D(32, 3, {.activation = "relu"})(x);
  x = layers::MaxPooling2D()(x);
  x = layers::Conv2D(64, 3, {.activation = "relu"})(x);
  x = layers::MaxPooling2D()(x);
  x = layers::Flatten()(x);
  x = layers::Dropout(0.5)(x);
  x = layers::Dense(classes, {.activation = "softmax"})(x);
  return keras::Model(input, x);
}

datasets::Splits load_data(const std::string& name) {
  if (name != "auto") return datasets::load(name);
  if (datasets::available("mnist")) return datasets::load("mnist");
  std::cout << "MNIST is not on this machine (scripts/fetch_data.sh gets it): using synthetic_digits instead.\n";
  return datasets::load("synthetic_digits");
}

constexpr const char* usage = R"(usage: train_digits [--data NAME] [--epochs N] [--batch-size B] [--tiles T]
  --data NAME     mnist, fashion_mnist, synthetic_digits, or auto: mnist if it is on this machine,
                  synthetic_digits if not (default: auto)
  --epochs N      passes over the training images (default: 3)
  --batch-size B  images for each weight update (default: 64)
  --tiles T       worker threads of the virtual IPU; 0 takes all cores (default: 0)
)";

struct UsageError : std::runtime_error {
  using runtime_error::runtime_error;
};

int parse_number(const std::string& option, const std::string& text, int smallest) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (end == text.c_str() || *end != '\0' || value < smallest || value > 1'000'000)
    throw UsageError(option + " needs a whole number of at least " + std::to_string(smallest) + ", not '" + text + "'");
  return static_cast<int>(value);
}

Arguments parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string& option = words[i];
    const std::string value = i + 1 < words.size() ? words[i + 1] : "";
    if (option == "--data") arguments.data = value;
    else if (option == "--epochs") arguments.epochs = parse_number(option, value, 1);
    else if (option == "--batch-size") arguments.batch_size = parse_number(option, value, 1);
    else if (option == "--tiles") arguments.tiles = parse_number(option, value, 0);
    else throw UsageError("unknown argument '" + option + "'");
  }
  const std::string& data = arguments.data;
  if (data != "auto" && data != "mnist" && data != "fashion_mnist" && data != "synthetic_digits")
    throw UsageError("--data needs auto, mnist, fashion_mnist or synthetic_digits, not '" + arguments.data + "'");
  return arguments;
}

void run(const Arguments& arguments) {
  const auto [train, test] = load_data(arguments.data);
  ipu::IPUConfig config;
  config.auto_select_ipus = 1;
  config.tiles_per_ipu = arguments.tiles;
  config.configure_ipu_system();
  ipu::IPUStrategy strategy;
  auto scope = strategy.scope();

  keras::Model model = make_model();
  model.compile({.optimizer = keras::optimizers::SGD({.learning_rate = 0.05, .momentum = 0.9}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .steps_per_execution = 50});
  model.summary();
  std::cout << "\nTraining\n";
  model.fit(expand_dims(train.x, -1), train.y, {.batch_size = arguments.batch_size, .epochs = arguments.epochs});
  std::cout << "\nTest\n";
  model.evaluate(expand_dims(test.x, -1), test.y, {.batch_size = arguments.batch_size});
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> arguments(words + 1, words + count);
  if (std::find(arguments.begin(), arguments.end(), "--help") != arguments.end()) {
    std::cout << usage;
    return 0;
  }
  try {
    run(parse_arguments(arguments));
    return 0;
  } catch (const UsageError& error) {
    std::cerr << "train_digits: " << error.what() << "\n" << usage;
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "train_digits: " << error.what() << "\n";
    return 1;
  }
}
