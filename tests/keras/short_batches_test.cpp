// SPDX-License-Identifier: Apache-2.0
// Losses and metrics that are one number for a batch: a last batch of fewer samples is not filled up but runs by
// itself, or is refused where that cannot be.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>

#include "tests/data/temporary_folder.h"
#include "tests/keras/divided_training.h"
#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

// The mean over everything.
Loss whole_error() {
  return {"whole_error",
          [](Value prediction, Value target) { return ops::reduce_mean(ops::square(prediction - target)); }};
}
Metric whole_distance() {
  return {"whole_distance",
          [](Value prediction, Value target) { return ops::reduce_mean(ops::abs(prediction - target)); }};
}

struct Line {
  std::vector<double> x, y;
  Array x_array() const { return array_of(x); }
  Array y_array() const { return array_of(y); }
  static Array array_of(const std::vector<double>& values) {
    Array array(DType::float32, {static_cast<std::int64_t>(values.size()), 1});
    for (std::size_t i = 0; i < values.size(); ++i) array.mutable_data<float>()[i] = static_cast<float>(values[i]);
    return array;
  }
};

Line line_of(int count) {
  Line line;
  for (int i = 0; i < count; ++i) {
    line.x.push_back(1.0 + i % 4);
    line.y.push_back(std::sin(i * 0.9));
  }
  return line;
}

constexpr double rate = 0.01, start = 0.75;

Sequential slope_model(const Losses& loss, const MetricList& metrics = {}) {
  Sequential model({layers::Dense(1, {.use_bias = false})});
  model.build({Shape{-1, 1}});
  model.set_weights({full({1, 1}, start)});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = rate}), .loss = loss, .metrics = metrics});
  return model;
}

struct Expected {
  double slope = start, loss = 0, distance = 0;
};
// One epoch of batches of those sizes, each with the mean of its samples, or the sum.
Expected expected_epoch(const Line& line, const std::vector<std::size_t>& sizes, bool sums = false) {
  Expected expected;
  std::size_t i = 0;
  for (const std::size_t size : sizes) {
    double gradient = 0, loss = 0;
    const double share = sums ? 1.0 : 1.0 / static_cast<double>(size);
    for (const std::size_t end = i + size; i < end; ++i) {
      const double difference = expected.slope * line.x[i] - line.y[i];
      gradient += 2 * difference * line.x[i] * share;
      loss += difference * difference * share;
      expected.distance += std::abs(difference) / static_cast<double>(line.x.size());
    }
    expected.loss += loss * static_cast<double>(size) / static_cast<double>(line.x.size());
    expected.slope -= rate * gradient;
  }
  return expected;
}

void expect_epoch(const Model& model, const History& history, const Expected& expected) {
  EXPECT_NEAR(history["loss"].back(), expected.loss, 1e-4);
  EXPECT_NEAR(model.get_weights()[0].item<float>(), expected.slope, 1e-5);
}

TEST(ShortBatches, RunByThemselves) {
  const Line line = line_of(11);
  Sequential model = slope_model(whole_error(), {whole_distance()});
  const Logs logs = model.evaluate(line.x_array(), line.y_array(), {.batch_size = 4, .verbose = 0});
  const Expected whole = expected_epoch(line, {11});
  EXPECT_NEAR(logs["loss"], whole.loss, 1e-5);
  EXPECT_NEAR(logs["whole_distance"], whole.distance, 1e-5);
  const History history = model.fit(line.x_array(), line.y_array(), {.batch_size = 4, .shuffle = false, .verbose = 0});
  const Expected expected = expected_epoch(line, {4, 4, 3});
  expect_epoch(model, history, expected);
  EXPECT_NEAR(history["whole_distance"].back(), expected.distance, 1e-5);
  EXPECT_EQ(model.optimizer().iterations(), 3);
}

TEST(ShortBatches, AreExplained) {
  const auto line_about = [](const Model& model) {
    const std::string text = model.explain({.samples = 11, .batch_size = 4});
    const std::size_t begin = text.find("Last batch");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(line_about(slope_model(whole_error())), "Last batch   3 samples, in a program of its own");
  EXPECT_EQ(line_about(slope_model("mse")), "Last batch   3 samples, padded to 4 with samples that do not count");
}

TEST(ShortBatches, MayComeAnywhereInADataSet) {
  const Line line = line_of(11);
  const Array x = line.x_array(), y = line.y_array();
  std::vector<data::Element> batches;
  for (const auto& [first, last] : {std::pair{0, 4}, {4, 7}, {7, 10}, {10, 11}})
    batches.push_back({x.slice(first, last), y.slice(first, last)});
  const auto dataset = data::Dataset::from_generator([batches]() -> data::Dataset::Generator {
    return [batches, next = std::size_t{0}]() mutable -> std::optional<data::Element> {
      if (next == batches.size()) return std::nullopt;
      return batches[next++];
    };
  });
  Sequential model = slope_model(whole_error());
  expect_epoch(model, model.fit(dataset, {.verbose = 0}), expected_epoch(line, {4, 3, 3, 1}));
}

TEST(ShortBatches, AreCountedByCallbacksAndSteps) {
  const Line line = line_of(11);
  std::vector<std::int64_t> seen;
  Sequential model = slope_model(whole_error());
  const FitOptions options{
      .batch_size = 4,
      .epochs = 2,
      .verbose = 0,
      .callbacks = {callbacks::LambdaCallback(
          {.on_train_batch_end = [&](std::int64_t batch, const Logs&) { seen.push_back(batch); }})}};
  model.fit(line.x_array(), line.y_array(), options);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 1, 2, 0, 1, 2}));
  // Two steps of an epoch are full batches.
  Sequential two = slope_model(whole_error());
  const History history =
      two.fit(line.x_array(), line.y_array(), {.batch_size = 4, .steps_per_epoch = 2, .shuffle = false, .verbose = 0});
  Line eight = line;
  eight.x.resize(8);
  eight.y.resize(8);
  expect_epoch(two, history, expected_epoch(eight, {4, 4}));
}

TEST(ShortBatches, AreAddedUpByALossThatIsASum) {
  const Line line = line_of(11);
  const Loss error{"error", [](Value prediction, Value target) { return ops::square(prediction - target); }};
  Sequential model = slope_model(error.summed());
  const FitOptions options{.batch_size = 4, .shuffle = false, .verbose = 0};
  expect_epoch(model, model.fit(line.x_array(), line.y_array(), options), expected_epoch(line, {4, 4, 3}, true));
  // One number for a batch is its sum already.
  Sequential whole = slope_model(whole_error().summed());
  expect_epoch(whole, whole.fit(line.x_array(), line.y_array(), options), expected_epoch(line, {4, 4, 3}));
}

TEST(ShortBatches, WeighSamplesAsKerasDoes) {
  const Line line = line_of(7);
  Sequential model = slope_model(whole_error());
  const Array weights = Array::of<float>({0, 1, 2, 3, 4, 0, 0.5}, {7});
  // Keras multiplies the number for a batch by the weight of each sample.
  double loss = 0;
  std::size_t i = 0;
  for (const std::size_t size : {4, 3}) {
    double error = 0, weight = 0;
    for (const std::size_t end = i + size; i < end; ++i) {
      error += std::pow(start * line.x[i] - line.y[i], 2) / static_cast<double>(size);
      weight += static_cast<double>(weights.data<float>()[i]);
    }
    loss += error * weight / 7;
  }
  const Logs logs =
      model.evaluate(line.x_array(), line.y_array(), {.batch_size = 4, .verbose = 0, .sample_weight = weights});
  EXPECT_NEAR(logs["loss"], loss, 1e-4);
}

TEST(ShortBatches, ResumeFromACheckpointWithTheSameBits) {
  const Line line = line_of(11);
  const TemporaryFolder folder;
  const auto options = [&](std::int64_t epochs, bool checkpoints) {
    FitOptions o{.batch_size = 4, .epochs = epochs, .verbose = 0};
    if (checkpoints) o.checkpoint = {.directory = folder.path(), .every_executions = 1, .resume = true};
    return o;
  };
  const auto model_of = [] {
    set_random_seed(3);
    return slope_model(whole_error());
  };
  Sequential straight = model_of(), first = model_of(), second = model_of();
  straight.fit(line.x_array(), line.y_array(), options(4, false));
  first.fit(line.x_array(), line.y_array(), options(2, true));
  second.fit(line.x_array(), line.y_array(), options(4, true));
  EXPECT_TRUE(array_equal(straight.get_weights()[0], second.get_weights()[0]));
}

// The model runs on a device of several IPUs, or accumulates gradients.
template <class Function>
std::string message_divided(int replicas, std::int64_t accumulation, const Function& function) {
  configure(replicas, 1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Sequential model = slope_model(whole_error(), {"mae"});
  model.set_gradient_accumulation_options({.gradient_accumulation_steps_per_replica = accumulation});
  const std::string text = message([&] { function(model); });
  ipu::reset_ipu_configuration();
  return text;
}

const std::string refusal =
    ": a batch has 3 of 4 samples, and 'loss' may depend on all samples of a batch together, so that copies which "
    "fill it up would count; return one number for each sample, leave such a batch out, or use one replica without "
    "gradient accumulation, which can run it by itself";

TEST(ShortBatchesRefuse, ReplicasAndAccumulation) {
  const Line line = line_of(11);
  const FitOptions options{.batch_size = 4, .verbose = 0};
  const auto fit = [&](Model& model) { model.fit(line.x_array(), line.y_array(), options); };
  EXPECT_EQ(message_divided(2, 1, fit), "fit" + refusal);
  EXPECT_EQ(message_divided(1, 3, fit), "fit" + refusal);
  const auto fit_dataset = [&](Model& model) {
    model.fit(data::Dataset::from_tensor_slices({line.x_array(), line.y_array()}).batch(4), {.verbose = 0});
  };
  EXPECT_EQ(message_divided(2, 1, fit_dataset), "fit" + refusal);
  // Full batches divide, and spare replicas count for nothing.
  const auto fit_full = [&](Model& model) {
    const Line full = line_of(12);
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}), .loss = whole_error(), .metrics = {"mse"}});
    const History history = model.fit(full.x_array(), full.y_array(), options);
    EXPECT_NEAR(history["loss"].back(), history["mean_squared_error"].back(), 1e-5);
  };
  EXPECT_EQ(message_divided(2, 1, fit_full), "(nothing was thrown)");
  EXPECT_EQ(message_divided(1, 2, fit_full), "(nothing was thrown)");
  // Evaluation does not accumulate.
  const auto evaluate = [&](Model& model) {
    const Logs logs = model.evaluate(line.x_array(), line.y_array(), {.batch_size = 4, .verbose = 0});
    EXPECT_NEAR(logs["loss"], expected_epoch(line, {11}).loss, 1e-5);
  };
  EXPECT_EQ(message_divided(1, 3, evaluate), "(nothing was thrown)");
  EXPECT_EQ(message_divided(2, 1, evaluate), "evaluate" + refusal);
}

TEST(ShortBatchesRefuse, ValidationBeforeTheFirstStep) {
  const Line full = line_of(8), shorter = line_of(7);
  const auto fit = [&](Model& model) {
    const float before = model.get_weights()[0].item<float>();
    EXPECT_EQ(message([&] {
                model.fit(full.x_array(), full.y_array(),
                          {.batch_size = 4, .verbose = 0, .validation_data = {shorter.x_array(), shorter.y_array()}});
              }),
              "fit: validation_data" + refusal);
    EXPECT_EQ(model.get_weights()[0].item<float>(), before);
  };
  message_divided(2, 1, fit);
}

}  // namespace
