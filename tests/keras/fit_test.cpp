// SPDX-License-Identifier: Apache-2.0
// fit, evaluate and predict: what training means, whatever batches, executions and containers are used.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>

#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

// Points in three clouds, with their numbers.
struct Clouds {
  Array x, y;
};
Clouds clouds(std::int64_t count) {
  Clouds data{Array(DType::float32, {count, 4}), Array(DType::int32, {count})};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto cloud = static_cast<std::int32_t>(i * 7 % 3);
    data.y.mutable_data<std::int32_t>()[i] = cloud;
    for (std::int64_t j = 0; j < 4; ++j)
      data.x.mutable_data<float>()[i * 4 + j] =
          static_cast<float>(std::sin(static_cast<double>(i * 4 + j) * 1.7)) + (j == cloud ? 2.0f : 0.0f);
  }
  return data;
}

Sequential model_of(std::int64_t steps_per_execution = 1,
                    const Optimizer& optimizer = optimizers::SGD({.learning_rate = 0.1}), double dropout = 0.0) {
  set_random_seed(5);
  Sequential model({layers::Dense(8, {.activation = "relu"}), layers::Dropout(dropout),
                    layers::Dense(3, {.activation = "softmax"})});
  model.compile({.optimizer = optimizer,
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .steps_per_execution = steps_per_execution});
  return model;
}

void expect_same_weights(const Model& a, const Model& b, double tolerance) {
  const std::vector<Array> first = a.get_weights(), second = b.get_weights();
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(allclose(first[i], second[i], tolerance, tolerance));
}

TEST(Fit, LearnsAndReportsEveryEpoch) {
  const Clouds data = clouds(300);
  Sequential model = model_of(4);
  const History history = model.fit(data.x, data.y, {.epochs = 20, .verbose = 0});
  EXPECT_EQ(history["loss"].size(), 20u);
  EXPECT_EQ(history.epochs().back(), 19);
  EXPECT_LT(history["loss"].back(), history["loss"].front() / 3);
  const Logs logs = model.evaluate(data.x, data.y, {.verbose = 0});
  EXPECT_GT(logs["accuracy"], 0.95);
  EXPECT_EQ(message([&] { logs["acuracy"]; }), "unknown log 'acuracy'; did you mean 'accuracy'?");
}

TEST(Fit, DoesNotDependOnStepsPerExecution) {
  const Clouds data = clouds(100);
  Sequential one = model_of(1, "adam", 0.5), many = model_of(1000, "adam", 0.5);
  const History a = one.fit(data.x, data.y, {.batch_size = 8, .epochs = 3, .verbose = 0});
  const History b = many.fit(data.x, data.y, {.batch_size = 8, .epochs = 3, .verbose = 0});
  EXPECT_EQ(a["loss"], b["loss"]);
  expect_same_weights(one, many, 0);
}

TEST(Fit, TakesADatasetAsItTakesArrays) {
  const Clouds data = clouds(100);
  Sequential arrays = model_of(5), dataset = model_of(5);
  const History a = arrays.fit(data.x, data.y, {.batch_size = 16, .epochs = 2, .shuffle = false, .verbose = 0});
  const History b =
      dataset.fit(data::Dataset::from_tensor_slices({data.x, data.y}).batch(16), {.epochs = 2, .verbose = 0});
  EXPECT_EQ(a["loss"], b["loss"]);
  expect_same_weights(arrays, dataset, 0);
  const auto endless = data::Dataset::from_tensor_slices({data.x, data.y}).batch(16).repeat();
  Sequential repeated = model_of(5);
  repeated.fit(endless, {.epochs = 2, .steps_per_epoch = 7, .verbose = 0});
  expect_same_weights(arrays, repeated, 0);
  const Logs by_array = arrays.evaluate(data.x, data.y, {.verbose = 0});
  const Logs by_dataset = arrays.evaluate(data::Dataset::from_tensor_slices({data.x, data.y}).batch(7), {.verbose = 0});
  EXPECT_EQ(by_array["accuracy"], by_dataset["accuracy"]);
  EXPECT_NEAR(by_array["loss"], by_dataset["loss"], 1e-6);
}

TEST(Fit, WeighsSamplesAndClasses) {
  const Clouds data = clouds(60);
  Array doubled(DType::float32, {60});
  for (int i = 0; i < 60; ++i) doubled.mutable_data<float>()[i] = data.y.data<std::int32_t>()[i] == 1 ? 2.0f : 1.0f;
  Sequential by_sample = model_of(), by_class = model_of();
  by_sample.fit(data.x, data.y, {.epochs = 2, .verbose = 0, .sample_weight = doubled});
  by_class.fit(data.x, data.y, {.epochs = 2, .verbose = 0, .class_weight = {{1, 2.0}}});
  expect_same_weights(by_sample, by_class, 0);
}

TEST(Fit, LosesNoSampleWhenNothingDivides) {
  const Clouds data = clouds(10'000);
  Sequential tail = model_of(50);
  std::int64_t batches = 0;
  tail.fit(data.x, data.y,
           {.batch_size = 64,
            .verbose = 0,
            .callbacks = {
                callbacks::LambdaCallback({.on_train_batch_end = [&](std::int64_t, const Logs&) { ++batches; }})}});
  EXPECT_EQ(batches, 157);
  std::vector<Logs> results;
  for (std::int64_t batch_size : {32, 64, 80, 1000, 999, 50'000})
    results.push_back(tail.evaluate(data.x, data.y, {.batch_size = batch_size, .verbose = 0}));
  for (const Logs& logs : results) {
    EXPECT_EQ(logs["accuracy"], results[0]["accuracy"]);
    EXPECT_NEAR(logs["loss"], results[0]["loss"], 1e-6);
  }
  EXPECT_EQ(tail.predict(data.x, {.batch_size = 64}).shape(), Shape({10'000, 3}));
}

TEST(Fit, AsksAFunctionForTheRateBeforeEachExecution) {
  const Array x = ones({8, 1}), y = zeros({8, 1});
  const auto weight_after = [&](std::int64_t steps_per_execution, int* calls) {
    Sequential model({layers::Dense(1, {.use_bias = false, .kernel_initializer = "ones"})});
    const optimizers::LearningRate rate(Function<double()>([calls] { return 0.1 / ++*calls; }));
    model.compile({.optimizer = optimizers::SGD({.learning_rate = rate}),
                   .loss = "mse",
                   .steps_per_execution = steps_per_execution});
    model.fit(x, y, {.batch_size = 2, .epochs = 2, .verbose = 0});
    return model.get_weights()[0].item<float>();
  };
  int calls = 0;
  double expected = 1;
  for (int step = 1; step <= 8; ++step) expected -= 0.1 / step * 2 * expected;
  EXPECT_NEAR(weight_after(1, &calls), expected, 1e-6);
  EXPECT_EQ(calls, 8);
  calls = 0;
  expected = 1;
  for (int step = 0; step < 8; ++step) expected -= 0.1 / (1 + step / 4) * 2 * expected;
  EXPECT_NEAR(weight_after(4, &calls), expected, 1e-6);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(message([] {
              optimizers::schedules::WarmUp(5, optimizers::LearningRate(Function<double()>([] { return 0.1; })));
            }),
            "WarmUp: the rate after it is a function of the host; give a number or a schedule");
}

TEST(Fit, NamesWhatEvaluateGives) {
  const Tensor a = Input({1}), b = Input({1});
  const Sequential inner({layers::Dense(1)}, {.name = "inner"});
  Model model({a, b}, {inner(a), inner(b)});
  EXPECT_TRUE(model.metrics_names().empty());
  EXPECT_EQ(model.output_names(), (std::vector<std::string>{"inner", "inner_1"}));
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
  const Logs logs = model.evaluate({ones({2, 1}), ones({2, 1})}, {ones({2, 1}), ones({2, 1})}, {.verbose = 0});
  std::vector<std::string> names;
  for (const auto& [name, value] : logs) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"loss", "inner_loss", "inner_1_loss", "inner_mae", "inner_1_mae"}));
  EXPECT_EQ(model.metrics_names(), names);
}

TEST(Fit, KeepsTheWeightsWhenCompiledAgain) {
  const Clouds data = clouds(100);
  Sequential model = model_of(2);
  model.fit(data.x, data.y, {.epochs = 3, .verbose = 0});
  const Logs before = model.evaluate(data.x, data.y, {.verbose = 0});
  model.compile({.optimizer = "adam",
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .steps_per_execution = 50});
  const Logs after = model.evaluate(data.x, data.y, {.verbose = 0});
  EXPECT_EQ(before["loss"], after["loss"]);
  EXPECT_EQ(model.optimizer().iterations(), 0);
}

TEST(Fit, HoldsOutTheLastPartForValidation) {
  const Clouds data = clouds(100);
  Sequential split = model_of(), given = model_of();
  const History a = split.fit(data.x, data.y, {.epochs = 2, .verbose = 0, .validation_split = 0.25});
  const History b =
      given.fit(data.x.slice(0, 75), data.y.slice(0, 75),
                {.epochs = 2, .verbose = 0, .validation_data = {data.x.slice(75, 100), data.y.slice(75, 100)}});
  EXPECT_EQ(a["val_loss"], b["val_loss"]);
  EXPECT_EQ(a["val_accuracy"], b["val_accuracy"]);
  EXPECT_EQ(a["loss"], b["loss"]);
}

TEST(Fit, ValidatesForAsManyStepsAsAsked) {
  const Clouds data = clouds(100);
  Sequential some = model_of(), first = model_of();
  const FitOptions options{.batch_size = 10, .verbose = 0, .validation_data = {data.x, data.y}, .validation_steps = 3};
  FitOptions cut = options;
  cut.validation_data = {data.x.slice(0, 30), data.y.slice(0, 30)};
  EXPECT_EQ(some.fit(data.x, data.y, options)["val_loss"], first.fit(data.x, data.y, cut)["val_loss"]);
}

TEST(Fit, CountsPenaltiesOnceWhateverTheBatch) {
  const Clouds data = clouds(50);
  set_random_seed(1);
  Sequential model({layers::Dense(3, {.activation = "softmax", .kernel_regularizer = regularizers::L2(0.5)})});
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
  const double whole = model.evaluate(data.x, data.y, {.batch_size = 50, .verbose = 0})["loss"];
  EXPECT_NEAR(model.evaluate(data.x, data.y, {.batch_size = 7, .verbose = 0})["loss"], whole, 1e-5);
  double penalty = 0;
  const Array kernel = model.get_weights()[0];
  for (std::int64_t i = 0; i < kernel.elements(); ++i) penalty += 0.5 * std::pow(kernel.data<float>()[i], 2);
  Sequential plain({layers::Dense(3, {.activation = "softmax"})});
  plain.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
  plain.predict(data.x);
  plain.set_weights(model.get_weights());
  EXPECT_NEAR(plain.evaluate(data.x, data.y, {.verbose = 0})["loss"] + penalty, whole, 1e-5);
}

TEST(Fit, TrainsSeveralInputsAndOutputs) {
  const Clouds data = clouds(120);
  const Tensor a = Input({4}), b = Input({4});
  const Tensor joined = layers::Concatenate()({layers::Dense(6, {.activation = "relu"})(a), layers::Dense(6)(b)});
  Model model({a, b}, {layers::Dense(3, {.activation = "softmax", .name = "kind"})(joined),
                       layers::Dense(1, {.name = "size"})(joined)});
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.01}),
                 .loss = std::map<std::string, Loss>{{"kind", "sparse_categorical_crossentropy"}, {"size", "mse"}},
                 .metrics = std::map<std::string, std::vector<Metric>>{{"kind", {"accuracy"}}},
                 .loss_weights = {1.0, 0.5}});
  const Array size = sum(data.x, 1);
  const History history = model.fit({data.x, data.x}, {data.y, size}, {.epochs = 15, .verbose = 0});
  EXPECT_LT(history["loss"].back(), history["loss"].front());
  EXPECT_NEAR(history["loss"].back(), history["kind_loss"].back() + 0.5 * history["size_loss"].back(), 1e-5);
  EXPECT_TRUE(history.contains("kind_accuracy"));
  const std::vector<Array> outputs = model.predict_outputs({data.x, data.x});
  EXPECT_EQ(outputs[0].shape(), Shape({120, 3}));
  EXPECT_EQ(outputs[1].shape(), Shape({120, 1}));
  EXPECT_EQ(message([&] {
              model.predict({data.x, data.x});
            }),
            "predict: the model '" + model.name() + "' has 2 outputs; use predict_outputs()");
}

TEST(Fit, FreezesLayersThatAreNotTrainable) {
  const Clouds data = clouds(60);
  Sequential model = model_of();
  model.predict(data.x);
  model.layers()[0].set_trainable(false);
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
  const std::vector<Array> before = model.get_weights();
  model.fit(data.x, data.y, {.verbose = 0});
  EXPECT_TRUE(array_equal(before[0], model.get_weights()[0]));
  EXPECT_FALSE(array_equal(before[2], model.get_weights()[2]));
}

TEST(Fit, AcceptsTheTypesOfDataSets) {
  const Clouds data = clouds(60);
  Sequential floats = model_of(), doubles = model_of(), bytes = model_of();
  floats.fit(data.x, data.y, {.verbose = 0});
  doubles.fit(data.x.astype(DType::float64), data.y.astype(DType::int64), {.verbose = 0});
  expect_same_weights(floats, doubles, 0);
  bytes.fit(data.x, data.y.astype(DType::uint8), {.verbose = 0});
  expect_same_weights(floats, bytes, 0);
}

TEST(Fit, TrainsOnSingleBatches) {
  const Clouds data = clouds(64);
  Sequential whole = model_of(), single = model_of();
  whole.fit(data.x, data.y, {.batch_size = 32, .shuffle = false, .verbose = 0});
  single.train_on_batch(data.x.slice(0, 32), data.y.slice(0, 32));
  const Logs logs = single.train_on_batch(data.x.slice(32, 64), data.y.slice(32, 64));
  EXPECT_TRUE(logs.contains("accuracy"));
  expect_same_weights(whole, single, 0);
  EXPECT_EQ(single.optimizer().iterations(), 2);
}

TEST(Fit, UpdatesBatchStatisticsFromRealSamplesOnly) {
  const Clouds data = clouds(40);
  const auto moving_mean = [&](std::int64_t batch_size, const Array& x, const Array& y) {
    set_random_seed(2);
    Sequential model({layers::BatchNormalization({.momentum = 0.0}), layers::Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}), .loss = "sparse_categorical_crossentropy"});
    model.fit(x, y, {.batch_size = batch_size, .shuffle = false, .verbose = 0});
    return model.layers()[0].get_weight("moving_mean");
  };
  // The last batch has 8 of 32 samples; the mean is theirs alone.
  const Array padded = moving_mean(32, data.x, data.y);
  const Array alone = moving_mean(8, data.x.slice(32, 40), data.y.slice(32, 40));
  EXPECT_TRUE(allclose(padded, alone, 1e-6, 1e-6));
}

TEST(Fit, SavesAndLoadsWeights) {
  const Clouds data = clouds(40);
  Sequential model = model_of(), other = model_of();
  model.fit(data.x, data.y, {.verbose = 0});
  const std::string path = testing::TempDir() + "weights.npz";
  model.save_weights(path);
  other.predict(data.x);
  EXPECT_NE(message([&] { other.load_weights(path); }), "(nothing was thrown)");
  model.fit(data.x, data.y, {.verbose = 0});
  const std::vector<Array> later = model.get_weights();
  model.load_weights(path);
  EXPECT_FALSE(array_equal(later[0], model.get_weights()[0]));
}

TEST(FitRefuses, DataThatDoesNotFit) {
  const Clouds data = clouds(10);
  Sequential model = model_of();
  EXPECT_EQ(message([&] { model.fit(data.x, data.y.slice(0, 9), {.verbose = 0}); }),
            "fit: x has 10 samples but y has 9; each sample needs its target");
  EXPECT_EQ(message([&] { model.fit(data.x.slice(0, 0), data.y.slice(0, 0), {.verbose = 0}); }),
            "fit: x has no samples");
  EXPECT_EQ(message([&] { model.fit(data.x, data.y, {.batch_size = 0}); }),
            "fit: batch_size is 0 but must be at least 1");
  EXPECT_EQ(message([&] { model.fit(data.x, data.y, {.validation_split = 1.0}); }),
            "fit: validation_split is 1 but must be in [0, 1)");
  model.fit(data.x, data.y, {.verbose = 0});
  EXPECT_EQ(
      message([&] {
        model.fit(ones({10, 5}), data.y, {.verbose = 0});
      }),
      "fit: the model's input 'sequential_input' takes samples of shape (4,) but x has samples of shape (5,); reshape "
      "the data or change the model");
  EXPECT_EQ(message([&] { model.fit(data.x, full({10}, 3, DType::int32), {.verbose = 0}); }),
            "fit: a label is 3 but the model's output has 3 classes, so labels must be 0 to 2");
  EXPECT_EQ(
      message([&] { model.fit(data.x, utils::to_categorical(data.y, 3), {.verbose = 0}); }),
      "fit: the loss sparse_categorical_crossentropy takes class numbers, 1 for a sample, but y has samples of shape "
      "(3,); use categorical_crossentropy for one-hot targets");
  EXPECT_EQ(message([&] { model.fit(data.x, data.y, {.sample_weight = ones({9})}); }),
            "fit: sample_weight has shape [9] but there are 10 samples; give one number for each");
  EXPECT_EQ(message([&] {
              model.fit({data.x, data.x}, data.y);
            }),
            "fit: the model has 1 input but x has 2 arrays; give one array of samples for each input");
  EXPECT_EQ(message([&] {
              model.fit(data::Dataset::from_tensor_slices({data.x, data.y}).batch(2).repeat());
            }),
            "fit: the data set repeats without end; say how many steps to take of it");
  EXPECT_EQ(message([&] { utils::to_categorical(data.y, 2); }),
            "to_categorical: label 2 is 2 but there are 2 classes, so labels must be 0 to 1");
}

TEST(FitRefuses, ImagesWithoutChannels) {
  const Tensor input = Input({8, 8, 1}, {.name = "images"});
  Model model(input, layers::Dense(2)(layers::Flatten()(input)));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_EQ(message([&] {
              model.fit(ones({4, 8, 8}), ones({4, 2}));
            }),
            "fit: the model's input 'images' takes samples of shape (8, 8, 1) but x has samples of shape (8, 8); use "
            "expand_dims(x, -1)");
}

TEST(FitRefuses, ModelsThatAreNotReady) {
  Sequential model({layers::Dense(3)}, {.name = "bare"});
  EXPECT_EQ(message([&] {
              model.fit(ones({4, 2}), ones({4, 3}));
            }),
            "fit: the model 'bare' is not compiled; call compile() first");
  EXPECT_EQ(message([&] { model.optimizer(); }), "the model 'bare' is not compiled and has no optimizer");
  model.compile({.optimizer = "sgd"});
  EXPECT_EQ(message([&] {
              model.fit(ones({4, 2}), ones({4, 3}), {.verbose = 0});
            }),
            "fit: the model 'bare' was compiled without a loss; give one to compile()");
}

TEST(CompileRefuses, NamesThatNobodyKnows) {
  Sequential model({layers::Dense(3)});
  EXPECT_EQ(message([&] { model.compile({.optimizer = "adm"}); }), "unknown optimizer 'adm'; did you mean 'adam'?");
  EXPECT_EQ(message([&] { model.compile({.loss = "categorical_crossentropi"}); }),
            "unknown loss 'categorical_crossentropi'; did you mean 'categorical_crossentropy'?");
  EXPECT_EQ(message([&] { model.compile({.metrics = {"acuracy"}}); }),
            "unknown metric 'acuracy'; did you mean 'accuracy'?");
  EXPECT_EQ(message([&] { model.compile({.steps_per_execution = 0}); }),
            "compile: steps_per_execution is 0 but must be at least 1");
  EXPECT_EQ(message([&] { optimizers::SGD({.learning_rate = -1}); }),
            "sgd: the learning rate is -1 but must not be negative");
}

}  // namespace
