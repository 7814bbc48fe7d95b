// SPDX-License-Identifier: Apache-2.0
// Keras models whose training is broken off and goes on from a checkpoint.
#include <filesystem>
#include <memory>

#include "keras.h"

namespace bits {

namespace {

// A folder that goes with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const std::filesystem::path parent = std::filesystem::temp_directory_path();
    int number = 0;
    do path_ = parent / ("pando_bits_" + std::to_string(number++));
    while (!std::filesystem::create_directory(path_));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Stops training after that many batches; never if 0.
class StopAfter : public keras::Callback {
 public:
  explicit StopAfter(std::int64_t batches) : left_(batches) {}
  void on_train_batch_end(keras::Model& model, std::int64_t, const keras::Logs&) override {
    if (--left_ == 0) model.stop_training();
  }
  bool sees_batches() const override { return true; }

 private:
  std::int64_t left_;
};

keras::Model model_to_break_off(const Division& division) {
  set_random_seed(9);
  keras::Model model = staged_dropout(division.stages);
  divide(model, division);
  model.compile(compile_options(division));
  return model;
}

// Three epochs, broken off once within the second of them or not at all.
Hash fit_in_parts(const Division& division, bool is_broken_off) {
  configure(division.ipus, division.tiles);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  const Data data = images(division.samples);
  const TemporaryFolder folder;
  keras::FitOptions options{.batch_size = division.batch_size, .epochs = 3, .verbose = 0, .validation_split = 0.2};
  if (is_broken_off) {
    options.checkpoint = {.directory = folder.path() + "/run", .every_executions = 1, .every_seconds = 0};
    keras::Model model = model_to_break_off(division);
    options.callbacks = {std::make_shared<StopAfter>(20)};
    model.fit(data.x, data.y, options);
    options.checkpoint.resume = true;
  }
  options.callbacks = {std::make_shared<StopAfter>(0)};
  keras::Model model = model_to_break_off(division);
  const keras::History history = model.fit(data.x, data.y, options);
  return model_bits(model, history, data.x, data.y, division.batch_size);
}

}  // namespace

Runs keras_checkpoint_runs() {
  Runs runs;
  const std::vector<std::pair<std::string, Division>> divisions = {
      {"one", {.ipus = 1, .samples = 150, .steps_per_execution = 1}},
      {"replicas", {.ipus = 2, .samples = 150, .steps_per_execution = 4}},
      {"pipeline", {.stages = 2, .accumulation = 4, .samples = 150, .steps_per_execution = 4}}};
  for (const auto& [name, division] : divisions)
    for (const bool is_broken_off : {false, true})
      runs.push_back({"checkpoint_" + name + (is_broken_off ? "_resumed" : "_unbroken"),
                      [division = division, is_broken_off] { return fit_in_parts(division, is_broken_off); }});
  return runs;
}

}  // namespace bits
