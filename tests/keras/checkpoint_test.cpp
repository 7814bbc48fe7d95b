// SPDX-License-Identifier: Apache-2.0
// The files of checkpoints: when they are written, which are kept, and what a run may not go on from.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pando/pando.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/data/temporary_folder.h"
#include "tests/keras/checkpoint_state.h"
#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

// A line, and a folder for its checkpoints.
struct Short {
  TemporaryFolder folder;
  std::string directory = folder.path() + "/run";
  Array x = arange(64).astype(DType::float32).reshape({64, 1}) / 64.0, y = x * 3.0 + 1.0;

  Sequential model(const Optimizer& optimizer = "sgd", std::int64_t units = 1) const {
    Sequential model({layers::Dense(units, {.name = "line"})});
    model.compile({.optimizer = optimizer, .loss = "mse"});
    return model;
  }
  FitOptions options(std::int64_t epochs, bool resume = true) const {
    return {.batch_size = 8, .epochs = epochs, .verbose = 0, .checkpoint = {.directory = directory, .resume = resume}};
  }
  History fit(Model model, const FitOptions& options) const { return model.fit(x, y, options); }
};

TEST(Checkpoints, AreKeptAtTheEndOfEpochsTheLastFew) {
  const Short run;
  // At least the last checkpoint of each fit is written.
  run.fit(run.model(), run.options(1, false));
  run.fit(run.model(), run.options(2));
  EXPECT_EQ(checkpoints_in(run.directory),
            (std::vector<std::string>{"checkpoint-00000001.safetensors", "checkpoint-00000002.safetensors"}));
  FitOptions options = run.options(50);
  options.checkpoint.keep = 2;
  EXPECT_EQ(run.fit(run.model(), options)["loss"].size(), 50u);
  EXPECT_EQ(checkpoints_in(run.directory).size(), 2u);
  EXPECT_TRUE(is_finished(run.directory));
}

TEST(Checkpoints, GoOnWithMoreEpochs) {
  const Short whole, parts;
  set_random_seed(1);
  const History expected = whole.fit(whole.model(), whole.options(6));
  set_random_seed(1);
  parts.fit(parts.model(), parts.options(2));
  expect_equal(parts.fit(parts.model(), parts.options(6)), expected);
}

TEST(Checkpoints, AreNotMixedWithThoseOfAnotherRun) {
  const Short run;
  run.fit(run.model(), run.options(1));
  const std::string path = run.directory + "/checkpoint-00000001.safetensors";
  EXPECT_EQ(message([&] { run.fit(run.model(), run.options(1, false)); }),
            "fit: the folder has checkpoints of another run, such as " + path +
                "; set checkpoint.resume to go on with it, or give another directory");
  const auto refusal = [&](const std::string& difference) {
    return "fit: " + path + " is of another run: " + difference +
           ". Go on with the same model, optimizer, data and callbacks, or give another directory";
  };
  FitOptions options = run.options(2);
  options.batch_size = 16;
  EXPECT_EQ(message([&] { run.fit(run.model(), options); }),
            refusal("batch_size is 8 there but 16 here; the number of batches of an epoch is 8 there but 4 here"));
  EXPECT_EQ(message([&] { run.fit(run.model("adam"), run.options(2)); }),
            refusal("the optimizer is sgd there but adam here"));
  EXPECT_EQ(message([&] { run.fit(run.model(optimizers::SGD({.momentum = 0.9})), run.options(2)); }),
            refusal("there are 0 states of the optimizer there but 2 here"));
  options = run.options(2);
  options.callbacks = {callbacks::TerminateOnNaN()};
  EXPECT_EQ(message([&] { run.fit(run.model(), options); }), refusal("the number of callbacks is 0 there but 1 here"));
  Sequential other({layers::Dense(1, {.name = "other"})});
  other.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_EQ(message([&] { run.fit(other, run.options(2)); }),
            refusal("the weights have 'line/kernel', float32[1, 1] there but 'other/kernel', float32[1, 1] here"));
  Sequential dataset_model = run.model();
  const data::Dataset dataset = data::Dataset::from_tensor_slices({run.x, run.y}).shuffle(8).batch(8);
  EXPECT_EQ(message([&] { dataset_model.fit(dataset, run.options(2)); }),
            refusal("the number of samples is 64 there but -1 here"));
}

// The text of the refusal; both data sets have the same sizes and types.
TEST(Checkpoints, AreNotGoneOnFromWithOtherData) {
  const Short run;
  run.fit(run.model(), run.options(1));
  const std::string path = run.directory + "/checkpoint-00000001.safetensors";
  Array other = run.y * 1.0;
  other.mutable_data<float>()[63] += 1.0f;
  Sequential model = run.model();
  const std::string text = message([&] { model.fit(run.x, other, run.options(2)); });
  EXPECT_NE(text.find(path + " is of another run: the data have other values (their fingerprints are '"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("). Go on with the same model, optimizer, data and callbacks, or give another directory"),
            std::string::npos)
      << text;
}

TEST(Checkpoints, AreNotGoneOnFromWithOtherDataInADataset) {
  const Short run;
  const auto fit = [&](const Array& y) {
    Sequential model = run.model();
    model.fit(data::Dataset::from_tensor_slices({run.x, y}).shuffle(64).batch(8), run.options(2));
  };
  fit(run.y);
  EXPECT_NO_THROW(fit(run.y));
  EXPECT_NE(message([&] { fit(run.y * 2.0); }).find("is of another run: the data have other values"),
            std::string::npos);
}

TEST(Checkpoints, AreNotGoneOnFromWithOtherValidationData) {
  const Short run;
  FitOptions options = run.options(1);
  options.validation_data = {run.x, run.y};
  run.fit(run.model(), options);
  options.epochs = 2;
  options.validation_data = {run.x, run.x};
  EXPECT_NE(message([&] {
              run.fit(run.model(), options);
            }).find("is of another run: the validation data have other values. Go on"),
            std::string::npos);
  // Without validation, the weights of the run are the same.
  EXPECT_NO_THROW(run.fit(run.model(), run.options(2)));
}

TEST(Checkpoints, AreNotGoneOnFromWithAnotherModelOfTheSameShape) {
  const Short run;
  const auto fit = [&](const char* activation, const char* loss, bool has_dropout) {
    Sequential model({layers::Dense(1, {.activation = activation, .name = "line"})});
    if (has_dropout) model.add(layers::Dropout(0.5));
    model.compile({.optimizer = "sgd", .loss = loss});
    model.fit(run.x, run.y, run.options(2));
  };
  const auto difference = [&](const char* activation, const char* loss, bool has_dropout) {
    const std::string text = message([&] { fit(activation, loss, has_dropout); });
    const std::string begin = "is of another run: ";
    const std::size_t at = text.find(begin) + begin.size();
    return text.substr(at, text.find(". Go on") - at);
  };
  fit("relu", "mse", false);
  EXPECT_NO_THROW(fit("relu", "mse", false));
  EXPECT_EQ(difference("tanh", "mse", false), "activation of the layer 'line' is \"relu\" there but \"tanh\" here");
  EXPECT_EQ(difference("relu", "mae", false), "the loss is mean_squared_error there but mean_absolute_error here");
  EXPECT_EQ(difference("relu", "mse", true), "the number of layers is 2 there but 3 here");
}

// A run keeps what is in its checkpoint, and says so where the program set something else.
TEST(Checkpoints, SayWhatIsKeptOfThem) {
  const Short run;
  const auto text_of = [&](double rate, std::uint64_t seed, std::int64_t epochs) {
    set_random_seed(seed);
    char* text = nullptr;
    std::size_t size = 0;
    std::FILE* stream = open_memstream(&text, &size);
    FitOptions options = run.options(epochs);
    options.verbose = 2;
    options.output = stream;
    options.callbacks = {callbacks::LearningRateScheduler([](std::int64_t, double old) { return old * 0.5; })};
    run.fit(run.model(optimizers::SGD({.learning_rate = rate})), options);
    std::fclose(stream);
    const std::string all(text, size);
    std::free(text);
    return all.substr(0, all.find("Epoch"));
  };
  const auto going_on = [&](const std::string& number, int epoch) {
    return "Resuming from " + run.directory + "/checkpoint-0000000" + number + ".safetensors: epoch " +
           std::to_string(epoch) + ", batch 0, update " + std::to_string(8 * (epoch - 1)) + ".\n";
  };
  EXPECT_EQ(text_of(0.25, 3, 1), "");
  // The rate that a callback has changed is not one that the program set otherwise.
  EXPECT_EQ(text_of(0.25, 3, 2), going_on("1", 2));
  EXPECT_EQ(text_of(0.5, 3, 3), going_on("2", 3) + "It keeps the learning rate 0.0625 of the checkpoint (not 0.5).\n");
  EXPECT_EQ(text_of(0.25, 77, 4), going_on("3", 4) + "It keeps the random seed 3 of the checkpoint (not 77).\n");
  EXPECT_EQ(text_of(0.5, 77, 5),
            going_on("4", 5) +
                "It keeps the learning rate 0.015625 of the checkpoint (not 0.5) and the random seed 3 "
                "of the checkpoint (not 77).\n");
}

TEST(Checkpoints, OfOneRunAtATime) {
  const Short run;
  const data::CheckpointFolder other(run.directory, 3);
  const std::string refusal = message([&] { run.fit(run.model(), run.options(1)); });
  EXPECT_TRUE(refusal.starts_with(run.directory + ": is used for checkpoints by another run, process ")) << refusal;
  EXPECT_TRUE(refusal.ends_with("; wait until it ends, or give another folder")) << refusal;
}

TEST(Checkpoints, NeedAFolderThatCanBeMade) {
  const Short run;
  const std::string file = run.folder.write("file", "text");
  FitOptions options = run.options(1);
  options.checkpoint.directory = file + "/run";
  Model model = run.model();
  EXPECT_EQ(message([&] { run.fit(model, options); }),
            file + "/run: cannot be used for checkpoints: Not a directory; give a folder that can be written");
  options = run.options(1);
  options.checkpoint.keep = 0;
  EXPECT_EQ(message([&] { run.fit(model, options); }), "fit: checkpoint.keep is 0 but must be at least 1");
}

TEST(Checkpoints, ThatAreDamagedAreLeftOut) {
  const Short run, whole;
  set_random_seed(1);
  const History expected = whole.fit(whole.model(), whole.options(4));
  set_random_seed(1);
  run.fit(run.model(), run.options(2));
  run.fit(run.model(), run.options(3));
  const std::string newest = newest_in(run.directory);
  std::filesystem::resize_file(newest, std::filesystem::file_size(newest) - 1);
  testing::internal::CaptureStderr();
  expect_equal(run.fit(run.model(), run.options(4)), expected);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "Warning: " + newest + ": is damaged or not a checkpoint; use another one; it is left out.\n");
}

TEST(Checkpoints, ThatCannotBeWrittenDoNotEndTheRun) {
  const Short run;
  FitOptions options = run.options(4);
  options.callbacks = {callbacks::LambdaCallback({.on_epoch_begin = [&](std::int64_t epoch) {
    if (epoch == 1) std::filesystem::remove_all(run.directory);
  }})};
  testing::internal::CaptureStderr();
  EXPECT_EQ(run.fit(run.model(), options)["loss"].size(), 4u);
  const std::string told = testing::internal::GetCapturedStderr();
  const std::string cause = "cannot be written: No such file or directory; check its folder and permissions";
  EXPECT_NE(told.find(cause + ". Training goes on; the next checkpoint is tried when it is due.\n"), std::string::npos);
  EXPECT_NE(told.find("Warning: the end of the run is in no checkpoint, and "), std::string::npos) << told;
  // Once when it is met, and once at the end.
  EXPECT_EQ(told.find(cause, told.find(cause, told.find(cause) + 1) + 1), std::string::npos) << told;
}

// Another run begins under the old name of the folder: each keeps its own.
TEST(Checkpoints, GoWithTheirFolderWhereverItIsMoved) {
  const Short run;
  const std::string away = std::filesystem::canonical(run.folder.path()).string() + "/away";
  FitOptions options = run.options(4);
  options.callbacks = {callbacks::LambdaCallback({.on_epoch_begin = [&](std::int64_t epoch) {
    if (epoch != 2) return;
    std::filesystem::rename(run.directory, away);
    run.fit(run.model("adam"), run.options(1));
  }})};
  testing::internal::CaptureStderr();
  run.fit(run.model(), options);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "\nWarning: " + run.directory +
                                                        " was moved or replaced. The run goes on writing its "
                                                        "checkpoints into " +
                                                        away + ".\n");
  EXPECT_EQ(run_state_of(read_checkpoint(newest_in(away)), "it").optimizer, "sgd");
  EXPECT_EQ(run_state_of(read_checkpoint(newest_in(away)), "it").position.epoch, 4);
  EXPECT_EQ(checkpoints_in(run.directory), std::vector<std::string>{"checkpoint-00000001.safetensors"});
  EXPECT_EQ(run_state_of(read_checkpoint(newest_in(run.directory)), "it").optimizer, "adam");
}

// Log and checkpoints on one full disk, or a terminal that has gone: neither ends the run.
TEST(Checkpoints, ThatCannotBeWrittenDoNotEndTheRunWhereStandardErrorCannotEither) {
  const Short run;
  FitOptions options = run.options(4);
  options.callbacks = {callbacks::LambdaCallback({.on_epoch_begin = [&](std::int64_t epoch) {
    if (epoch == 1) std::filesystem::remove_all(run.directory);
  }})};
  const int full = open("/dev/full", O_WRONLY), before = dup(2);
  dup2(full, 2);
  std::size_t epochs = 0;
  EXPECT_NO_THROW(epochs = run.fit(run.model(), options)["loss"].size());
  dup2(before, 2);
  close(full);
  close(before);
  EXPECT_EQ(epochs, 4u);
}

// Counts its epochs, as text with bytes that are not UTF-8.
struct Counter : Callback {
  std::string counted = "\xff";
  void on_train_begin(Model&) override { counted = "\xff"; }
  void on_epoch_end(Model&, std::int64_t, Logs&) override { counted += '\0'; }
  CallbackState save_state() const override { return {counted, {arange(3)}}; }
  void restore_state(const CallbackState& state) override {
    EXPECT_TRUE(state.arrays.size() == 1 && array_equal(state.arrays[0], arange(3)));
    counted = state.text;
  }
};

TEST(Checkpoints, KeepWhatCallbacksCarry) {
  const Short run;
  const auto counter = std::make_shared<Counter>();
  FitOptions options = run.options(2);
  options.callbacks = {callbacks::TerminateOnNaN(), counter};
  run.fit(run.model(), options);
  options.epochs = 5;
  run.fit(run.model(), options);
  EXPECT_EQ(counter->counted, std::string("\xff") + std::string(5, '\0'));
}

}  // namespace
