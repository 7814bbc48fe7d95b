// Callbacks: they see what they are promised, and can steer training.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

struct Line {
  Array x = arange(64).astype(DType::float32).reshape({64, 1}) / 64.0, y = x * 3.0 + 1.0;
};

Sequential line_model(std::int64_t steps_per_execution = 1, double rate = 0.1) {
  set_random_seed(3);
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = rate}),
                 .loss = "mse",
                 .steps_per_execution = steps_per_execution});
  return model;
}

TEST(Callbacks, SeeEveryBatchWhateverTheExecution) {
  const Line line;
  const auto losses = [&](std::int64_t steps_per_execution) {
    std::vector<double> seen;
    std::vector<std::int64_t> numbers;
    Sequential model = line_model(steps_per_execution);
    model.fit(
        line.x, line.y,
        {.batch_size = 8,
         .epochs = 2,
         .verbose = 0,
         .callbacks = {callbacks::LambdaCallback({.on_train_batch_end = [&](std::int64_t batch, const Logs& logs) {
           numbers.push_back(batch);
           seen.push_back(logs["loss"]);
         }})}});
    EXPECT_EQ(numbers, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7}));
    return seen;
  };
  EXPECT_EQ(losses(1), losses(3));
  EXPECT_EQ(losses(1), losses(100));
}

TEST(Callbacks, StopEarlyAndRestoreTheBest) {
  const Line line;
  Sequential model = line_model(4, 0.0);
  const History history = model.fit(
      line.x, line.y,
      {.epochs = 50,
       .verbose = 0,
       .callbacks = {callbacks::EarlyStopping({.monitor = "loss", .patience = 3, .restore_best_weights = true})}});
  EXPECT_EQ(history["loss"].size(), 4u);
  EXPECT_EQ(message([&] { model.fit(line.x, line.y, {.verbose = 0, .callbacks = {callbacks::EarlyStopping()}}); }),
            "EarlyStopping: unknown log 'val_loss'; known are: loss; give fit() validation_data or "
            "validation_split");
}

TEST(Callbacks, ReduceTheRateOnAPlateau) {
  const Line line;
  Sequential model = line_model(4, 0.5);
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}), .loss = "mse"});
  model.optimizer().set_learning_rate(1e-12);
  const History history =
      model.fit(line.x, line.y,
                {.epochs = 5,
                 .verbose = 0,
                 .callbacks = {callbacks::ReduceLROnPlateau({.monitor = "loss", .factor = 0.5, .patience = 2})}});
  EXPECT_EQ(history["lr"], (std::vector<double>{1e-12, 1e-12, 1e-12, 5e-13, 5e-13}));
}

TEST(Callbacks, ScheduleTheRateByEpoch) {
  const Line line;
  Sequential model = line_model();
  const History history = model.fit(
      line.x, line.y,
      {.epochs = 3, .verbose = 0, .callbacks = {callbacks::LearningRateScheduler([](std::int64_t epoch, double rate) {
                                    return epoch == 0 ? rate : rate / 2;
                                  })}});
  EXPECT_EQ(history["lr"], (std::vector<double>{0.1, 0.05, 0.025}));
}

TEST(Callbacks, WriteTheHistoryAsATable) {
  const Line line;
  const std::string path = testing::TempDir() + "log.csv";
  Sequential model = line_model();
  const History history =
      model.fit(line.x, line.y, {.epochs = 2, .verbose = 0, .callbacks = {callbacks::CSVLogger(path)}});
  model.fit(line.x, line.y, {.epochs = 1, .verbose = 0, .callbacks = {callbacks::CSVLogger(path, {.append = true})}});
  std::ifstream file(path);
  std::string first, second;
  std::getline(file, first);
  std::getline(file, second);
  EXPECT_EQ(first, "epoch,loss");
  EXPECT_EQ(std::stod(second.substr(2)), history["loss"][0]);
  int lines = 2;
  for (std::string line_text; std::getline(file, line_text);) ++lines;
  EXPECT_EQ(lines, 4);
  EXPECT_EQ(message([&] {
              model.fit(line.x, line.y, {.verbose = 0, .callbacks = {callbacks::CSVLogger("/nowhere/log.csv")}});
            }),
            "CSVLogger: cannot write /nowhere/log.csv; see that the folder exists and is writable");
}

TEST(Callbacks, EndTrainingWhenTheLossIsNoNumber) {
  const Line line;
  Sequential model = line_model(2);
  Array y = line.y.clone();
  y.mutable_data<float>()[20] = std::numeric_limits<float>::quiet_NaN();
  testing::internal::CaptureStderr();
  const History history = model.fit(
      line.x, y,
      {.batch_size = 8, .epochs = 5, .shuffle = false, .verbose = 0, .callbacks = {callbacks::TerminateOnNaN()}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "\nBatch 2: the loss is nan, training ends; try a smaller learning rate\n");
  EXPECT_EQ(history.epochs().size(), 1u);
  EXPECT_EQ(model.optimizer().iterations(), 4);
}

TEST(Callbacks, KeepTheBestWeightsInAFile) {
  const Line line;
  Sequential model = line_model();
  const std::string folder = testing::TempDir();
  model.fit(
      line.x, line.y,
      {.epochs = 2,
       .verbose = 0,
       .callbacks = {callbacks::ModelCheckpoint(folder + "at-{epoch}.npz"),
                     callbacks::ModelCheckpoint(folder + "best.npz", {.monitor = "loss", .save_best_only = true})}});
  const std::vector<Array> last = model.get_weights();
  model.load_weights(folder + "at-01.npz");
  EXPECT_FALSE(array_equal(last[0], model.get_weights()[0]));
  model.load_weights(folder + "best.npz");
  EXPECT_TRUE(array_equal(last[0], model.get_weights()[0]));
}

TEST(Schedules, AreFollowedInsideTheProgram) {
  // With the gradient of the bias known to be -2 (loss (0 - 1)^2 at a kernel of 0 and x of 0), each update adds 2 *
  // rate.
  const auto rates = [](const optimizers::LearningRate& rate, int updates) {
    Sequential model({layers::Dense(1, {.kernel_initializer = "zeros"})});
    const Loss slope(
        "slope", [](Value prediction, Value target) { return ops::reduce_sum(target - prediction, {.axes = {1}}); });
    model.compile({.optimizer = optimizers::SGD({.learning_rate = rate}), .loss = slope, .steps_per_execution = 7});
    std::vector<double> biases = {0.0}, seen;
    for (int i = 0; i < updates; ++i) {
      model.train_on_batch(zeros({1, 1}), zeros({1, 1}));
      biases.push_back(model.get_weights()[1].item<double>());
      seen.push_back(biases[biases.size() - 1] - biases[biases.size() - 2]);
    }
    return seen;
  };
  const auto expect = [&](const optimizers::LearningRate& rate, const std::vector<double>& wanted) {
    const std::vector<double> seen = rates(rate, static_cast<int>(wanted.size()));
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(seen[i], wanted[i], 1e-6) << "update " << i;
  };
  using namespace optimizers::schedules;
  expect(0.5, {0.5, 0.5});
  expect(ExponentialDecay({.initial_learning_rate = 1, .decay_steps = 2, .decay_rate = 0.25}), {1, 0.5, 0.25});
  expect(ExponentialDecay({.initial_learning_rate = 1, .decay_steps = 2, .decay_rate = 0.25, .staircase = true}),
         {1, 1, 0.25});
  expect(CosineDecay({.initial_learning_rate = 1, .decay_steps = 4}),
         {1, (1 + std::sqrt(0.5)) / 2, 0.5, (1 - std::sqrt(0.5)) / 2, 0, 0});
  expect(PolynomialDecay({.initial_learning_rate = 1, .decay_steps = 4, .end_learning_rate = 0.2}),
         {1, 0.8, 0.6, 0.4, 0.2, 0.2});
  expect(PiecewiseConstantDecay({1, 3}, {1.0, 0.5, 0.25}), {1, 1, 0.5, 0.5, 0.25});
  expect(WarmUp(4, 1.0), {0, 0.25, 0.5, 0.75, 1, 1});
}

}  // namespace
