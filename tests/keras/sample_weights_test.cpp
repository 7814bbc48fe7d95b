// SPDX-License-Identifier: Apache-2.0
// Weights of samples and classes: the loss is the sum of weight times loss, divided by the number of samples. A sample
// of weight 0 is one of them; a copy that fills up a batch is not. Everything is compared with the formulas in float64.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>

#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

struct WeighedSamples {
  std::vector<double> x, y, weight;
  Array column(const std::vector<double>& values) const {
    Array array(DType::float32, {static_cast<std::int64_t>(values.size()), 1});
    for (std::size_t i = 0; i < values.size(); ++i) array.mutable_data<float>()[i] = static_cast<float>(values[i]);
    return array;
  }
  Array weights() const { return column(weight).reshape({static_cast<std::int64_t>(weight.size())}); }
};

// Every third weight is 0, and so are all from `zero_from` to `zero_to`.
WeighedSamples weighed_samples(int count, int zero_from = 0, int zero_to = 0) {
  WeighedSamples samples;
  for (int i = 0; i < count; ++i) {
    samples.x.push_back(std::sin(i * 1.3) + 0.25);
    samples.y.push_back(std::cos(i * 0.7));
    samples.weight.push_back(i % 3 == 0 || (i >= zero_from && i < zero_to) ? 0.0 : 0.5 + i % 4);
  }
  return samples;
}

// y = x * first * second, with a line_penalty on the first.
struct WeightedLine {
  double first = 0.8, second = -0.6;
};
constexpr double line_rate = 0.05, line_penalty = 0.01;

struct LineEpoch {
  WeightedLine line;
  double loss = 0, error = 0;
};

struct DividedBy {
  int stages = 1;
  int replicas = 1;
  std::int64_t accumulation = 1;
  ipu::GradientReduction reduction = ipu::GradientReduction::Sum;
};

// One epoch of batches of four: the gradients of an update are those of the means of its batches, added up, or those of
// the mean over all of its samples.
LineEpoch epoch_of_line(const WeighedSamples& samples, WeightedLine line, const DividedBy& division) {
  LineEpoch epoch;
  const std::size_t count = samples.x.size(), of_batch = 4;
  const std::size_t of_update = of_batch * static_cast<std::size_t>(division.replicas * division.accumulation);
  const bool divided = division.stages * division.replicas * division.accumulation > 1;
  const bool is_mean = divided && division.reduction == ipu::GradientReduction::Mean;
  for (std::size_t begin = 0; begin < count; begin += of_update) {
    const std::size_t end = std::min(count, begin + of_update);
    const WeightedLine before = line;
    double first = 0, second = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t batch_begin = i / of_batch * of_batch;
      const auto samples_in_batch = static_cast<double>(std::min(count, batch_begin + of_batch) - batch_begin);
      const double scale = 1.0 / (is_mean ? static_cast<double>(end - begin) : samples_in_batch);
      const double difference = samples.x[i] * before.first * before.second - samples.y[i];
      const double slope = 2 * samples.weight[i] * difference * scale;
      first += slope * samples.x[i] * before.second;
      second += slope * samples.x[i] * before.first;
      epoch.loss += samples.weight[i] * difference * difference + line_penalty * before.first * before.first;
      epoch.error += std::abs(difference);
    }
    const auto batches = static_cast<double>((end - begin + of_batch - 1) / of_batch);
    first += 2 * line_penalty * before.first * (is_mean ? 1.0 : batches);
    line.first -= line_rate * first;
    line.second -= line_rate * second;
  }
  epoch.line = line;
  epoch.loss /= static_cast<double>(count);
  epoch.error /= static_cast<double>(count);
  return epoch;
}

Model line_model(const DividedBy& division = {}) {
  const Tensor input = Input({1});
  const auto in_stage = [&](int stage, const std::function<Tensor()>& call) {
    if (division.stages == 1) return call();
    const ipu::keras::PipelineStage scope(stage);
    return call();
  };
  const Tensor hidden = in_stage(0, [&] {
    return layers::Dense(1, {.use_bias = false, .kernel_regularizer = regularizers::L2(line_penalty)})(input);
  });
  const Tensor output = in_stage(1, [&] { return layers::Dense(1, {.use_bias = false})(hidden); });
  Model model(input, output);
  if (division.stages > 1)
    model.set_pipelining_options({.gradient_accumulation_steps_per_replica = division.accumulation});
  else if (division.accumulation > 1)
    model.set_gradient_accumulation_options({.gradient_accumulation_steps_per_replica = division.accumulation});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = line_rate}),
                 .loss = "mse",
                 .metrics = {"mae"},
                 .steps_per_execution = 2,
                 .reduction = division.reduction});
  const WeightedLine start;
  model.set_weights({full({1, 1}, start.first), full({1, 1}, start.second)});
  return model;
}

void expect_line(const Model& model, const Logs& logs, const LineEpoch& expected) {
  EXPECT_NEAR(logs["loss"], expected.loss, 1e-5);
  EXPECT_NEAR(logs["mae"], expected.error, 1e-5);
  EXPECT_NEAR(model.get_weights()[0].item<float>(), expected.line.first, 1e-5);
  EXPECT_NEAR(model.get_weights()[1].item<float>(), expected.line.second, 1e-5);
}

Logs last_of_history(const History& history) {
  Logs logs;
  for (const auto& [name, values] : history) logs.set(name, values.back());
  return logs;
}

TEST(SampleWeights, OfZeroCountInTheMean) {
  // Batches of 4, 4, 4 and 2; the second has only weights of 0.
  const WeighedSamples samples = weighed_samples(14, 4, 8);
  Model model = line_model();
  const History history =
      model.fit(samples.column(samples.x), samples.column(samples.y),
                {.batch_size = 4, .shuffle = false, .verbose = 0, .sample_weight = samples.weights()});
  expect_line(model, last_of_history(history), epoch_of_line(samples, WeightedLine(), {}));
}

TEST(SampleWeights, OfZeroCountInDataSetsAndSingleBatches) {
  const WeighedSamples samples = weighed_samples(14, 4, 8);
  Model from_dataset = line_model(), by_batch = line_model();
  const auto dataset =
      data::Dataset::from_tensor_slices({samples.column(samples.x), samples.column(samples.y), samples.weights()});
  const LineEpoch expected = epoch_of_line(samples, WeightedLine(), {});
  expect_line(from_dataset, last_of_history(from_dataset.fit(dataset.batch(4), {.verbose = 0})), expected);
  Logs logs;
  for (std::int64_t first = 0; first < 14; first += 4) {
    const std::int64_t last = std::min<std::int64_t>(14, first + 4);
    logs = by_batch.train_on_batch(
        samples.column(samples.x).slice(first, last), samples.column(samples.y).slice(first, last),
        {.sample_weight = samples.weights().slice(first, last), .reset_metrics = first == 0});
  }
  expect_line(by_batch, logs, expected);
}

TEST(SampleWeights, OfZeroCountInEvaluationAndValidation) {
  const WeighedSamples samples = weighed_samples(14, 4, 8);
  const Array x = samples.column(samples.x), y = samples.column(samples.y);
  Model model = line_model();
  double loss = 0, error = 0;
  const WeightedLine line;
  for (std::size_t i = 0; i < samples.x.size(); ++i) {
    const double difference = samples.x[i] * line.first * line.second - samples.y[i];
    loss += samples.weight[i] * difference * difference / 14;
    error += std::abs(difference) / 14;
  }
  loss += line_penalty * line.first * line.first;
  const Logs logs = model.evaluate(x, y, {.batch_size = 4, .verbose = 0, .sample_weight = samples.weights()});
  EXPECT_NEAR(logs["loss"], loss, 1e-6);
  EXPECT_NEAR(logs["mae"], error, 1e-6);
  const Logs of_batch = model.test_on_batch(x, y, {.sample_weight = samples.weights()});
  EXPECT_NEAR(of_batch["loss"], loss, 1e-6);
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}), .loss = "mse", .metrics = {"mae"}});
  const History history =
      model.fit(x, y, {.batch_size = 4, .verbose = 0, .validation_data = {x, y, samples.weights()}});
  EXPECT_NEAR(history["val_loss"].back(), loss, 1e-6);
  EXPECT_NEAR(history["val_mae"].back(), error, 1e-6);
}

TEST(SampleWeights, OfZeroCountHoweverAnUpdateIsDivided) {
  for (const auto reduction : {ipu::GradientReduction::Sum, ipu::GradientReduction::Mean})
    for (const DividedBy& division :
         {DividedBy{.replicas = 2}, DividedBy{.accumulation = 3}, DividedBy{.replicas = 2, .accumulation = 2},
          DividedBy{.stages = 2, .accumulation = 4}, DividedBy{.stages = 2, .replicas = 2, .accumulation = 2}}) {
      DividedBy divided = division;
      divided.reduction = reduction;
      ipu::reset_ipu_configuration();
      ipu::IPUConfig config;
      config.auto_select_ipus = divided.stages * divided.replicas;
      config.tiles_per_ipu = 1;
      config.configure_ipu_system();
      const ipu::IPUStrategy strategy;
      const auto scope = strategy.scope();
      // Batches of 4 in updates of several; one micro-batch has only weights of 0, and the last has 2 samples.
      const WeighedSamples samples = weighed_samples(38, 8, 12);
      Model model = line_model(divided);
      const History history =
          model.fit(samples.column(samples.x), samples.column(samples.y),
                    {.batch_size = 4, .shuffle = false, .verbose = 0, .sample_weight = samples.weights()});
      SCOPED_TRACE(testing::Message() << divided.stages << " stages, " << divided.replicas << " replicas, accumulation "
                                      << divided.accumulation << ", mean "
                                      << (reduction == ipu::GradientReduction::Mean));
      expect_line(model, last_of_history(history), epoch_of_line(samples, WeightedLine(), divided));
    }
  ipu::reset_ipu_configuration();
}

TEST(SampleWeights, OfZeroLeaveBatchStatisticsAlone) {
  const WeighedSamples samples = weighed_samples(6);
  Sequential model({layers::BatchNormalization({.momentum = 0.0}), layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}), .loss = "mse"});
  model.fit(samples.column(samples.x), samples.column(samples.y),
            {.batch_size = 6, .verbose = 0, .sample_weight = samples.weights()});
  double mean = 0;
  for (const double x : samples.x) mean += x / 6;
  EXPECT_NEAR(model.layers()[0].get_weight("moving_mean").item<float>(), mean, 1e-6);
}

TEST(ClassWeights, OfZeroCountInTheMean) {
  WeighedSamples samples = weighed_samples(10);
  for (std::size_t i = 0; i < 10; ++i) {
    samples.y[i] = static_cast<double>(i % 3);
    samples.weight[i] = i % 3 == 1 ? 0.0 : i % 3 == 2 ? 2.5 : 1.0;
  }
  const FitOptions options{.batch_size = 4, .shuffle = false, .verbose = 0, .class_weight = {{1, 0.0}, {2, 2.5}}};
  Model model = line_model();
  const History history = model.fit(samples.column(samples.x), samples.column(samples.y), options);
  expect_line(model, last_of_history(history), epoch_of_line(samples, WeightedLine(), {}));
  const auto part = [](std::vector<double>& values) { values.resize(4); };
  part(samples.x), part(samples.y), part(samples.weight);
  Model single = line_model();
  const Logs logs = single.train_on_batch(samples.column(samples.x), samples.column(samples.y),
                                          {.class_weight = options.class_weight});
  expect_line(single, logs, epoch_of_line(samples, WeightedLine(), {}));
}

TEST(SingleBatches, GoOnWithTheMeansIfAsked) {
  const WeighedSamples samples = weighed_samples(8);
  const Array x = samples.column(samples.x), y = samples.column(samples.y);
  Model model = line_model();
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}), .loss = "mse", .metrics = {"mae"}});
  const Logs all = model.test_on_batch(x, y);
  const Logs first = model.train_on_batch(x.slice(0, 3), y.slice(0, 3));
  Logs both = model.train_on_batch(x.slice(3, 8), y.slice(3, 8), {.reset_metrics = false});
  EXPECT_NEAR(both["loss"], all["loss"], 1e-6);
  EXPECT_NEAR(both["mae"], all["mae"], 1e-6);
  EXPECT_NEAR(model.train_on_batch(x.slice(0, 3), y.slice(0, 3))["mae"], first["mae"], 1e-12);
  both = model.test_on_batch(x.slice(3, 8), y.slice(3, 8), {.reset_metrics = false});
  EXPECT_NEAR(both["mae"], all["mae"], 1e-6);
  model.reset_metrics();
  EXPECT_NEAR(model.test_on_batch(x.slice(0, 3), y.slice(0, 3), {.reset_metrics = false})["mae"], first["mae"], 1e-6);
}

TEST(SampleWeightsRefuse, SeveralNumbersForASample) {
  const WeighedSamples samples = weighed_samples(4);
  Model model = line_model();
  const auto dataset =
      data::Dataset::from_tensor_slices({samples.column(samples.x), samples.column(samples.y), ones({4, 2})}).batch(2);
  EXPECT_EQ(message([&] { model.fit(dataset, {.verbose = 0}); }),
            "fit: a sample of the data set has weights of shape (2,); give one number for each sample");
}

}  // namespace
