// SPDX-License-Identifier: Apache-2.0
// TensorFlow 1's session style: a training step compiled for a virtual IPU, run batch by batch; then a whole epoch as
// one loop on the device, fed by an infeed queue. docs/examples/session.md walks through it.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tutorial.h"

using namespace pando;
namespace tf = pando::tf1;
namespace layers = pando::keras::layers;

namespace {

constexpr int batch_size = 32;

keras::Sequential make_model() {
  const auto convolution = [] { return layers::Conv2D(8, {3, 3}, {.activation = "relu", .padding = "same"}); };
  return keras::Sequential(
      {layers::Reshape({28, 28, 1}), convolution(), convolution(), layers::Flatten(), layers::Dense(10)});
}

// Calls the epoch, which returns its mean loss, and says how it went.
template <class Epoch>
void report_epochs(int epochs, Epoch epoch) {
  for (int i = 1; i <= epochs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const double loss = epoch();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    std::printf("Epoch %d/%d: loss %.4f, %.2f s\n", i, epochs, loss, time.count());
  }
}

void train(const tutorial::Arguments& arguments) {
  const auto [train, test] = tutorial::load_images("fashion_mnist", arguments.samples);
  // Every batch is whole: the shapes of a computation are known before it runs.
  const data::Dataset dataset =
      data::Dataset::from_tensor_slices({train.x.astype(DType::float32) / 255.0, train.y.astype(DType::int32)})
          .repeat()
          .batch(batch_size, {.drop_remainder = true});
  const std::int64_t batches_per_epoch = std::max<std::int64_t>(1, train.x.shape()[0] / batch_size);

  ipu::IPUConfig config;
  config.auto_select_ipus = 1;
  config.configure_ipu_system();

  keras::Sequential model = make_model();
  const auto training_step = [&](Tensor x, Tensor y) -> tf::Outputs {
    Tensor loss = tf::losses::sparse_softmax_cross_entropy(y, model(x, {.training = true}));
    return {loss, tf::train::AdamOptimizer({.learning_rate = 0.01}).minimize(loss)};
  };

  tf::Session session;

  std::puts("A step for each run of the session");
  auto iterator = tf::make_initializable_iterator(dataset);
  auto [x, y] = iterator.get_next<2>();
  tf::Compiled step;
  {
    ipu::scopes::ipu_scope device("/device:IPU:0");
    step = ipu::ipu_compiler::compile(training_step, {x, y});
  }
  session.run(tf::global_variables_initializer());
  session.run(iterator.initializer());
  report_epochs(arguments.epochs, [&] {
    double total = 0;
    for (std::int64_t i = 0; i < batches_per_epoch; ++i) total += session.run(step)[0].item<float>();
    return total / static_cast<double>(batches_per_epoch);
  });

  std::puts("\nAn epoch for each run of the session");
  ipu::IPUInfeedQueue infeed(dataset);
  const auto looped_step = [&](Tensor total, Tensor x, Tensor y) -> tf::Outputs {
    const tf::Outputs outputs = training_step(x, y);
    return {total + outputs.tensor(0), outputs.operation(0)};
  };
  tf::Compiled epoch;
  {
    ipu::scopes::ipu_scope device("/device:IPU:0");
    epoch = ipu::ipu_compiler::compile(
        [&] { return ipu::loops::repeat(batches_per_epoch, looped_step, {tf::constant(0.0f)}, infeed); });
  }
  // The weights start again where they started before, so the losses are the same.
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  report_epochs(arguments.epochs, [&] {
    return static_cast<double>(session.run(epoch)[0].item<float>()) / static_cast<double>(batches_per_epoch);
  });
}

}  // namespace

int main(int count, char** words) {
  return tutorial::run(count, words, "Trains a small network on pictures of clothes with TensorFlow 1's sessions.",
                       train, {.epochs = 2});
}
