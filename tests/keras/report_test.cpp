// SPDX-License-Identifier: Apache-2.0
// The report of a Keras model's training: everything that the model and its history know is in it.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

struct Trained {
  Sequential model;
  History history;
  Array x, y;
};

// Eight-pixel images that are dark or bright; `classes` outputs.
Trained train(std::int64_t classes, const FitOptions& options) {
  set_random_seed(5);
  Sequential model({layers::Flatten({.input_shape = Shape{2, 4}}),
                    layers::Dense(classes, {.activation = classes > 1 ? "softmax" : "linear", .name = "result"})},
                   {.name = "brightness"});
  if (classes > 1)
    model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  else model.compile({.optimizer = "sgd", .loss = "mse"});
  const Array x = arange(512).astype(DType::float32).reshape({64, 2, 4}) / 512.0;
  const Array y = greater(arange(64), 31.0).astype(classes > 1 ? DType::int32 : DType::float32);
  History history = model.fit(x, y, options);
  return {model, history, x, y};
}

std::vector<std::string> headline_names(const report::Run& run) {
  std::vector<std::string> names;
  for (const report::Headline& headline : run.headlines) names.push_back(headline.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(KerasReport, HoldsWhatTheModelSaysAboutTheTestSamples) {
  Trained trained = train(2, {.epochs = 2, .verbose = 0});
  const report::Run run = make_report(trained.model, trained.history, trained.x, trained.y,
                                      {.class_names = {"dark", "bright"}, .samples = 64});
  EXPECT_EQ(run.title, "brightness");
  EXPECT_EQ(headline_names(run), (Names{"test accuracy", "test loss", "training time", "samples per second"}));
  const Logs logs = trained.model.evaluate(trained.x, trained.y, {.verbose = 0});
  char accuracy[16];
  std::snprintf(accuracy, sizeof accuracy, "%.2f %%", 100 * logs["accuracy"]);
  EXPECT_EQ(run.headlines[0].value, accuracy);
  EXPECT_TRUE(array_equal(run.labels, trained.y));
  EXPECT_TRUE(array_equal(run.probabilities, trained.model.predict(trained.x)));
  EXPECT_TRUE(array_equal(run.images, trained.x));
  ASSERT_EQ(run.layers.size(), 2u);
  EXPECT_EQ(run.layers[1].name, "result");
  EXPECT_EQ(run.layers[1].type, "Dense");
  EXPECT_EQ(run.layers[1].output_shape, "(None, 2)");
  EXPECT_EQ(run.parameters, 18);
  EXPECT_TRUE(trained.model.explain({.samples = 64, .batch_size = 32}).starts_with(run.explanation.substr(0, 200)));
  EXPECT_EQ(run.explanation.find("Memory"), std::string::npos) << "which has a section of its own";
  ASSERT_EQ(run.memory.size(), 1u);
  EXPECT_EQ(run.memory[0].device, "host");
  EXPECT_EQ(run.memory[0].parts[0].name, "weights");
  EXPECT_EQ(run.memory[0].parts[0].bytes, 72u);
  EXPECT_TRUE(run.timeline.empty());
  EXPECT_NE(report::page(run).find("<h2 id=\"mistakes\">"), std::string::npos);
}

TEST(KerasReport, SaysHowTheModelWasTrainedAndWhere) {
  set_random_seed(5);
  Trained trained = train(2, {.batch_size = 16, .epochs = 3, .verbose = 0});
  const report::Run run = make_report(trained.model, trained.history, {.batch_size = 16, .samples = 64});
  ASSERT_EQ(run.facts.size(), 2u);
  std::string facts;
  for (const report::Fact& fact : run.facts[0].facts) facts += fact.name + ": " + fact.value + "\n";
  EXPECT_EQ(facts,
            "optimizer: sgd\nlearning rate: 0.01\nloss: sparse_categorical_crossentropy\nepochs: 3\nbatch size: 16\n"
            "training samples: 64\nsteps per execution: 1\nprecision: float32\nseed: 5\n");
  std::vector<std::string> names;
  for (const report::Fact& fact : run.facts[1].facts) names.push_back(fact.name);
  EXPECT_EQ(names, (Names{"command", "page made", "version", "machine"}));
  EXPECT_NE(run.facts[1].facts[0].value.find("keras_tests"), std::string::npos) << run.facts[1].facts[0].value;
}

TEST(KerasReport, HasTheLossOfEveryStep) {
  std::vector<double> means;
  const auto callback = callbacks::LambdaCallback(
      {.on_train_batch_end = [&](std::int64_t, const Logs& logs) { means.push_back(logs["loss"]); }});
  const Trained trained =
      train(2, {.batch_size = 16, .epochs = 2, .shuffle = false, .verbose = 0, .callbacks = {callback}});
  const std::vector<double>& losses = trained.history.loss_by_step().values;
  ASSERT_EQ(losses.size(), 8u);
  EXPECT_DOUBLE_EQ(losses[0], means[0]);
  EXPECT_DOUBLE_EQ((losses[0] + losses[1] + losses[2] + losses[3]) / 4, means[3]);
  EXPECT_DOUBLE_EQ(losses[4], means[4]);
}

TEST(KerasReport, KeepsTheLossesOfALongRunAsMeans) {
  History history;
  for (int i = 0; i < 5000; ++i) history.add_step(i, 700);
  const plot::StepCurve& curve = history.loss_by_step();
  EXPECT_EQ(curve.first, 700);
  EXPECT_EQ(curve.steps_each, 4);
  ASSERT_EQ(curve.values.size(), 1250u);
  EXPECT_EQ(curve.values[0], 1.5);
  EXPECT_EQ(curve.values[1249], 4997.5);
}

TEST(KerasReport, WithoutTestSamplesTellsTheEndOfTraining) {
  Trained trained = train(2, {.verbose = 0});
  EXPECT_EQ(headline_names(make_report(trained.model, trained.history)),
            (Names{"training accuracy", "training loss", "training time"}));
  trained = train(2, {.verbose = 0, .validation_split = 0.25});
  EXPECT_EQ(headline_names(make_report(trained.model, trained.history)),
            (Names{"validation accuracy", "validation loss", "training time"}));
}

TEST(KerasReport, HasATimelineIfFitRecordedOne) {
  Trained trained = train(2, {.verbose = 0, .record_timeline = true});
  const report::Run run = make_report(trained.model, trained.history);
  ASSERT_FALSE(run.timeline.empty());
  EXPECT_NE(report::page(run).find("\"result\""), std::string::npos) << "a layer of the timeline";
}

TEST(KerasReport, ShowsNoMistakesOfWhatIsNoClassifier) {
  Trained trained = train(1, {.verbose = 0});
  const report::Run run = make_report(trained.model, trained.history, trained.x, trained.y);
  EXPECT_EQ(run.probabilities.elements(), 0);
  EXPECT_EQ(headline_names(run), (Names{"test loss", "training time"}));
}

TEST(KerasReport, TellsOneHotRowsFromOtherTargets) {
  Sequential model({layers::Dense(2, {.input_shape = Shape{3}})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Array x = ones({2, 3});
  EXPECT_EQ(make_report(model, {}, x, Array::of<float>({0, 1, 1, 0}, {2, 2})).labels.elements(), 4);
  EXPECT_EQ(make_report(model, {}, x, Array::of<float>({0, 1, 1, 1}, {2, 2})).labels.elements(), 0);
  EXPECT_EQ(make_report(model, {}, x, Array::of<float>({0, 0.5, 1, 0}, {2, 2})).labels.elements(), 0);
}

TEST(KerasReport, NamesTheStagesOfAPipelineAndItsReplicas) {
  ipu::reset_ipu_configuration();
  ipu::IPUConfig config;
  config.auto_select_ipus = 4;
  config.tiles_per_ipu = 1;
  config.configure_ipu_system();
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Sequential model({layers::Dense(4, {.input_shape = Shape{4}}), layers::Dense(1)});
  model.set_pipeline_stage_assignment({0, 1});
  model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 2});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const report::Run run = make_report(model, {});
  ASSERT_EQ(run.memory.size(), 2u);
  EXPECT_EQ(run.memory[0].device, "stage 0 of each of 2 replicas");
  EXPECT_EQ(run.memory[1].device, "stage 1 of each of 2 replicas");
  EXPECT_TRUE(run.headlines.empty()) << "nothing was trained";
}

TEST(KerasReport, RefusesAModelThatIsNotCompiled) {
  Sequential model({layers::Dense(2, {.input_shape = Shape{3}})}, {.name = "raw"});
  EXPECT_EQ(message([&] { make_report(model, {}); }), "explain: the model 'raw' is not compiled; call compile() first");
}

}  // namespace
