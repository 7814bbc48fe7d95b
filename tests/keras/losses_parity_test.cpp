// SPDX-License-Identifier: Apache-2.0
// Every loss and metric against what Keras computes.
#include "tests/keras/reference.h"

using namespace pando;
using namespace pando::keras;
using namespace pando::keras::layers;

namespace {

struct LossCase {
  const char* name;
  const char* target;
  Loss loss;
  std::vector<Layer> head = {};
};

std::vector<LossCase> loss_cases() {
  using namespace losses;
  const Layer softmax = Softmax(), sigmoid = layers::Activation("sigmoid"), softplus = layers::Activation("softplus");
  const std::vector<Layer> shares = {softmax, Rescaling(0.8, {.offset = 0.02})};
  const std::vector<Layer> chances = {sigmoid, Rescaling(0.9, {.offset = 0.05})};
  return {
      {"categorical_crossentropy_logits", "one_hot", CategoricalCrossentropy({.from_logits = true})},
      {"categorical_crossentropy_softmax", "one_hot", "categorical_crossentropy", {softmax}},
      {"categorical_crossentropy_probabilities", "one_hot", CategoricalCrossentropy(), shares},
      {"categorical_crossentropy_smoothing", "one_hot", CategoricalCrossentropy({.label_smoothing = 0.2}), {softmax}},
      {"categorical_crossentropy_distribution", "distribution", CategoricalCrossentropy({.from_logits = true})},
      {"categorical_crossentropy_smoothing_logits", "one_hot",
       CategoricalCrossentropy({.from_logits = true, .label_smoothing = 0.2})},
      {"sparse_categorical_crossentropy_logits", "labels", SparseCategoricalCrossentropy({.from_logits = true})},
      {"sparse_categorical_crossentropy_softmax", "labels", "sparse_categorical_crossentropy", {softmax}},
      {"sparse_categorical_crossentropy_probabilities", "labels", SparseCategoricalCrossentropy(), shares},
      {"sparse_categorical_crossentropy_rank3", "labels_rank3", SparseCategoricalCrossentropy(), {softmax}},
      {"binary_crossentropy_logits", "binary", BinaryCrossentropy({.from_logits = true})},
      {"binary_crossentropy_sigmoid", "binary", "binary_crossentropy", {sigmoid}},
      {"binary_crossentropy_probabilities", "binary", BinaryCrossentropy(), chances},
      {"binary_crossentropy_smoothing", "binary", BinaryCrossentropy({.label_smoothing = 0.2}), {sigmoid}},
      {"binary_crossentropy_smoothing_logits", "binary",
       BinaryCrossentropy({.from_logits = true, .label_smoothing = 0.2})},
      {"mean_squared_error", "real", MeanSquaredError()},
      {"mean_squared_error_rank3", "real_rank3", MeanSquaredError()},
      {"mean_absolute_error", "real", MeanAbsoluteError()},
      {"huber", "real", Huber()},
      {"huber_delta", "real", Huber(0.3)},
      {"log_cosh", "real", LogCosh()},
      {"hinge_signs", "signs", Hinge()},
      {"hinge_binary", "binary", Hinge()},
      {"hinge_real", "real", Hinge()},
      {"poisson", "counts", Poisson(), {softplus}},
      {"kl_divergence", "distribution", KLDivergence(), {softmax}},
  };
}

class LossParity : public testing::TestWithParam<LossCase> {};

TEST_P(LossParity, ValueAndWeightsAfterTenStepsAreThoseOfKeras) {
  const std::string name = GetParam().name;
  const Shape sample = name.ends_with("rank3") ? Shape{3, 5} : Shape{5};
  const Tensor input = Input(sample);
  const Dense dense(4);
  Tensor output = dense(input);
  for (const Layer& layer : GetParam().head) output = layer(output);
  Model model(input, output);
  set_first_weights({dense});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = GetParam().loss});
  const Array x = hashed(0, with_batch(sample)), y = reference(std::string("targets.") + GetParam().target);
  expect_value(model.evaluate(x, y, {.verbose = 0})["loss"], name);
  take_steps(model, x, y);
  expect_weights({dense}, name);
}

INSTANTIATE_TEST_SUITE_P(Losses, LossParity, testing::ValuesIn(loss_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LossParity, PenaltiesAreThoseOfKeras) {
  const Dense dense(4, {.kernel_regularizer = regularizers::L1L2(0.02, 0.03),
                        .bias_regularizer = regularizers::L2(0.05),
                        .input_shape = Shape{5}});
  Sequential model({dense});
  set_first_weights({dense});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  const Array x = hashed(0, {batch, 5}), y = hashed(1, {batch, 4});
  expect_value(model.evaluate(x, y, {.verbose = 0})["loss"], "regularized");
  take_steps(model, x, y);
  expect_weights({dense}, "regularized");
}

// A model without weights, whose predictions are its inputs.
Logs evaluate(const char* predictions, const char* target, const CompileOptions& options) {
  const Array x = reference(std::string("predictions.") + predictions);
  Sequential model({layers::Activation("linear")});
  model.compile(options);
  return model.evaluate(x, reference(std::string("targets.") + target), {.verbose = 0});
}

TEST(LossParity, PredictionsOfZeroAndOneCostWhatTheyCostInKeras) {
  using namespace losses;
  const LossCase cases[] = {{"categorical_crossentropy_extremes", "one_hot", CategoricalCrossentropy()},
                            {"sparse_categorical_crossentropy_extremes", "labels", SparseCategoricalCrossentropy()},
                            {"binary_crossentropy_extremes", "binary", BinaryCrossentropy()},
                            {"poisson_extremes", "counts", Poisson()},
                            {"kl_divergence_extremes", "distribution", KLDivergence()}};
  for (const LossCase& example : cases)
    expect_value(evaluate("extreme", example.target, {.loss = example.loss})["loss"], example.name);
}

struct MetricCase {
  const char* name;
  const char* predictions;
  const char* target;
  Metric metric;
  Loss loss = "mse";
};

TEST(MetricParity, ValuesAreThoseOfKeras) {
  using namespace metrics;
  const Loss sparse = losses::SparseCategoricalCrossentropy({.from_logits = true});
  const MetricCase cases[] = {
      {"accuracy_binary", "logits", "class_binary", "accuracy"},
      {"accuracy_categorical", "scores", "class_one_hot", Accuracy()},
      {"accuracy_sparse", "scores", "class", "acc", sparse},
      {"categorical_accuracy", "scores", "class_one_hot", CategoricalAccuracy()},
      {"sparse_categorical_accuracy", "scores", "class", SparseCategoricalAccuracy(), sparse},
      {"binary_accuracy", "logits", "class_binary", BinaryAccuracy()},
      {"binary_accuracy_high", "logits", "class_binary", BinaryAccuracy(1.5)},
      {"binary_accuracy_low", "logits", "class_binary", BinaryAccuracy(-1.5)},
      {"top_k_categorical_accuracy", "scores", "class_one_hot", "top_k_categorical_accuracy"},
      {"top_k_categorical_accuracy_2", "scores", "class_one_hot", TopKCategoricalAccuracy(2)},
      {"sparse_top_k_categorical_accuracy", "scores", "class", SparseTopKCategoricalAccuracy(), sparse},
      {"sparse_top_k_categorical_accuracy_2", "scores", "class", SparseTopKCategoricalAccuracy(2), sparse},
      {"metric_mean_squared_error", "scores", "class_one_hot", MeanSquaredError()},
      {"metric_mean_absolute_error", "scores", "class_one_hot", MeanAbsoluteError()},
      {"metric_of_loss", "scores", "class_one_hot", losses::CategoricalCrossentropy({.from_logits = true})},
  };
  for (const MetricCase& example : cases) {
    const CompileOptions options = {.loss = example.loss, .metrics = {example.metric}};
    expect_value(evaluate(example.predictions, example.target, options)[example.metric.name()], example.name);
  }
}

}  // namespace
