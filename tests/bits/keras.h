// SPDX-License-Identifier: Apache-2.0
// Trainings of Keras models, on the host and on IPUs.
#pragma once
#include "run.h"

namespace bits {

keras::Sequential perceptron();
keras::Sequential convolutional();
// Wide enough for products of bfloat16, where there are such.
keras::Sequential wide();
keras::Model two_outputs();

// Everything that a trained model shows.
Hash model_bits(keras::Model& model, const keras::History& history, const Arrays& x, const Arrays& y,
                std::int64_t batch_size = 32);

// The options, silent, with a loss and a metric unless they have some.
keras::CompileOptions completed(keras::CompileOptions options);
keras::FitOptions completed(keras::FitOptions options);

Hash fit(keras::Model model, const Data& data, const keras::CompileOptions& compile = {.optimizer = "adam"},
         const keras::FitOptions& options = {});
Hash fit_dataset(bool resumes_in_the_next_epoch, keras::Model model = perceptron(), std::int64_t steps = 1);
Hash fit_two_outputs(keras::Model model, const keras::FitOptions& options = {});
Hash train_on_batches(keras::Model model);

struct Division {
  int ipus = 2;
  int stages = 1;
  std::int64_t accumulation = 1;
  std::int64_t batch_size = 8;
  std::int64_t samples = 128;
  std::int64_t steps_per_execution = 8;
  GradientReduction reduction = GradientReduction::Mean;
  PipelineSchedule schedule = PipelineSchedule::Grouped;
  std::vector<int> device_mapping = {};
  bool recomputation = false;
  int tiles = 1;
  std::string precision = "float32";
  std::function<keras::Optimizer()> optimizer = [] { return optimizers::Adam({.learning_rate = 0.01}); };
  keras::FitOptions fit = {};
};

// Three groups of layers in that many stages, with dropout.
keras::Model staged_dropout(int stages);
void divide(keras::Model& model, const Division& division);
keras::CompileOptions compile_options(const Division& division);

}  // namespace bits
