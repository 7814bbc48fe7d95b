// SPDX-License-Identifier: Apache-2.0
// Callbacks: they see what they are promised, and can steer training.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "frontends/keras/files/log_path.h"
#include "tests/contents.h"
#include "tests/data/temporary_folder.h"
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

TEST(Callbacks, SeeTheValidationOfEachEpoch) {
  struct Watcher final : Callback {
    std::vector<std::string> seen;
    void on_epoch_begin(Model&, std::int64_t) override { seen.emplace_back("epoch"); }
    void on_test_begin(Model&) override { seen.emplace_back("test"); }
    void on_test_end(Model& model, const Logs& logs) override {
      seen.push_back("tested");
      EXPECT_EQ(logs.entries().size(), 1U);
      EXPECT_EQ(logs["loss"], model.evaluate(x, y, {.verbose = 0})["loss"]);
    }
    void on_epoch_end(Model&, std::int64_t, Logs& logs) override {
      seen.push_back(logs.contains("val_loss") ? "validated" : "trained");
    }
    Array x, y;
  };
  const Line line;
  const auto watcher = std::make_shared<Watcher>();
  watcher->x = line.x;
  watcher->y = line.y;
  Sequential model = line_model(1);
  model.fit(line.x, line.y, {.epochs = 2, .verbose = 0, .validation_data = {line.x, line.y}, .callbacks = {watcher}});
  model.fit(line.x, line.y, {.verbose = 0, .callbacks = {watcher}});
  EXPECT_EQ(watcher->seen, (std::vector<std::string>{"epoch", "test", "tested", "validated", "epoch", "test", "tested",
                                                     "validated", "epoch", "trained"}));
}

// Tiles take numbers below the smallest normal one as 0; a callback runs on the caller's thread and must not.
TEST(Callbacks, ComputeInTheModeOfTheCaller) {
  const Line line;
  volatile float below_normal = 1e-40f;
  int batches = 0;
  for (const std::int64_t steps_per_execution : {1, 3}) {
    Sequential model = line_model(steps_per_execution);
    model.fit(line.x, line.y,
              {.batch_size = 8,
               .verbose = 0,
               .callbacks = {callbacks::LambdaCallback({.on_train_batch_end = [&](std::int64_t, const Logs&) {
                 EXPECT_GT(below_normal * 2, 0);
                 ++batches;
               }})}});
    EXPECT_GT(below_normal * 2, 0);
  }
  EXPECT_EQ(batches, 16);
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

TEST(Callbacks, StopIfTheBaselineIsNotBeatenButNeverAfterTheFirstEpoch) {
  const Line line;
  const auto epochs = [&](const callbacks::EarlyStoppingOptions& options, double rate) {
    return line_model(1, rate)
        .fit(line.x, line.y, {.epochs = 6, .verbose = 0, .callbacks = {callbacks::EarlyStopping(options)}})["loss"]
        .size();
  };
  // A loss that becomes better goes on, although it does not beat the baseline; one that stays ends when it may.
  EXPECT_EQ(epochs({.monitor = "loss", .baseline = -1.0}, 0.01), 6u);
  EXPECT_EQ(epochs({.monitor = "loss", .baseline = -1.0}, 0.0), 2u);
  EXPECT_EQ(epochs({.monitor = "loss"}, 0.0), 2u);
}

TEST(Callbacks, RestoreTheBestAlsoWhereNothingStops) {
  const Line line;
  Sequential model = line_model(1, 0.0);
  std::vector<Array> second;
  // A rate of 0 in all epochs but the second: the weights of the second epoch are better than those after.
  model.fit(line.x, line.y,
            {.epochs = 4,
             .verbose = 0,
             .callbacks = {callbacks::LearningRateScheduler([](std::int64_t epoch, double) {
                             return epoch == 1 ? 0.1 : epoch == 2 ? 100.0 : 0.0;
                           }),
                           callbacks::EarlyStopping({.monitor = "loss", .patience = 9, .restore_best_weights = true}),
                           callbacks::LambdaCallback({.on_epoch_end = [&](std::int64_t epoch, const Logs&) {
                             if (epoch == 1) second = model.get_weights();
                           }})}});
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(model.get_weights()[0].data<float>()[0], second[0].data<float>()[0]);
}

TEST(Callbacks, SaveOnlyWhatIsBetterThanAThreshold) {
  const TemporaryFolder folder;
  const Line line;
  const auto saved = [&](double threshold) {
    const std::string path = folder.path() + "/" + std::to_string(threshold) + ".npz";
    line_model().fit(line.x, line.y,
                     {.verbose = 0,
                      .callbacks = {callbacks::ModelCheckpoint(
                          path, {.monitor = "loss", .save_best_only = true, .initial_value_threshold = threshold})}});
    return std::ifstream(path).good();
  };
  EXPECT_FALSE(saved(0.0));
  EXPECT_TRUE(saved(1e9));
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

// What they print with verbose = 1, without the progress bar.
std::string said(const Callbacks& list, int epochs, double rate = 0.1) {
  const Line line;
  Sequential model = line_model(1, rate);
  testing::internal::CaptureStdout();
  model.fit(line.x, line.y, {.epochs = epochs, .shuffle = false, .verbose = 0, .callbacks = list});
  return testing::internal::GetCapturedStdout();
}

TEST(Callbacks, SayInTheWordsOfKerasWhatTheySave) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/w-{epoch:02d}.npz";
  EXPECT_EQ(said({callbacks::ModelCheckpoint(path, {.verbose = 1})}, 2), "Epoch 1: saving model to " + folder.path() +
                                                                             "/w-01.npz\nEpoch 2: saving model to " +
                                                                             folder.path() + "/w-02.npz\n");
  const auto best = callbacks::ModelCheckpoint(path, {.monitor = "loss", .save_best_only = true, .verbose = 1});
  const std::string text = said({best}, 2, 0.0);
  const std::string improved = "Epoch 1: loss improved from inf to ";
  ASSERT_TRUE(text.starts_with(improved)) << text;
  const std::string value = text.substr(improved.size(), text.find(',') - improved.size());
  EXPECT_EQ(value.size() - value.find('.'), 6u) << value;
  EXPECT_EQ(text, improved + value + ", saving model to " + folder.path() +
                      "/w-01.npz\nEpoch 2: loss did not improve from " + value + "\n");
}

TEST(Callbacks, SayInTheWordsOfKerasWhenTheyStopAndWhatTheyRestore) {
  EXPECT_EQ(
      said({callbacks::EarlyStopping({.monitor = "loss", .patience = 2, .verbose = 1, .restore_best_weights = true})},
           9, 0.0),
      "Epoch 3: early stopping\nRestoring model weights from the end of the best epoch: 1.\n");
  EXPECT_EQ(said({callbacks::EarlyStopping({.monitor = "loss", .patience = 2, .verbose = 1})}, 9, 0.0),
            "Epoch 3: early stopping\n");
}

TEST(Callbacks, SayInTheWordsOfKerasWhichRateTheySet) {
  const auto constant = [](std::int64_t, double) { return 0.001; };
  EXPECT_EQ(said({callbacks::LearningRateScheduler(constant, {.verbose = 1})}, 2),
            "Epoch 1: LearningRateScheduler setting learning rate to 0.001.\n"
            "Epoch 2: LearningRateScheduler setting learning rate to 0.001.\n");
  EXPECT_EQ(said({callbacks::LearningRateScheduler(constant)}, 1), "");
  const auto still = callbacks::LearningRateScheduler([](std::int64_t, double rate) { return std::min(rate, 1e-30); });
  EXPECT_EQ(
      said({still, callbacks::ReduceLROnPlateau({.monitor = "loss", .factor = 0.5, .patience = 1, .verbose = 1})}, 2),
      "Epoch 2: ReduceLROnPlateau reducing learning rate to 5e-31.\n");
}

TEST(Callbacks, WriteTheColumnsOfTheTableSortedByName) {
  const Line line;
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/log.csv";
  Sequential model = line_model();
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
  const History history = model.fit(line.x, line.y,
                                    {.verbose = 0,
                                     .validation_split = 0.5,
                                     .callbacks = {callbacks::LambdaCallback({}), callbacks::CSVLogger(path)}});
  const std::string text = contents(path);
  EXPECT_TRUE(text.starts_with("epoch,loss,mae,val_loss,val_mae\n0,")) << text;
  const std::vector<double> losses = history["loss"];
  EXPECT_EQ(std::stod(text.substr(text.find("\n0,") + 3)), losses[0]);
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
            "CSVLogger: cannot write /nowhere/log.csv: No such file or directory; see that the folder exists and is "
            "writable");
}

TEST(Callbacks, KeepTrainingWhenTheTableCannotBeWritten) {
  const Line line;
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/log.csv",
                    problem = "CSVLogger: cannot write " + path + ": File too large; ";
  std::string told_at_the_end;
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const std::string before_it(999, 'x');
  // A limit that lets half of the first line through, until the third epoch; the warnings go to a file as well.
  const auto limit = [&](std::int64_t epoch) {
    rlimit file_size = before;
    if (epoch < 2) file_size.rlim_cur = 1004;
    setrlimit(RLIMIT_FSIZE, &file_size);
  };
  const auto end = [&](const std::string& text) { told_at_the_end = text; };
  const auto train = [&](int epochs) {
    folder.write("log.csv", before_it + "\n");
    Sequential model = line_model();
    testing::internal::CaptureStderr();
    const History history = model.fit(line.x, line.y,
                                      {.epochs = epochs,
                                       .verbose = 0,
                                       .callbacks = {callbacks::LambdaCallback({.on_epoch_begin = limit}),
                                                     callbacks::CSVLogger(path, {.append = true, .on_failure = end})}});
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(history.epochs().size(), static_cast<std::size_t>(epochs));
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_EQ(told.find("Warning: " + problem), 0u) << told;
    // Once.
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
    return contents(path);
  };
  // No half line.
  EXPECT_EQ(train(2), before_it + "\n");
  EXPECT_EQ(told_at_the_end.find(problem), 0u) << told_at_the_end;
  told_at_the_end = "";
  const std::string text = train(3);
  EXPECT_EQ(text.find(before_it + "\n0,"), 0u) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  EXPECT_EQ(told_at_the_end, "");
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
            "\nBatch 2: Invalid loss, terminating training. The loss is nan; try a smaller learning rate.\n");
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
       .callbacks = {callbacks::ModelCheckpoint(folder + "at-{epoch:02d}.npz"),
                     callbacks::ModelCheckpoint(folder + "best.npz", {.monitor = "loss", .save_best_only = true})}});
  const std::vector<Array> last = model.get_weights();
  model.load_weights(folder + "at-01.npz");
  EXPECT_FALSE(array_equal(last[0], model.get_weights()[0]));
  model.load_weights(folder + "best.npz");
  EXPECT_TRUE(array_equal(last[0], model.get_weights()[0]));
}

TEST(Callbacks, NameFilesAsPythonFormatsNumbers) {
  const auto filled = [](const std::string& path) {
    Logs logs;
    logs.set("loss", 0.25);
    logs.set("val_accuracy", 0.98765432);
    return LogPath("ModelCheckpoint", path).filled(7, logs);
  };
  EXPECT_EQ(filled("w-{epoch:02d}-{val_accuracy:.3f}"), "w-07-0.988");
  EXPECT_EQ(filled("{epoch}/{loss}"), "7/0.25");
  EXPECT_EQ(filled("{epoch:4d}|{epoch:4}|{epoch:+d}|{epoch:.1f}"), "   7|   7|+7|7.0");
  EXPECT_EQ(filled("{val_accuracy:.2e} {val_accuracy:.3g} {val_accuracy:08.4f}"), "9.88e-01 0.988 000.9877");
  EXPECT_EQ(filled("{val_accuracy:.1%} {val_accuracy:.2}"), "98.8% 0.99");
  EXPECT_EQ(filled("{{epoch}}-{epoch}-}}{{"), "{epoch}-7-}{");
  EXPECT_EQ(filled("plain.npz"), "plain.npz");
  const std::string remedy = "'; a field is {epoch} or {val_loss:.3f}, and {{ or }} stands for a brace";
  const auto refusal = [](const std::string& path) { return message([&] { callbacks::ModelCheckpoint(path); }); };
  EXPECT_EQ(
      refusal("w-{epoch}.keras"),
      "ModelCheckpoint: 'w-{epoch}.keras' would not be a file that Keras reads; end its name in .safetensors or .npz");
  EXPECT_EQ(refusal("w-{epoch"), "ModelCheckpoint: a { is not closed in the path 'w-{epoch" + remedy);
  EXPECT_EQ(refusal("w-}"), "ModelCheckpoint: a } closes nothing in the path 'w-}" + remedy);
  EXPECT_EQ(refusal("w-{}"), "ModelCheckpoint: the field {} has no name in the path 'w-{}" + remedy);
  EXPECT_EQ(
      refusal("{loss:02d}"),
      "ModelCheckpoint: '02d' of the field {loss:02d} is not a format of numbers in the path '{loss:02d}" + remedy);
  EXPECT_EQ(refusal("{epoch:.2}"),
            "ModelCheckpoint: '.2' of the field {epoch:.2} is not a format of whole numbers in the path '{epoch:.2}" +
                remedy);
  for (const std::string format : {"q", ".f", "1234d", "{}", "s", ".3ff"})
    EXPECT_NE(refusal("{epoch:" + format + "}"), "(nothing was thrown)") << format;
}

TEST(Callbacks, AreRefusedBeforeTheFirstStepIfTheyNeedALogThatThereWillNotBe) {
  const Line line;
  std::int64_t batches = 0;
  const auto counter = callbacks::LambdaCallback({.on_train_batch_end = [&](std::int64_t, const Logs&) { ++batches; }});
  const auto fit = [&](const Callbacks& list, bool validates) {
    Sequential model = line_model();
    FitOptions options{.verbose = 0, .callbacks = {counter}};
    options.callbacks.insert(options.callbacks.end(), list.begin(), list.end());
    if (validates) options.validation_split = 0.5;
    return message([&] { model.fit(line.x, line.y, options); });
  };
  const std::string path = testing::TempDir() + "log_names-";
  EXPECT_EQ(fit({callbacks::ModelCheckpoint(path + "{val_los:.3f}.npz")}, true),
            "ModelCheckpoint: unknown log 'val_los'; did you mean 'val_loss'?");
  EXPECT_EQ(fit({callbacks::ModelCheckpoint(path + "{val_loss:.3f}.npz")}, false),
            "ModelCheckpoint: unknown log 'val_loss'; known are: loss; give fit() validation_data or validation_split");
  EXPECT_EQ(fit({callbacks::EarlyStopping({.monitor = "los"})}, false),
            "EarlyStopping: unknown log 'los'; did you mean 'loss'?");
  EXPECT_EQ(fit({callbacks::ModelCheckpoint(path + "x.npz", {.monitor = "val_acc", .save_best_only = true})}, true),
            "ModelCheckpoint: unknown log 'val_acc'; known are: loss, val_loss");
  EXPECT_EQ(batches, 0);
  // One that an earlier callback adds is there.
  const auto schedule = callbacks::LearningRateScheduler([](std::int64_t, double rate) { return rate; });
  EXPECT_EQ(fit({schedule, callbacks::ModelCheckpoint(path + "{lr:g}.npz")}, false), "(nothing was thrown)");
  EXPECT_EQ(fit({callbacks::ModelCheckpoint(path + "{lr:g}.npz"), schedule}, false),
            "ModelCheckpoint: unknown log 'lr'; known are: loss");
}

TEST(Callbacks, OfOnesOwnMayAddTheLogsThatOthersNeed) {
  struct Adder : Callback {
    void on_epoch_end(Model&, std::int64_t, Logs& logs) override { logs.set("score", 3.0); }
  };
  const Line line;
  Sequential model = line_model();
  const std::string path = testing::TempDir() + "score-";
  model.fit(line.x, line.y,
            {.verbose = 0,
             .callbacks = {std::make_shared<Adder>(), callbacks::ModelCheckpoint(path + "{score:.1f}-{epoch}.npz")}});
  model.load_weights(path + "3.0-1.npz");
  EXPECT_EQ(message([&] {
              model.fit(line.x, line.y,
                        {.verbose = 0,
                         .callbacks = {std::make_shared<Adder>(), callbacks::EarlyStopping({.monitor = "scores"})}});
            }),
            "EarlyStopping: unknown log 'scores'; did you mean 'score'?");
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

TEST(Callbacks, ThatCannotSaveAreRefusedBeforeTheFirstStepAndWarnLater) {
  const TemporaryFolder folder;
  const auto fit = [&](const std::string& path, const std::function<void()>& at_begin) {
    Sequential model({layers::Dense(1, {.input_shape = Shape{2}})});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const History history = model.fit(
        ones({4, 2}), ones({4, 1}),
        {.epochs = 3,
         .verbose = 0,
         .callbacks = {callbacks::ModelCheckpoint(path), callbacks::LambdaCallback({.on_train_begin = at_begin})}});
    return std::distance(history.begin(), history.end());
  };
  const std::string missing = folder.path() + "/missing/at-{epoch}.npz";
  EXPECT_EQ(message([&] { fit(missing, [] {}); }),
            missing + ": cannot be written: No such file or directory; check its folder and permissions");
  // A folder that goes away during the training costs the files, not the run.
  const std::string gone = folder.path() + "/gone";
  std::filesystem::create_directory(gone);
  testing::internal::CaptureStderr();
  EXPECT_EQ(fit(gone + "/at-{epoch}.npz", [&] { std::filesystem::remove(gone); }), 1);
  const std::string text = testing::internal::GetCapturedStderr();
  for (const char* epoch : {"epoch 1", "epoch 2", "epoch 3"})
    EXPECT_NE(text.find(std::string("Warning: ModelCheckpoint: ") + epoch + " is not saved: "), std::string::npos)
        << text;
}

}  // namespace
