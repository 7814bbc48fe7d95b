// SPDX-License-Identifier: Apache-2.0
// The examples of the page "Keras training": losses, metrics, optimizers, callbacks, options and files.
#include <gtest/gtest.h>
#include <pando/pando.h>
#include <unistd.h>

#include <filesystem>

namespace {

using namespace pando;
namespace layers = pando::keras::layers;
namespace losses = pando::keras::losses;
namespace metrics = pando::keras::metrics;
namespace optimizers = pando::keras::optimizers;
namespace schedules = pando::keras::optimizers::schedules;
namespace callbacks = pando::keras::callbacks;
namespace initializers = pando::keras::initializers;
namespace regularizers = pando::keras::regularizers;

keras::Sequential digits_model() {
  return keras::Sequential({layers::Flatten(), layers::Rescaling(1.0 / 255), layers::Dense(16, {.activation = "relu"}),
                            layers::Dense(10, {.activation = "softmax"})});
}

class KerasTraining : public testing::Test {
 protected:
  void SetUp() override {
    folder = testing::TempDir() + "pando_docs_" + std::to_string(getpid());
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    before = std::filesystem::current_path();
    std::filesystem::current_path(folder);
  }
  void TearDown() override {
    std::filesystem::current_path(before);
    std::filesystem::remove_all(folder);
  }
  std::string folder;
  std::filesystem::path before;
  keras::datasets::Splits digits = keras::datasets::synthetic_digits::load_data(200, 40);
};

TEST_F(KerasTraining, CompileFitEvaluatePredict) {
  const auto& [train, test] = digits;
  keras::Sequential model = digits_model();
  //! [compile_and_fit]
  keras::CompileOptions how{.optimizer = "adam",
                            .loss = "sparse_categorical_crossentropy",
                            .metrics = {"accuracy"},
                            .steps_per_execution = 10};
  model.compile(how);
  keras::FitOptions options{.batch_size = 16, .epochs = 2, .verbose = 0, .validation_split = 0.1};
  keras::History history = model.fit(train.x, train.y, options);
  std::vector<double> losses = history["val_loss"];

  keras::Logs logs = model.evaluate(test.x, test.y, {.verbose = 0});
  double accuracy = logs["accuracy"];
  Array probabilities = model.predict(test.x);
  //! [compile_and_fit]
  EXPECT_EQ(losses.size(), 2u);
  EXPECT_GE(accuracy, 0.0);
  EXPECT_EQ(probabilities.shape(), (Shape{40, 10}));

  keras::EvaluateOptions quietly{.batch_size = 10, .verbose = 0};
  keras::PredictOptions in_tens{.batch_size = 10};
  EXPECT_EQ(model.evaluate(test.x, test.y, quietly)["accuracy"], accuracy);
  EXPECT_TRUE(allclose(model.predict(test.x, in_tens), probabilities));

  keras::ValidationData validation(test.x, test.y);
  model.fit(train.x, train.y, {.verbose = 0, .class_weight = {{0, 2.0}}, .validation_data = validation});
  keras::Model::ExplainOptions sizes{.samples = 200, .batch_size = 16};
  EXPECT_NE(model.explain(sizes).find("Micro-batch"), std::string::npos);
  // How long an update of 1,000 workers would take, with messages of 20 us and 10 GB/s.
  sizes.workers = {1000};
  sizes.step_seconds = 0.002;
  sizes.network_latency = 20e-6;
  sizes.network_bandwidth = 10e9;
  EXPECT_NE(model.explain(sizes).find("    1,000 "), std::string::npos);

  keras::ModelOptions named{.name = "small"};
  keras::Sequential other({layers::Dense(1)}, named);
  EXPECT_EQ(other.name(), "small");
  Array one_hot = keras::utils::to_categorical(test.y, 10);
  EXPECT_EQ(one_hot.shape(), (Shape{40, 10}));
}

TEST_F(KerasTraining, Losses) {
  std::vector<losses::Loss> all = {
      losses::CategoricalCrossentropy({.from_logits = true, .label_smoothing = 0.1}),
      losses::BinaryCrossentropy({.from_logits = false}),
      losses::SparseCategoricalCrossentropy({.from_logits = true}),
      losses::MeanSquaredError(),
      losses::MeanAbsoluteError(),
      losses::Huber(0.5),
      losses::LogCosh(),
      losses::Hinge(),
      losses::Poisson(),
      losses::KLDivergence(),
  };
  keras::Losses for_two_outputs = {"mse", losses::Huber(2.0)};
  //! [own_loss]
  losses::Loss largest_error("largest_error", [](Value prediction, Value target) {
    return ops::reduce_max(ops::abs(prediction - target), {.axes = {-1}});
  });
  //! [own_loss]
  all.push_back(largest_error);
  //! [targets]
  // Targets of another shape than the output: only the means of both count.
  losses::Loss same_mean(
      "same_mean",
      [](Value prediction, Value target) {
        return ops::square(ops::reduce_mean(prediction, {.axes = {-1}}) - ops::reduce_mean(target, {.axes = {-1}}));
      },
      losses::Targets::any);
  //! [targets]
  keras::Sequential of_any({layers::Dense(3, {.activation = "softmax"})});
  of_any.compile({.optimizer = "sgd", .loss = same_mean});
  EXPECT_NEAR(of_any.train_on_batch(ones({2, 4}), full({2, 5}, 1.0))["loss"], 4.0 / 9, 1e-5);
  EXPECT_EQ(same_mean.targets(), losses::Targets::any);
  for (const losses::Loss& loss : all) {
    keras::Sequential model({layers::Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = "sgd", .loss = loss});
    const Array y = loss.takes_labels() ? ones({2}, DType::int32) : full({2, 3}, 1.0 / 3);
    EXPECT_GE(model.train_on_batch(ones({2, 4}), y)["loss"], -1e-6) << loss.name();
  }
  EXPECT_EQ(for_two_outputs.list().size(), 2u);
}

TEST_F(KerasTraining, Metrics) {
  std::vector<metrics::Metric> of_classes = {metrics::Accuracy(), metrics::CategoricalAccuracy(),
                                             metrics::TopKCategoricalAccuracy(2)};
  std::vector<metrics::Metric> of_labels = {metrics::SparseCategoricalAccuracy(),
                                            metrics::SparseTopKCategoricalAccuracy(3)};
  std::vector<metrics::Metric> of_numbers = {metrics::BinaryAccuracy(0.3), metrics::MeanSquaredError(),
                                             metrics::MeanAbsoluteError()};
  keras::MetricList by_output = std::map<std::string, std::vector<keras::Metric>>{{"label", {"accuracy"}}};
  EXPECT_EQ(by_output.by_name().size(), 1u);
  const auto logs = [&](const std::vector<metrics::Metric>& list, const char* loss, const Array& y) {
    keras::Sequential model({layers::Dense(5, {.activation = "softmax"})});
    model.compile({.optimizer = "sgd", .loss = loss, .metrics = list});
    return model.train_on_batch(ones({2, 4}), y).entries().size();
  };
  EXPECT_EQ(logs(of_classes, "categorical_crossentropy", zeros({2, 5})), 4u);
  EXPECT_EQ(logs(of_labels, "sparse_categorical_crossentropy", zeros({2}, DType::int32)), 3u);
  EXPECT_EQ(logs(of_numbers, "mse", zeros({2, 5})), 4u);
}

TEST_F(KerasTraining, OptimizersAndSchedules) {
  std::vector<keras::Optimizer> all = {
      optimizers::SGD({.learning_rate = 0.01, .momentum = 0.9, .nesterov = true}),
      optimizers::Adam({.learning_rate = 0.001, .clipnorm = 1.0}),
      optimizers::Nadam({.beta_1 = 0.8}),
      optimizers::AdamW({.learning_rate = 0.001, .weight_decay = 0.01}),
      optimizers::RMSprop({.rho = 0.95, .momentum = 0.5, .centered = true}),
      optimizers::Adagrad({.learning_rate = 0.1, .initial_accumulator_value = 0.01}),
  };
  std::vector<optimizers::LearningRate> rates = {
      schedules::ExponentialDecay({.initial_learning_rate = 0.1, .decay_steps = 100, .staircase = true}),
      schedules::CosineDecay({.initial_learning_rate = 0.1, .decay_steps = 1000}),
      schedules::PolynomialDecay({.initial_learning_rate = 0.1, .end_learning_rate = 0.01, .power = 2.0}),
      schedules::PiecewiseConstantDecay({100, 200}, {0.1, 0.01, 0.001}),
      schedules::WarmUp(50, schedules::CosineDecay({.initial_learning_rate = 0.1, .decay_steps = 950})),
  };
  // A function of the program, which is called before each execution.
  rates.emplace_back(Function<double()>([] { return 0.01; }));
  for (const optimizers::LearningRate& rate : rates) all.push_back(optimizers::SGD({.learning_rate = rate}));
  for (const keras::Optimizer& optimizer : all) {
    keras::Sequential model({layers::Dense(1)});
    model.compile({.optimizer = optimizer, .loss = "mse"});
    model.train_on_batch(ones({2, 3}), ones({2, 1}));
    EXPECT_EQ(optimizer.iterations(), 1);
    // Goes on from the batch before: the loss is the mean over both. The first sample has no weight in the second.
    const keras::BatchOptions weighed{.sample_weight = Array::of<float>({0, 2}, {2}), .reset_metrics = false};
    EXPECT_GT(model.train_on_batch(ones({2, 3}), ones({2, 1}), weighed)["loss"], 0);
  }
}

TEST_F(KerasTraining, InitializersAndRegularizers) {
  std::vector<keras::Initializer> all = {
      initializers::Zeros(),
      initializers::Ones(),
      initializers::Constant(0.1),
      initializers::Identity(),
      initializers::Orthogonal(2.0),
      initializers::RandomNormal({.mean = 0.0, .stddev = 0.1}),
      initializers::TruncatedNormal({.stddev = 0.02}),
      initializers::RandomUniform({.minval = -1.0, .maxval = 1.0}),
      initializers::VarianceScaling({.scale = 2.0, .mode = "fan_out", .distribution = "uniform"}),
      initializers::GlorotUniform(),
      initializers::GlorotNormal(),
      initializers::HeUniform(),
      initializers::HeNormal(),
      initializers::LecunUniform(),
      initializers::LecunNormal(),
  };
  for (const keras::Initializer& initializer : all) EXPECT_EQ(initializer({3, 3}, 7).shape(), (Shape{3, 3}));
  layers::Dense sparse(8, {.kernel_regularizer = regularizers::L1(1e-3), .bias_regularizer = regularizers::L2()});
  layers::Dense both(8, {.kernel_regularizer = regularizers::L1L2(1e-4, 1e-3)});
  keras::Regularizer by_name = "l2";
  EXPECT_EQ(by_name.l2(), 0.01);
  keras::Activation twice("twice", [](Value x) { return x * 2.0; });
  layers::Dense with_own_activation(4, {.activation = twice});
  EXPECT_FALSE(twice.is_named());
}

//! [own_callback]
struct PrintLoss : keras::Callback {
  void on_epoch_end(keras::Model&, std::int64_t epoch, keras::Logs& logs) override {
    std::printf("epoch %d: %.3f\n", static_cast<int>(epoch), logs["loss"]);
  }
};
//! [own_callback]

TEST_F(KerasTraining, Callbacks) {
  const auto& [train, test] = digits;
  keras::Sequential model = digits_model();
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  keras::Callbacks list = {
      callbacks::ModelCheckpoint("best-{epoch:02d}-{val_loss:.3f}.npz", {.save_best_only = true}),
      callbacks::EarlyStopping({.patience = 3, .restore_best_weights = true}),
      callbacks::ReduceLROnPlateau({.monitor = "val_accuracy", .factor = 0.5, .patience = 2}),
      callbacks::LearningRateScheduler([](std::int64_t epoch, double rate) { return epoch < 5 ? rate : rate * 0.9; }),
      callbacks::CSVLogger("log.csv", {.append = true}),
      callbacks::TerminateOnNaN(),
      callbacks::LambdaCallback({.on_epoch_end = [](std::int64_t, const keras::Logs& logs) { (void)logs["loss"]; }}),
      std::make_shared<PrintLoss>(),
  };
  keras::History history =
      model.fit(train.x, train.y, {.epochs = 2, .verbose = 0, .validation_split = 0.2, .callbacks = list});
  EXPECT_EQ(history.epochs().size(), 2u);
  EXPECT_TRUE(std::filesystem::exists("log.csv"));

  //! [callback_state]
  struct Patience : keras::Callback {
    int waited = 0;
    keras::CallbackState save_state() const override { return {std::to_string(waited)}; }
    void restore_state(const keras::CallbackState& state) override { waited = std::stoi(state.text); }
  };
  //! [callback_state]
  EXPECT_EQ(Patience().save_state().text, "0");
}

TEST_F(KerasTraining, FilesCheckpointsAndReports) {
  const auto& [train, test] = digits;
  keras::Sequential model = digits_model();
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  //! [checkpoint]
  keras::CheckpointOptions checkpoint{.directory = "run", .every_seconds = 10, .resume = true};
  keras::History history =
      model.fit(train.x, train.y, {.verbose = 0, .checkpoint = checkpoint, .record_timeline = true});
  //! [checkpoint]
  //! [saving]
  keras::probe_save("digits");  // throws before the training rather than after it
  model.save("digits");
  keras::Model again = keras::load_model("digits");
  keras::Model fresh = keras::model_from_json(model.to_json());
  model.save_weights("digits.safetensors");
  again.load_weights("digits.safetensors");
  // The same connections with layers of your choice, here those of the model itself.
  keras::Model twin = keras::clone_model(model, [](const keras::Layer& layer) { return layer; });
  std::string options = keras::layer_config(model.layers().back());  // {"name": ..., "units": 10, ...}
  //! [saving]
  EXPECT_EQ(twin.get_weights().size(), model.get_weights().size());
  EXPECT_NE(options.find("\"units\""), options.npos);
  EXPECT_EQ(fresh.layers().size(), again.layers().size());
  //! [report]
  keras::ReportOptions about{.title = "Digits", .samples = 200};
  report::save(keras::make_report(model, history, test.x, test.y, about), "run.html");
  plot::training_curves(history).save("curves.svg");
  //! [report]
  EXPECT_TRUE(std::filesystem::exists("run.html"));
}

TEST_F(KerasTraining, DataSets) {
  keras::datasets::LoadOptions from{.directory = "none"};
  EXPECT_THROW(keras::datasets::mnist::load_data(from), Error);
  EXPECT_THROW(keras::datasets::fashion_mnist::load_data(from), Error);
  EXPECT_EQ(digits.train.x.shape(), (Shape{200, 28, 28}));
}

}  // namespace
