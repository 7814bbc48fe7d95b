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

struct Points {
  std::vector<double> x, y;
  Array x_array() const { return array_of(x); }
  Array y_array() const { return array_of(y); }
  static Array array_of(const std::vector<double>& values) {
    Array array(DType::float32, {static_cast<std::int64_t>(values.size()), 1});
    for (std::size_t i = 0; i < values.size(); ++i) array.mutable_data<float>()[i] = static_cast<float>(values[i]);
    return array;
  }
};

Points points_of(int count) {
  Points points;
  for (int i = 0; i < count; ++i) {
    points.x.push_back(1.0 + i % 4);
    points.y.push_back(std::sin(i * 0.9));
  }
  return points;
}

constexpr double step_size = 0.01, first_slope = 0.75;

Sequential slope_model(const Losses& loss, const MetricList& metrics = {}) {
  Sequential model({layers::Dense(1, {.use_bias = false, .name = "slope"})});
  model.build({Shape{-1, 1}});
  model.set_weights({full({1, 1}, first_slope)});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = step_size}), .loss = loss, .metrics = metrics});
  return model;
}

struct SlopeAfter {
  double slope = first_slope, loss = 0, distance = 0;
};
// One epoch of batches of those sizes, each with the mean of its samples, or the sum.
SlopeAfter epoch_of_points(const Points& points, const std::vector<std::size_t>& sizes, bool sums = false) {
  SlopeAfter expected;
  std::size_t i = 0;
  for (const std::size_t size : sizes) {
    double gradient = 0, loss = 0;
    const double share = sums ? 1.0 : 1.0 / static_cast<double>(size);
    for (const std::size_t end = i + size; i < end; ++i) {
      const double difference = expected.slope * points.x[i] - points.y[i];
      gradient += 2 * difference * points.x[i] * share;
      loss += difference * difference * share;
      expected.distance += std::abs(difference) / static_cast<double>(points.x.size());
    }
    expected.loss += loss * static_cast<double>(size) / static_cast<double>(points.x.size());
    expected.slope -= step_size * gradient;
  }
  return expected;
}

void expect_points(const Model& model, const History& history, const SlopeAfter& expected) {
  EXPECT_NEAR(history["loss"].back(), expected.loss, 1e-4);
  EXPECT_NEAR(model.get_weights()[0].item<float>(), expected.slope, 1e-5);
}

TEST(ShortBatches, RunByThemselves) {
  const Points points = points_of(11);
  Sequential model = slope_model(whole_error(), {whole_distance()});
  const Logs logs = model.evaluate(points.x_array(), points.y_array(), {.batch_size = 4, .verbose = 0});
  const SlopeAfter whole = epoch_of_points(points, {11});
  EXPECT_NEAR(logs["loss"], whole.loss, 1e-5);
  EXPECT_NEAR(logs["whole_distance"], whole.distance, 1e-5);
  const History history =
      model.fit(points.x_array(), points.y_array(), {.batch_size = 4, .shuffle = false, .verbose = 0});
  const SlopeAfter expected = epoch_of_points(points, {4, 4, 3});
  expect_points(model, history, expected);
  EXPECT_NEAR(history["whole_distance"].back(), expected.distance, 1e-5);
  EXPECT_EQ(model.optimizer().iterations(), 3);
}

TEST(ShortBatches, AreExplained) {
  const auto about_last = [](const Model& model) {
    const std::string text = model.explain({.samples = 11, .batch_size = 4});
    const std::size_t begin = text.find("Last batch");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(about_last(slope_model(whole_error())), "Last batch   3 samples, in a program of its own");
  EXPECT_EQ(about_last(slope_model("mse")), "Last batch   3 samples, padded to 4 with samples that do not count");
}

TEST(ShortBatches, MayComeAnywhereInADataSet) {
  const Points points = points_of(11);
  const Array x = points.x_array(), y = points.y_array();
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
  expect_points(model, model.fit(dataset, {.verbose = 0}), epoch_of_points(points, {4, 3, 3, 1}));
}

TEST(ShortBatches, AreCountedByCallbacksAndSteps) {
  const Points points = points_of(11);
  std::vector<std::int64_t> seen;
  Sequential model = slope_model(whole_error());
  const FitOptions options{
      .batch_size = 4,
      .epochs = 2,
      .verbose = 0,
      .callbacks = {callbacks::LambdaCallback(
          {.on_train_batch_end = [&](std::int64_t batch, const Logs&) { seen.push_back(batch); }})}};
  model.fit(points.x_array(), points.y_array(), options);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 1, 2, 0, 1, 2}));
  // Two steps of an epoch are full batches.
  Sequential two = slope_model(whole_error());
  const History history = two.fit(points.x_array(), points.y_array(),
                                  {.batch_size = 4, .steps_per_epoch = 2, .shuffle = false, .verbose = 0});
  Points eight = points;
  eight.x.resize(8);
  eight.y.resize(8);
  expect_points(two, history, epoch_of_points(eight, {4, 4}));
}

TEST(ShortBatches, AreAddedUpByALossThatIsASum) {
  const Points points = points_of(11);
  const Loss error{"error", [](Value prediction, Value target) { return ops::square(prediction - target); }};
  Sequential model = slope_model(error.summed());
  const FitOptions options{.batch_size = 4, .shuffle = false, .verbose = 0};
  expect_points(model, model.fit(points.x_array(), points.y_array(), options),
                epoch_of_points(points, {4, 4, 3}, true));
  // One number for a batch is its sum already.
  Sequential whole = slope_model(whole_error().summed());
  expect_points(whole, whole.fit(points.x_array(), points.y_array(), options), epoch_of_points(points, {4, 4, 3}));
}

TEST(ShortBatches, WeighSamplesAsKerasDoes) {
  const Points points = points_of(7);
  Sequential model = slope_model(whole_error());
  const Array weights = Array::of<float>({0, 1, 2, 3, 4, 0, 0.5}, {7});
  // Keras multiplies the number for a batch by the weight of each sample.
  double loss = 0;
  std::size_t i = 0;
  for (const std::size_t size : {4, 3}) {
    double error = 0, weight = 0;
    for (const std::size_t end = i + size; i < end; ++i) {
      error += std::pow(first_slope * points.x[i] - points.y[i], 2) / static_cast<double>(size);
      weight += static_cast<double>(weights.data<float>()[i]);
    }
    loss += error * weight / 7;
  }
  const Logs logs =
      model.evaluate(points.x_array(), points.y_array(), {.batch_size = 4, .verbose = 0, .sample_weight = weights});
  EXPECT_NEAR(logs["loss"], loss, 1e-4);
}

TEST(ShortBatches, ResumeFromACheckpointWithTheSameBits) {
  const Points points = points_of(11);
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
  straight.fit(points.x_array(), points.y_array(), options(4, false));
  first.fit(points.x_array(), points.y_array(), options(2, true));
  second.fit(points.x_array(), points.y_array(), options(4, true));
  EXPECT_TRUE(array_equal(straight.get_weights()[0], second.get_weights()[0]));
}

// The model runs on a device of several IPUs, or accumulates gradients.
template <class Function>
std::string message_when_divided(int replicas, std::int64_t accumulation, const Function& function) {
  configure(replicas, 1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Sequential model = slope_model(whole_error(), {"mae"});
  model.set_gradient_accumulation_options({.gradient_accumulation_steps_per_replica = accumulation});
  const std::string text = message([&] { function(model); });
  ipu::reset_ipu_configuration();
  return text;
}

const std::string short_batch_refusal =
    ": a batch has 3 of 4 samples, and 'loss' may depend on all samples of a batch together, so that copies which "
    "fill it up would count; return one number for each sample, leave such a batch out, or use one replica without "
    "gradient accumulation, which can run it by itself";

TEST(ShortBatchesRefuse, ReplicasAndAccumulation) {
  const Points points = points_of(11);
  const FitOptions options{.batch_size = 4, .verbose = 0};
  const auto fit = [&](Model& model) { model.fit(points.x_array(), points.y_array(), options); };
  EXPECT_EQ(message_when_divided(2, 1, fit), "fit" + short_batch_refusal);
  EXPECT_EQ(message_when_divided(1, 3, fit), "fit" + short_batch_refusal);
  const auto fit_dataset = [&](Model& model) {
    model.fit(data::Dataset::from_tensor_slices({points.x_array(), points.y_array()}).batch(4), {.verbose = 0});
  };
  EXPECT_EQ(message_when_divided(2, 1, fit_dataset), "fit" + short_batch_refusal);
  // Full batches divide, and spare replicas count for nothing.
  const auto fit_full = [&](Model& model) {
    const Points full = points_of(12);
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}), .loss = whole_error(), .metrics = {"mse"}});
    const History history = model.fit(full.x_array(), full.y_array(), options);
    EXPECT_NEAR(history["loss"].back(), history["mse"].back(), 1e-5);
  };
  EXPECT_EQ(message_when_divided(2, 1, fit_full), "(nothing was thrown)");
  EXPECT_EQ(message_when_divided(1, 2, fit_full), "(nothing was thrown)");
  // Evaluation does not accumulate.
  const auto evaluate = [&](Model& model) {
    const Logs logs = model.evaluate(points.x_array(), points.y_array(), {.batch_size = 4, .verbose = 0});
    EXPECT_NEAR(logs["loss"], epoch_of_points(points, {11}).loss, 1e-5);
  };
  EXPECT_EQ(message_when_divided(1, 3, evaluate), "(nothing was thrown)");
  EXPECT_EQ(message_when_divided(2, 1, evaluate), "evaluate" + short_batch_refusal);
}

TEST(ShortBatchesRefuse, ValidationBeforeTheFirstStep) {
  const Points full = points_of(8), shorter = points_of(7);
  const auto fit = [&](Model& model) {
    const float before = model.get_weights()[0].item<float>();
    EXPECT_EQ(message([&] {
                model.fit(full.x_array(), full.y_array(),
                          {.batch_size = 4, .verbose = 0, .validation_data = {shorter.x_array(), shorter.y_array()}});
              }),
              "fit: validation_data" + short_batch_refusal);
    EXPECT_EQ(model.get_weights()[0].item<float>(), before);
  };
  message_when_divided(2, 1, fit);
}

}  // namespace
