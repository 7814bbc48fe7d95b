// SPDX-License-Identifier: Apache-2.0
// Keras on two virtual IPUs: the network of keras_mnist is cut in two stages, and batches follow each other through
// them.
//
// New here: PipelineStage scopes and set_pipelining_options. At the end a page about the run is written.
// docs/examples/keras.md walks through it.
#include <iostream>

#include "tutorial.h"

using namespace pando;
namespace layers = pando::keras::layers;

namespace {

constexpr int classes = 10;
constexpr int batch_size = 64;
constexpr int stages = 2;
constexpr int accumulated_batches = 8;

// Pixels become numbers from 0 to 1, in images of one channel; labels become one-hot rows.
Array as_input(const Array& images) { return expand_dims(images.astype(DType::float32) / 255.0, -1); }
Array as_target(const Array& labels) { return keras::utils::to_categorical(labels, classes); }

keras::Model make_model() {
  Tensor input = keras::Input({28, 28, 1});
  Tensor x;
  {
    ipu::keras::PipelineStage stage(0);
    x = layers::Conv2D(32, {3, 3}, {.activation = "relu"})(input);
    x = layers::MaxPooling2D({2, 2})(x);
  }
  {
    ipu::keras::PipelineStage stage(1);
    x = layers::Conv2D(64, {3, 3}, {.activation = "relu"})(x);
    x = layers::MaxPooling2D({2, 2})(x);
    x = layers::Flatten()(x);
    x = layers::Dropout(0.5)(x);
    x = layers::Dense(classes, {.activation = "softmax"})(x);
  }
  return keras::Model(input, x);
}

void train(const tutorial::Arguments& arguments) {
  std::cout << "Keras MNIST example, running on a pipeline of " << stages << " stages\n";
  const auto [train, test] = tutorial::load_images("mnist", arguments.samples);

  ipu::IPUConfig config;
  config.auto_select_ipus = stages;
  config.configure_ipu_system();
  ipu::IPUStrategy strategy;
  // Models made in the scope run on the device of the strategy.
  auto scope = strategy.scope();

  keras::Model model = make_model();
  // The gradients of this many batches are added for an update: the pipeline fills and empties once for all of them.
  model.set_pipelining_options({.gradient_accumulation_steps_per_replica = accumulated_batches,
                                .pipeline_schedule = ipu::pipelining_ops::PipelineSchedule::Interleaved});
  model.print_pipeline_stage_assignment_summary();
  // An execution runs whole updates: this many for an epoch, the last of them with fewer batches.
  const std::int64_t samples_per_update = accumulated_batches * batch_size;
  const std::int64_t updates = (train.x.shape()[0] + samples_per_update - 1) / samples_per_update;
  model.compile({.optimizer = "sgd",
                 .loss = "categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .steps_per_execution = updates * accumulated_batches});
  std::cout << "\n" << model.explain({.samples = train.x.shape()[0], .batch_size = batch_size});

  std::cout << "\nTraining\n";
  keras::History history = model.fit(as_input(train.x), as_target(train.y),
                                     {.batch_size = batch_size, .epochs = arguments.epochs, .record_timeline = true});

  std::cout << "\nTest\n";
  model.evaluate(as_input(test.x), as_target(test.y), {.batch_size = batch_size});

  const report::Run run = keras::make_report(
      model, history, as_input(test.x), as_target(test.y),
      {.title = "Digits through a pipeline", .batch_size = batch_size, .samples = train.x.shape()[0]});
  report::save(run, "keras_mnist_pipelined.html");
  std::cout << "\nA page about this run: keras_mnist_pipelined.html\n";
}

}  // namespace

int main(int count, char** words) {
  return tutorial::run(count, words,
                       "Trains a convolutional network to read digits, as a pipeline over two virtual IPUs.", train);
}
