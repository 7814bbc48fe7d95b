// SPDX-License-Identifier: Apache-2.0
// PyTorch modules run by PopTorch: a network that reads digits, 50 weight updates in each call, and its test.
// docs/examples/poptorch.md walks through it.
#include <algorithm>
#include <cstdio>
#include <string>
#include <tuple>

#include "tutorial.h"

using namespace pando;
namespace nn = pando::torch::nn;
namespace transforms = pando::torchvision::transforms;

namespace {

constexpr std::int64_t batch_size = 8, test_batch_size = 80;
constexpr std::int64_t most_device_iterations = 50;

struct Block : nn::Module {
  Block(int in_channels, int filters, int kernel_size, int pool_size)
      : conv(in_channels, filters, {.kernel_size = kernel_size}), pool({.kernel_size = pool_size}) {
    register_modules({{"conv", conv}, {"pool", pool}, {"relu", relu}});
  }
  Tensor forward(Tensor x) { return relu(pool(conv(x))); }

  nn::Conv2d conv;
  nn::MaxPool2d pool;
  nn::ReLU relu;
};

struct Network : nn::Module {
  Network() : layer1(1, 32, 3, 2), layer2(32, 64, 3, 2), layer3(1600, 128), dropout(0.5), layer4(128, 10) {
    register_modules({{"layer1", layer1},
                      {"layer2", layer2},
                      {"layer3", layer3},
                      {"relu", relu},
                      {"dropout", dropout},
                      {"layer4", layer4}});
  }
  Tensor forward(Tensor x) {
    x = layer2.forward(layer1.forward(x));
    x = relu(layer3(x.view({-1, 1600})));
    return layer4(dropout(x));
  }

  Block layer1, layer2;
  nn::Linear layer3;
  nn::ReLU relu;
  nn::Dropout dropout;
  nn::Linear layer4;
};

// PopTorch trains a module that returns its loss.
struct NetworkWithLoss : nn::Module {
  explicit NetworkWithLoss(Network& network) : network(network) {
    register_modules({{"network", network}, {"loss", loss}});
  }
  std::tuple<Tensor, Tensor> forward(Tensor images, Tensor labels) {
    Tensor scores = network.forward(images);
    return {scores, loss(scores, labels)};
  }

  Network& network;
  nn::CrossEntropyLoss loss;
};

double percent_right(const Array& scores, const Array& labels) {
  return 100 * mean(equal(argmax(scores, 1), labels)).item<double>();
}

std::string description(double loss, double accuracy) {
  char text[64];
  std::snprintf(text, sizeof text, "Loss: %.4f | Accuracy: %5.2f %%", loss, accuracy);
  return text;
}

void train(const tutorial::Arguments& arguments) {
  const auto [train, test] = tutorial::load_images("mnist", arguments.samples);
  const auto transform = transforms::Compose({transforms::ToTensor(), transforms::Normalize({0.1307}, {0.3081})});
  const torchvision::datasets::VisionDataset training_set(train, transform), test_set(test, transform);

  // A call takes the batches of all device iterations and returns the results of all of them. The last call of an epoch
  // has the images that are left.
  const std::int64_t micro_batch = std::min(batch_size, train.x.shape()[0]);
  const std::int64_t device_iterations = std::min(most_device_iterations, train.x.shape()[0] / micro_batch);
  const auto options = poptorch::Options().deviceIterations(device_iterations).outputMode(poptorch::OutputMode::All);
  poptorch::DataLoader training_data(options, training_set, {.batch_size = micro_batch, .shuffle = true});
  torch::utils::data::DataLoader test_data(test_set, {.batch_size = test_batch_size});

  Network network;
  NetworkWithLoss model(network);
  auto training_model = poptorch::trainingModel(model, options, torch::optim::SGD(network.parameters(), {.lr = 0.03}));
  for (int epoch = 1; epoch <= arguments.epochs; ++epoch) {
    auto bar = tqdm(training_data, {.desc = "Epoch " + std::to_string(epoch)});
    for (auto [images, labels] : bar) {
      auto [scores, losses] = training_model(images, labels);
      bar.set_description(description(mean(losses).item<double>(), percent_right(scores, labels)));
    }
  }
  training_model.detachFromDevice();

  // The two models share the weights, so nothing has to be copied.
  auto inference_model = poptorch::inferenceModel(network);
  double right = 0;
  for (auto [images, labels] : test_data)
    right += percent_right(inference_model(images), labels) * static_cast<double>(labels.elements());
  std::printf("Accuracy on the test set: %.2f %%\n", right / static_cast<double>(test.y.elements()));
}

}  // namespace

int main(int count, char** words) {
  return tutorial::run(count, words, "Trains a network written as PyTorch modules to read digits, run by PopTorch.",
                       train, {.epochs = 2});
}
