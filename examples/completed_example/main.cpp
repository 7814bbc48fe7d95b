// SPDX-License-Identifier: Apache-2.0
// The program of the Keras tutorial, with flags for everything that it teaches: the host or virtual IPUs, replicas, a
// pipeline, accumulated gradients. docs/examples/completed_example.md shows what the flags do.
#include <iostream>

#include "model.h"
#include "utils.h"

using namespace pando;

namespace {

void train(const Arguments& arguments, const Setting& setting) {
  const Data data = load_data(arguments.samples);
  const std::int64_t samples = data.train.x.shape()[0];

  keras::Model model = make_model(setting.pipelining);
  if (setting.pipelining)
    model.set_pipelining_options({.gradient_accumulation_steps_per_replica = setting.gradient_accumulation});
  else if (setting.gradient_accumulation > 1)
    model.set_gradient_accumulation_options({.gradient_accumulation_steps_per_replica = setting.gradient_accumulation});
  model.compile({.optimizer = "sgd",
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .steps_per_execution = (samples + arguments.batch_size - 1) / arguments.batch_size});
  model.summary();
  if (setting.pipelining) model.print_pipeline_stage_assignment_summary();
  std::cout << "\n" << model.explain({.samples = samples, .batch_size = arguments.batch_size});

  std::cout << "\nTraining\n";
  model.fit(data.train.x, data.train.y, {.batch_size = arguments.batch_size, .epochs = arguments.epochs});
  std::cout << "\nTest\n";
  model.evaluate(data.test.x, data.test.y, {.batch_size = arguments.batch_size});
}

void run(const Arguments& arguments) {
  const Setting setting = setting_for(arguments, pipeline_stages);
  for (const std::string& note : setting.notes) std::cerr << "note: " << note << "\n";
  if (!arguments.use_ipu) return train(arguments, setting);

  ipu::IPUConfig config;
  config.auto_select_ipus = setting.num_ipus;
  config.configure_ipu_system();
  ipu::IPUStrategy strategy;
  auto scope = strategy.scope();
  train(arguments, setting);
}

}  // namespace

int main(int count, char** words) {
  try {
    const Arguments arguments = parse_arguments({words + 1, words + count});
    if (arguments.help) std::cout << usage;
    else run(arguments);
    return 0;
  } catch (const UsageError& error) {
    std::cerr << "completed_example: " << error.what() << "\n" << usage;
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "completed_example: " << error.what() << "\n";
    return 1;
  }
}
