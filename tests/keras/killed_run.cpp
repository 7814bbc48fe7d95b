// SPDX-License-Identifier: Apache-2.0
// A run with many checkpoints that resumes from the newest, for tests that kill it: killed_run FOLDER SEED EPOCHS
// SAMPLES. At the end it writes the model to FOLDER/saved, a report to FOLDER/report.html and its History to
// FOLDER/history.txt. Exit status 3 if the model or the report could not be written.
#include <pando/pando.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

using namespace pando;
using namespace pando::keras;

namespace {

Model make_model() {
  const Tensor input = Input({6}, {.name = "numbers"});
  Tensor x = layers::Dense(16, {.activation = "relu", .name = "hidden"})(input);
  x = layers::Dropout(0.2, {.name = "drop"})(x);
  x = layers::Dense(3, {.activation = "softmax", .name = "kinds"})(x);
  Model model(input, x);
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  return model;
}

data::Dataset make_data(std::int64_t samples) {
  Array x(DType::float32, {samples, 6}), y(DType::int32, {samples});
  for (std::int64_t i = 0; i < samples; ++i) {
    y.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 3);
    for (std::int64_t j = 0; j < 6; ++j)
      x.mutable_data<float>()[i * 6 + j] =
          static_cast<float>(std::sin(static_cast<double>(i * 6 + j))) + (j == i % 3 ? 0.5f : 0.0f);
  }
  return data::Dataset::from_tensor_slices({x, y}).shuffle(samples);
}

bool is_writing(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".part") return true;
  return false;
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    std::fputs("usage: killed_run FOLDER SEED EPOCHS SAMPLES\n", stderr);
    return 2;
  }
  const std::string folder = words[1];
  set_random_seed(std::stoull(words[2]));
  const data::Dataset all = make_data(std::stoll(words[4]));
  Model model = make_model();
  // Long enough for each checkpoint to be written, and for the test to kill it.
  const auto pause = callbacks::LambdaCallback({.on_train_batch_end = [&](std::int64_t, const Logs&) {
    do std::this_thread::sleep_for(std::chrono::milliseconds(4));
    while (is_writing(folder + "/checkpoints"));
  }});
  const History history =
      model.fit(all.skip(6).batch(4),
                {.epochs = std::stoll(words[3]),
                 .verbose = 0,
                 .validation_data = all.take(6).batch(4),
                 .callbacks = {callbacks::CSVLogger(folder + "/log.csv"), pause},
                 .checkpoint = {
                     .directory = folder + "/checkpoints", .every_executions = 1, .every_seconds = 0, .resume = true}});
  bool failed = false;
  const auto attempt = [&](const std::function<void()>& write) {
    try {
      write();
    } catch (const Error& error) {
      std::fprintf(stderr, "Error: %s\n", error.what());
      failed = true;
    }
  };
  attempt([&] { model.save(folder + "/saved"); });
  attempt([&] { report::save({.title = "Killed again and again"}, folder + "/report.html"); });
  std::FILE* file = std::fopen((folder + "/history.txt").c_str(), "w");
  for (const plot::Curve& curve : history)
    for (const double value : curve.values) std::fprintf(file, "%s %a\n", curve.name.c_str(), value);
  std::fclose(file);
  return failed ? 3 : 0;
}
