// SPDX-License-Identifier: Apache-2.0
// A run that is interrupted anywhere, and resumed in a new model, ends bit for bit as if nothing had happened.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "tests/contents.h"
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
  // Of the IPUs; empty: the one under test.
  std::string backend = {};
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
    config.backend = setup.backend;
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

Setup one_ipu_of(const std::string& backend) {
  return {.name = backend, .ipus = 1, .backend = backend, .steps_per_execution = 4};
}

// The one under test (PANDO_BACKEND) and another one.
TEST(ResumedRuns, GoOnOnAnotherBackend) {
  const std::string tested = Device().backend(), other = tested == "cpu" ? "far" : "cpu";
  // The backend "far" has the kernels of the CPU.
  const double tolerance = tested == "cuda" ? 1e-3 : 0;
  for (const auto& [first, second] : {std::pair(tested, other), std::pair(other, tested)}) {
    const TemporaryFolder whole, moved;
    const History expected = train(one_ipu_of(first), 1, whole.path());
    train(one_ipu_of(first), 1, moved.path(), {.stop_after = 30});
    EXPECT_FALSE(is_finished(moved.path() + "/checkpoints"));
    // The weights, the masks of dropout and the order of samples go on, though this seed is another one.
    const History history = train(one_ipu_of(second), 2, moved.path());
    EXPECT_TRUE(is_finished(moved.path() + "/checkpoints"));
    for (const char* name : {"loss", "val_loss"}) {
      ASSERT_EQ(history[name].size(), expected[name].size());
      for (std::size_t epoch = 0; epoch < history[name].size(); ++epoch)
        EXPECT_NEAR(history[name][epoch], expected[name][epoch], tolerance) << name << ", from " << first;
    }
  }
  ipu::reset_ipu_configuration();
}

// A run that was stopped near the end of an epoch, and goes on with slow steps.
TEST(ResumedRuns, ShowTheTimeOfTheirOwnSteps) {
  const TemporaryFolder folder;
  const auto fit = [&](std::int64_t stop_after, std::chrono::milliseconds pause, std::FILE* output) {
    set_random_seed(1);
    Model model = make_model({});
    std::int64_t batches = 0;
    model.fit(Line().x, Line().y,
              {.batch_size = batch_size,
               .verbose = output == nullptr ? 0 : 2,
               .output = output == nullptr ? stdout : output,
               .callbacks = {callbacks::LambdaCallback({.on_train_batch_end =
                                                            [&](std::int64_t, const Logs&) {
                                                              if (++batches == stop_after) model.stop_training();
                                                              std::this_thread::sleep_for(pause);
                                                            }})},
               .checkpoint = {.directory = folder.path() + "/checkpoints", .resume = true}});
    return batches;
  };
  EXPECT_EQ(fit(18, {}, nullptr), 18);
  std::FILE* output = std::tmpfile();
  EXPECT_EQ(fit(0, std::chrono::milliseconds(200), output), 2);
  std::rewind(output);
  char text[2000] = {};
  const std::string shown(text, std::fread(text, 1, sizeof text, output)), before = "20/20 - ";
  std::fclose(output);
  const std::size_t at = shown.find("s - ", shown.find(before)) + 4;
  // "200ms/step", or more on a slow machine: two steps took 400 ms, and not twenty.
  EXPECT_NE(shown.find(before), std::string::npos) << shown;
  EXPECT_TRUE(shown.compare(shown.find("s/step", at) - 1, 1, "m") != 0 || std::stod(shown.substr(at)) >= 200) << shown;
}

}  // namespace
