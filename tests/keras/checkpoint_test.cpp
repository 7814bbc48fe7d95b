// Checkpoints: a run that is interrupted anywhere, and resumed in a new model, ends bit for bit as if nothing had
// happened.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pando/pando.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "frontends/keras/files/run_state.h"
#include "tests/data/temporary_folder.h"
#include "tests/keras/checkpoint_state.h"
#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

constexpr std::int64_t samples = 77, batch_size = 4;

struct Line {
  Array x = Array(DType::float32, {samples, 5}), y = Array(DType::int32, {samples});
  Line() {
    for (std::int64_t i = 0; i < samples; ++i) {
      y.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 7 % 3);
      for (std::int64_t j = 0; j < 5; ++j)
        x.mutable_data<float>()[i * 5 + j] =
            static_cast<float>(std::sin(static_cast<double>(i * 5 + j) * 1.3)) + (j == i * 7 % 3 ? 0.7f : 0.0f);
    }
  }
};

std::string contents(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> checkpoints_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}
std::string newest_in(const std::string& folder) { return folder + "/" + checkpoints_in(folder).back(); }

// When a run is interrupted: after that many batches, by stop_training() or by an exception, or before the second
// epoch.
struct Break {
  std::int64_t stop_after = 0, throw_after = 0;
  bool between_epochs = false;
};

class Breaker : public Callback {
 public:
  explicit Breaker(const Break& when) : when_(when) {}
  void on_train_begin(Model& model) override {
    // What is restored is restored after this.
    for (Parameter& weight : model.weights()) weight.set_value(weight.value() * 2.0);
  }
  void on_epoch_begin(Model&, std::int64_t) override {
    if (++epochs_ == 2 && when_.between_epochs) throw std::runtime_error("broken off");
  }
  void on_train_batch_end(Model& model, std::int64_t, const Logs&) override {
    ++batches_;
    if (batches_ == when_.stop_after) model.stop_training();
    if (batches_ == when_.throw_after) throw std::runtime_error("broken off");
  }
  bool sees_batches() const override { return true; }

 private:
  Break when_;
  std::int64_t epochs_ = 0, batches_ = 0;
};

struct Setup {
  std::string name;
  std::function<Optimizer()> optimizer = [] { return optimizers::Adam({.learning_rate = 0.02}); };
  // 0: the host.
  int ipus = 0;
  int stages = 1;
  std::int64_t accumulation = 1, steps_per_execution = 1, epochs = 3;
  std::function<Callbacks(const std::string& folder)> callbacks = [](const std::string&) { return Callbacks(); };
  // Fits with these options but for the data.
  std::function<History(Model& model, FitOptions options)> fit = [](Model& model, FitOptions options) {
    options.validation_split = 0.2;
    return model.fit(Line().x, Line().y, options);
  };
};
void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }

Model make_model(const Setup& setup) {
  const auto in_stage = [&](int stage, const Layer& layer, const Tensor& x) {
    if (setup.stages == 1) return layer(x);
    const ipu::keras::PipelineStage scope(stage);
    return layer(x);
  };
  const Tensor input = Input({5}, {.name = "numbers"});
  Tensor x = in_stage(0, layers::Dense(8, {.activation = "relu", .name = "hidden"}), input);
  x = in_stage(0, layers::BatchNormalization({.name = "normal"}), x);
  x = in_stage(0, layers::Dropout(0.3, {.name = "drop"}), x);
  x = in_stage(1, layers::Dense(3, {.activation = "softmax", .name = "kinds"}), x);
  Model model(input, x);
  if (setup.stages > 1) model.set_pipelining_options({.gradient_accumulation_steps_per_replica = setup.accumulation});
  else if (setup.accumulation > 1)
    model.set_gradient_accumulation_options({.gradient_accumulation_steps_per_replica = setup.accumulation});
  model.compile({.optimizer = setup.optimizer(),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .steps_per_execution = setup.steps_per_execution});
  return model;
}

// The model has a unique name, and its weights are drawn from the seed.
History train(const Setup& setup, std::uint64_t seed, const std::string& folder, const Break& when = {}) {
  set_random_seed(seed);
  std::optional<ipu::IPUStrategy> strategy;
  if (setup.ipus > 0) {
    ipu::reset_ipu_configuration();
    ipu::IPUConfig config;
    config.auto_select_ipus = setup.ipus;
    config.tiles_per_ipu = 1;
    config.configure_ipu_system();
    strategy.emplace();
  }
  const auto fit = [&] {
    Model model = make_model(setup);
    Callbacks callbacks = setup.callbacks(folder);
    callbacks.push_back(std::make_shared<Breaker>(when));
    return setup.fit(
        model, {.batch_size = batch_size,
                .epochs = setup.epochs,
                .verbose = 0,
                .callbacks = callbacks,
                .checkpoint = {
                    .directory = folder + "/checkpoints", .every_executions = 1, .every_seconds = 0, .resume = true}});
  };
  if (!strategy) return fit();
  const auto scope = strategy->scope();
  return fit();
}

void expect_equal(const History& a, const History& b) {
  EXPECT_EQ(a.epochs(), b.epochs());
  ASSERT_EQ(a.end() - a.begin(), b.end() - b.begin());
  for (const plot::Curve& curve : a) EXPECT_EQ(curve.values, b[curve.name]) << curve.name;
}

bool is_finished(const std::string& folder) {
  return run_state_of(read_checkpoint(newest_in(folder)), "it").position.finished_of.has_value();
}

class Resumed : public testing::TestWithParam<Setup> {};

TEST_P(Resumed, EndsAsIfNothingHadHappened) {
  const TemporaryFolder whole;
  const History expected = train(GetParam(), 1, whole.path());
  for (const Break& when :
       {Break{.stop_after = 7}, Break{.stop_after = 10}, Break{.throw_after = 17}, Break{.between_epochs = true}}) {
    const TemporaryFolder broken;
    const std::string folder = broken.path() + "/checkpoints";
    // Only the first run begins with the same random numbers.
    std::uint64_t runs = 1;
    History history;
    for (; runs == 1 || !is_finished(folder); ++runs) {
      ASSERT_LT(runs, 100u);
      try {
        history = train(GetParam(), runs, broken.path(), when);
      } catch (const std::runtime_error& error) {
        ASSERT_STREQ(error.what(), "broken off");
      }
    }
    EXPECT_GT(runs, 2u);
    expect_equal(history, expected);
    EXPECT_TRUE(checkpoint_state(newest_in(folder)) == checkpoint_state(newest_in(whole.path() + "/checkpoints")));
    for (const char* file : {"/log.csv", "/best.npz"})
      EXPECT_TRUE(contents(broken.path() + file) == contents(whole.path() + file)) << file;
    // A finished run has nothing left to do.
    expect_equal(train(GetParam(), 100, broken.path()), expected);
  }
}

data::Dataset slices() { return data::Dataset::from_tensor_slices({Line().x, Line().y}); }
data::Dataset doubled(const data::Dataset& dataset) {
  return dataset.map([](const data::Element& element) { return data::Element{element[0] * 2.0, element[1]}; });
}

Callbacks all_callbacks(const std::string& folder) {
  return {
      callbacks::CSVLogger(folder + "/log.csv"),
      callbacks::ModelCheckpoint(folder + "/best.npz", {.monitor = "val_loss", .save_best_only = true}),
      callbacks::ReduceLROnPlateau({.monitor = "loss", .factor = 0.5, .patience = 1, .min_delta = 0.05}),
      callbacks::LearningRateScheduler([](std::int64_t, double rate) { return rate * 0.9; }),
      callbacks::EarlyStopping({.monitor = "val_loss", .min_delta = 0.2, .patience = 2, .restore_best_weights = true})};
}

const std::vector<Setup> setups = {
    {.name = "adam"},
    {.name = "momentum",
     .optimizer = [] { return optimizers::SGD({.learning_rate = 0.1, .momentum = 0.9}); },
     .steps_per_execution = 4},
    {.name = "rmsprop", .optimizer = [] { return optimizers::RMSprop({.momentum = 0.5}); }, .steps_per_execution = 7},
    {.name = "nadam", .optimizer = [] { return optimizers::Nadam(); }},
    {.name = "schedule",
     .optimizer =
         [] {
           return optimizers::Adam({.learning_rate = optimizers::schedules::CosineDecay(
                                        {.initial_learning_rate = 0.05, .decay_steps = 40})});
         }},
    {.name = "callbacks", .epochs = 8, .callbacks = all_callbacks},
    {.name = "callbacks_and_executions", .steps_per_execution = 5, .epochs = 8, .callbacks = all_callbacks},
    {.name = "replicas", .ipus = 2, .steps_per_execution = 4},
    {.name = "accumulation", .accumulation = 3, .steps_per_execution = 3},
    {.name = "pipeline", .ipus = 2, .stages = 2, .accumulation = 4, .steps_per_execution = 8},
    {.name = "replicated_pipeline", .ipus = 4, .stages = 2, .accumulation = 2, .steps_per_execution = 4},
    {.name = "dataset",
     .fit =
         [](Model& model, FitOptions options) {
           options.validation_data = slices().shuffle(9).take(20).batch(6);
           return model.fit(slices().shuffle(30).batch(batch_size).prefetch(2), options);
         }},
    {.name = "endless_dataset",
     .fit =
         [](Model& model, FitOptions options) {
           options.steps_per_epoch = 13;
           options.validation_data = slices().shuffle(9).repeat().batch(6);
           options.validation_steps = 3;
           return model.fit(doubled(slices().shuffle(30).repeat()).batch(batch_size), options);
         }},
    {.name = "cached_dataset",
     .fit = [](Model& model,
               FitOptions options) { return model.fit(slices().shuffle(samples).cache().batch(batch_size), options); }},
    {.name = "dataset_of_unknown_size",
     .fit =
         [](Model& model, FitOptions options) {
           const auto odd = [](const data::Element& element) { return element[1].item<int>() != 1; };
           return model.fit(slices().filter(odd).shuffle(samples).batch(batch_size), options);
         }},
    {.name = "one_shuffle_for_two", .fit = [](Model& model, FitOptions options) {
       const data::Dataset all = slices().shuffle(samples);
       options.validation_data = all.take(17).batch(batch_size);
       return model.fit(all.skip(17).batch(batch_size), options);
     }}};

INSTANTIATE_TEST_SUITE_P(Runs, Resumed, testing::ValuesIn(setups), [](const auto& setup) { return setup.param.name; });

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
  EXPECT_EQ(message([&] { run.fit(run.model(), run.options(1)); }),
            run.directory + ": is used for checkpoints by another run; wait until it ends, or give another folder");
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
