// SPDX-License-Identifier: Apache-2.0
// What a step costs in addition to its arithmetic, and how long it takes to reach the first one.
#include <fmt/format.h>

#include "keras_cnn.h"
#include "measurement.h"

namespace pando::limits {

namespace {

constexpr int rounds = 9;

double empty_step_in_an_execution() {
  constexpr std::int64_t steps = 100'000;
  Program program{Graph(), Device(), Variables()};
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    program.run(steps);
    times.push_back(microseconds_since(start) / steps);
  }
  return median(std::move(times));
}

double empty_step_by_itself() {
  constexpr int steps = 10'000;
  Program program{Graph(), Device(), Variables()};
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    for (int step = 0; step < steps; ++step)
      program.step(std::span<const std::byte* const>(), std::span<std::byte* const>());
    times.push_back(microseconds_since(start) / steps);
  }
  return median(std::move(times));
}

// How much longer a step of `fit` takes in executions of 1 than in executions of 100, measured in turns.
double more_by_single_executions() {
  constexpr std::int64_t batch = 32, steps = 400;
  const Array x(DType::float32, {batch * steps, 784}), y(DType::int32, {batch * steps});
  const auto make = [](std::int64_t steps_per_execution) {
    keras::Sequential model(
        {keras::layers::Dense(128, {.activation = "relu"}), keras::layers::Dense(10, {.activation = "softmax"})});
    model.compile({.optimizer = "sgd",
                   .loss = "sparse_categorical_crossentropy",
                   .metrics = {"accuracy"},
                   .steps_per_execution = steps_per_execution});
    return model;
  };
  keras::Sequential by_one = make(1), by_hundred = make(100);
  const auto microseconds_a_step = [&](keras::Sequential& model) {
    const auto start = Clock::now();
    model.fit(x, y, {.batch_size = batch, .verbose = 0});
    return microseconds_since(start) / steps;
  };
  // The first of each compiles.
  microseconds_a_step(by_one), microseconds_a_step(by_hundred);
  std::vector<double> differences;
  for (int round = 0; round < rounds; ++round) {
    const double one = microseconds_a_step(by_one);
    differences.push_back(one - microseconds_a_step(by_hundred));
  }
  return median(std::move(differences));
}

// From the call of evaluate, which compiles its own step, to the end of its first batch.
double milliseconds_to_evaluate(const Samples& samples) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    keras::Model model = keras_cnn(10);
    model.fit(samples.x, samples.y, {.batch_size = keras_cnn_batch, .steps_per_epoch = 10, .verbose = 0});
    const auto start = Clock::now();
    model.evaluate(samples.x, samples.y, {.batch_size = keras_cnn_batch, .steps = 1, .verbose = 0});
    times.push_back(microseconds_since(start) / 1e3);
  }
  return median(std::move(times));
}

}  // namespace

void print_first_step() {
  const Samples samples = keras_cnn_samples();
  keras::Model model = keras_cnn(1);
  // Makes exactly the program that fit then runs.
  const auto start = Clock::now();
  static_cast<void>(model.explain({.samples = samples.x.shape()[0], .batch_size = keras_cnn_batch}));
  const double compile = microseconds_since(start) / 1e3;
  const auto after_first = [&](std::int64_t, const keras::Logs&) { model.stop_training(); };
  model.fit(samples.x, samples.y,
            {.batch_size = keras_cnn_batch,
             .verbose = 0,
             .callbacks = {keras::callbacks::LambdaCallback({.on_train_batch_end = after_first})}});
  fmt::print("{} {}\n", compile, std::chrono::duration<double>(Clock::now().time_since_epoch()).count());
}

std::vector<Measurement> measure_overhead() {
  std::vector<double> first_step, compile;
  // The first fills the page cache.
  for (int round = 0; round <= rounds / 2; ++round) {
    const double start = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
    const std::vector<double> numbers = numbers_of_fresh_process("--first-step");
    if (round == 0) continue;
    compile.push_back(numbers.at(0));
    first_step.push_back((numbers.at(1) - start) * 1e3);
  }
  return {{"a step of an empty plan, in an execution", empty_step_in_an_execution(), "us", 2},
          {"a step of an empty plan, by Program::step", empty_step_by_itself(), "us", 2},
          {"a step of mlp by fit, steps_per_execution 1 and not 100", more_by_single_executions(), "us more", 15},
          {"keras_cnn: evaluate after fit, to its first batch", milliseconds_to_evaluate(keras_cnn_samples()), "ms", 5},
          {"keras_cnn: process start to the end of the first step", median(first_step), "ms", 500},
          {"  of which compile", median(compile), "ms", 50}};
}

}  // namespace pando::limits
