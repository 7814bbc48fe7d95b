// SPDX-License-Identifier: Apache-2.0
// Replicas, accumulation and pipelines: however an update is divided over IPUs, the mean of its gradients gives the
// update of one device, and their sum that update with a larger learning rate.
#include <algorithm>
#include <random>

#include "tests/keras/divided_training.h"
#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

const std::vector<Setup> setups = {
    {.name = "replicas2", .ipus = 2, .batch_size = 16},
    {.name = "replicas4", .ipus = 4, .batch_size = 8},
    {.name = "replicas8", .ipus = 8, .batch_size = 4},
    {.name = "accumulation8", .batch_size = 4, .accumulation = 8},
    {.name = "grouped2", .ipus = 2, .stages = 2, .batch_size = 4, .accumulation = 8},
    {.name = "interleaved2",
     .ipus = 2,
     .stages = 2,
     .batch_size = 4,
     .accumulation = 8,
     .schedule = PipelineSchedule::Interleaved},
    {.name = "sequential2",
     .ipus = 2,
     .stages = 2,
     .batch_size = 4,
     .accumulation = 8,
     .schedule = PipelineSchedule::Sequential},
    {.name = "grouped4", .ipus = 4, .stages = 4, .batch_size = 4, .accumulation = 8},
    {.name = "interleaved4",
     .ipus = 4,
     .stages = 4,
     .batch_size = 4,
     .accumulation = 8,
     .schedule = PipelineSchedule::Interleaved},
    {.name = "sequential4",
     .ipus = 4,
     .stages = 4,
     .batch_size = 4,
     .accumulation = 8,
     .schedule = PipelineSchedule::Sequential},
    {.name = "recomputed4", .ipus = 4, .stages = 4, .batch_size = 4, .accumulation = 8, .recomputation = true},
    {.name = "replicas2_stages2_accumulation2", .ipus = 4, .stages = 2, .batch_size = 8, .accumulation = 2},
    {.name = "two_tiles", .ipus = 2, .stages = 2, .batch_size = 16, .accumulation = 2, .tiles = 2},
};

class Divided : public testing::TestWithParam<Setup> {};

TEST_P(Divided, GivesTheWeightsOfOneDevice) {
  const Data data = images(160);
  for (const std::string kind : {"mlp", "cnn"}) {
    const Optimizer sgd = optimizers::SGD({.learning_rate = 0.1, .momentum = 0.9});
    const Outcome one = train(kind, {.name = "one"}, data, 4, sgd, 0.01);
    const Outcome divided =
        train(kind, GetParam(), data, 4, optimizers::SGD({.learning_rate = 0.1, .momentum = 0.9}), 0.01);
    EXPECT_LT(relative_distance(one.weights, divided.weights), 1e-5) << kind;
    EXPECT_EQ(one.test["accuracy"], divided.test["accuracy"]) << kind;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(one.history["loss"][i], divided.history["loss"][i], 1e-5) << kind;
      EXPECT_NEAR(one.history["accuracy"][i], divided.history["accuracy"][i], 1e-12) << kind;
    }
    EXPECT_TRUE(allclose(one.predictions, divided.predictions, 1e-4, 1e-5)) << kind;
  }
}

TEST_P(Divided, SumsAsOneDeviceWithALargerLearningRate) {
  const Data data = images(160);
  auto setup = GetParam();
  setup.reduction = GradientReduction::Sum;
  const double rate = 0.1, share = rate / static_cast<double>(setup.micro_batches());
  for (const std::string kind : {"mlp", "cnn"}) {
    const auto sgd = [](double learning_rate) {
      return optimizers::SGD({.learning_rate = learning_rate, .momentum = 0.9});
    };
    const Outcome one = train(kind, {.name = "one"}, data, 4, sgd(rate), 0.01);
    EXPECT_LT(relative_distance(one.weights, train(kind, setup, data, 4, sgd(share), 0.01).weights), 1e-5) << kind;
  }
}

// The norm is that of all gradients together, in whatever stage they are.
TEST_P(Divided, ClipsByTheGlobalNormAsOneDevice) {
  const Data data = images(96);
  const auto clipped = [](double limit) {
    return optimizers::SGD({.learning_rate = 0.5, .momentum = 0.9, .global_clipnorm = limit});
  };
  const Outcome one = train("mlp", {.name = "one"}, data, 3, clipped(0.1));
  EXPECT_GT(relative_distance(one.weights, train("mlp", {.name = "one"}, data, 3, clipped(10)).weights), 1e-2);
  EXPECT_LT(relative_distance(one.weights, train("mlp", GetParam(), data, 3, clipped(0.1)).weights), 1e-5);
}

TEST_P(Divided, WorksWithAdam) {
  const Data data = images(64);
  const Outcome one = train("mlp", {.name = "one"}, data, 3, "adam");
  const Outcome divided = train("mlp", GetParam(), data, 3, "adam");
  EXPECT_LT(relative_distance(one.weights, divided.weights), 2e-5);
}

INSTANTIATE_TEST_SUITE_P(All, Divided, testing::ValuesIn(setups), [](const auto& info) { return info.param.name; });

// One layer in two stages, and its neighbours in all: the gradients of both calls change the same weights.
TEST(Parallel, TrainsWeightsThatSeveralStagesUse) {
  const Data data = images(96);
  const auto weights_of = [&](int ipus, int stages, std::int64_t accumulation, PipelineSchedule schedule) {
    configure(ipus, 1);
    const ipu::IPUStrategy strategy;
    const auto scope = strategy.scope();
    set_random_seed(4);
    const Tensor input = Input({6, 6, 1});
    const layers::Dense both(12, {.activation = "tanh"});
    const auto call = [&](int stage, const Layer& layer, const Tensor& x) {
      if (stages == 1) return layer(x);
      const ipu::keras::PipelineStage scope_of_stage(std::min(stage, stages - 1));
      return layer(x);
    };
    Tensor x = call(0, layers::Dense(12, {.activation = "relu"}), call(0, layers::Flatten(), input));
    x = call(0, both, x);
    x = call(1, layers::Dropout(0.2), x);
    x = call(2, both, x);
    Model model(input, call(2, layers::Dense(3, {.activation = "softmax"}), x));
    if (stages > 1)
      model.set_pipelining_options(
          {.gradient_accumulation_steps_per_replica = accumulation, .pipeline_schedule = schedule});
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.2, .momentum = 0.9}),
                   .loss = "sparse_categorical_crossentropy",
                   .steps_per_execution = 12,
                   .reduction = GradientReduction::Mean});
    const std::int64_t batch = 24 / (ipus / stages) / accumulation;
    model.fit(data.x, data.y, {.batch_size = batch, .epochs = 4, .shuffle = false, .verbose = 0});
    EXPECT_EQ(model.predict(data.x, {.batch_size = batch}).shape(), Shape({96, 3}));
    return model.get_weights();
  };
  const std::vector<Array> one = weights_of(1, 1, 1, PipelineSchedule::Grouped);
  for (PipelineSchedule schedule :
       {PipelineSchedule::Grouped, PipelineSchedule::Interleaved, PipelineSchedule::Sequential}) {
    EXPECT_LT(relative_distance(one, weights_of(2, 2, 4, schedule)), 1e-5);
    EXPECT_LT(relative_distance(one, weights_of(3, 3, 6, schedule)), 1e-5);
    EXPECT_LT(relative_distance(one, weights_of(6, 3, 3, schedule)), 1e-5);
  }
}

TEST(Parallel, LosesNoSampleWhenNothingDivides) {
  // 3 replicas of 7 micro-batches of 64: updates of 1,344 samples, the last of them shorter.
  const Data data = images(60'001);
  const auto sgd = [] { return optimizers::SGD({.learning_rate = 0.1}); };
  const Outcome one = train("mlp", {.name = "one", .batch_size = 1'344}, data, 1, sgd());
  const Outcome divided = train("mlp", {.name = "odd", .ipus = 3, .batch_size = 64, .accumulation = 7}, data, 1, sgd());
  EXPECT_LT(relative_distance(one.weights, divided.weights), 1e-5);
  EXPECT_NEAR(one.history["accuracy"][0], divided.history["accuracy"][0], 1e-12);
  EXPECT_NEAR(one.test["accuracy"], divided.test["accuracy"], 1e-12);
  EXPECT_EQ(divided.predictions.shape(), Shape({60'001, 3}));
  EXPECT_TRUE(allclose(one.predictions, divided.predictions, 1e-4, 1e-5));
}

TEST(Parallel, CountsBatchesOverAllReplicas) {
  const Data data = images(100);
  configure(3, 1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Model model = make_model("mlp", 1);
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .steps_per_execution = 4});
  std::vector<std::int64_t> batches;
  model.fit(data.x, data.y,
            {.batch_size = 10,
             .verbose = 0,
             .callbacks = {callbacks::LambdaCallback(
                 {.on_train_batch_end = [&](std::int64_t batch, const Logs&) { batches.push_back(batch); }})}});
  EXPECT_EQ(batches.size(), 10u);
  EXPECT_EQ(batches.back(), 9);
  // 10 batches on 3 replicas are 4 updates.
  EXPECT_EQ(model.optimizer().iterations(), 4);
}

// A model of one weight that is penalised, y = weight * x, on 22 samples in batches of 4, the last of them with 2.
struct OneWeight {
  static constexpr std::int64_t samples = 22, batch_size = 4;
  static constexpr double rate = 0.02, penalty = 0.3;

  static double x(std::int64_t sample) { return 0.1 * static_cast<double>(sample % 7) - 0.2; }
  static double y(std::int64_t sample) { return 0.5 * static_cast<double>(sample % 3); }
  static Array column(double (*value)(std::int64_t)) {
    Array array(DType::float32, {samples, 1});
    for (std::int64_t i = 0; i < samples; ++i) array.mutable_data<float>()[i] = static_cast<float>(value(i));
    return array;
  }

  // After an epoch, as the definitions of the reductions have it.
  static double by_hand(std::int64_t micro_batches, GradientReduction reduction) {
    const std::int64_t update = micro_batches * batch_size;
    double weight = 1.0;
    for (std::int64_t begin = 0; begin < samples; begin += update) {
      double gradient = 0;
      const std::int64_t end = std::min(samples, begin + update);
      for (std::int64_t first = begin; first < end; first += batch_size) {
        const std::int64_t last = std::min(end, first + batch_size);
        const double count = static_cast<double>(reduction == GradientReduction::Sum ? last - first : end - begin);
        for (std::int64_t i = first; i < last; ++i) gradient += 2 * (weight * x(i) - y(i)) * x(i) / count;
        if (reduction == GradientReduction::Sum || first == begin) gradient += 2 * penalty * weight;
      }
      weight -= rate * gradient;
    }
    return weight;
  }

  static double trained(int ipus, int stages, std::int64_t accumulation, std::optional<GradientReduction> reduction) {
    configure(ipus, 1);
    const ipu::IPUStrategy strategy;
    const auto scope = strategy.scope();
    Sequential model(
        {layers::Dense(
             1, {.use_bias = false, .kernel_initializer = "ones", .kernel_regularizer = regularizers::L2(penalty)}),
         layers::Activation("linear")});
    if (stages > 1) {
      model.set_pipeline_stage_assignment({0, 1});
      model.set_pipelining_options({.gradient_accumulation_steps_per_replica = accumulation});
    } else if (accumulation > 1) {
      model.set_gradient_accumulation_options({.gradient_accumulation_steps_per_replica = accumulation});
    }
    CompileOptions options{.optimizer = optimizers::SGD({.learning_rate = rate}), .loss = "mse"};
    if (reduction) options.reduction = *reduction;
    model.compile(options);
    model.fit(column(x), column(y), {.batch_size = batch_size, .shuffle = false, .verbose = 0});
    return model.get_weights()[0].item<float>();
  }
};

TEST(Parallel, ReducesGradientsByTheBookWhenNothingDivides) {
  struct Case {
    int ipus, stages;
    std::int64_t accumulation;
  };
  for (const auto& [ipus, stages, accumulation] :
       {Case{1, 1, 1}, Case{2, 1, 1}, Case{4, 1, 1}, Case{1, 1, 4}, Case{3, 1, 3}, Case{2, 2, 4}, Case{4, 2, 2}}) {
    const std::int64_t micro_batches = ipus / stages * accumulation;
    for (const GradientReduction reduction : {GradientReduction::Sum, GradientReduction::Mean})
      EXPECT_NEAR(OneWeight::trained(ipus, stages, accumulation, reduction),
                  OneWeight::by_hand(micro_batches, reduction), 1e-6)
          << ipus << " " << stages << " " << accumulation;
    const double sum = OneWeight::by_hand(micro_batches, GradientReduction::Sum);
    EXPECT_NEAR(OneWeight::trained(ipus, stages, accumulation, {}), sum, 1e-6) << "gradients are added unless told";
    if (micro_batches > 1) {
      EXPECT_GT(std::abs(OneWeight::by_hand(micro_batches, GradientReduction::Mean) - sum), 1e-3);
    }
  }
}

TEST(Parallel, KeepsBatchStatisticsOfRealSamples) {
  const Data data = images(40);
  const auto statistics = [&](int ipus, std::int64_t batch_size) {
    configure(ipus, 1);
    const ipu::IPUStrategy strategy;
    const auto scope = strategy.scope();
    set_random_seed(4);
    Sequential model({layers::Flatten(), layers::BatchNormalization({.momentum = 0.5}),
                      layers::Dense(3, {.activation = "softmax"})});
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}), .loss = "sparse_categorical_crossentropy"});
    model.fit(data.x, data.y, {.batch_size = batch_size, .shuffle = false, .verbose = 0});
    return model.layers()[1].get_weight("moving_mean");
  };
  // One update: the mean of the replicas' means is the mean of the whole batch.
  EXPECT_TRUE(allclose(statistics(1, 40), statistics(4, 10), 1e-5, 1e-6));
}

TEST(Parallel, SharesLayersAndSkipsStages) {
  const Data data = images(48);
  const auto outcome = [&](bool pipelined) {
    configure(pipelined ? 3 : 1, 1);
    const ipu::IPUStrategy strategy;
    const auto scope = strategy.scope();
    set_random_seed(6);
    const Tensor input = Input({6, 6, 1});
    const auto staged = [&](int stage, const std::function<Tensor()>& call) {
      if (!pipelined) return call();
      const ipu::keras::PipelineStage scope_of_stage(stage);
      return call();
    };
    const Tensor a = staged(0, [&] { return layers::Dense(8)(layers::Flatten()(input)); });
    const layers::Dense shared(8);
    const Tensor b = staged(1, [&] { return shared(shared(a)); });
    // Stage 2 needs what stage 0 made, and the input itself.
    const Tensor c = staged(2, [&] {
      return layers::Dense(3, {.activation = "softmax"})(layers::Concatenate()({a, b, layers::Flatten()(input)}));
    });
    Model model(input, c);
    if (pipelined)
      model.set_pipelining_options(
          {.gradient_accumulation_steps_per_replica = 3, .pipeline_schedule = PipelineSchedule::Interleaved});
    model.compile({.optimizer = "sgd",
                   .loss = "sparse_categorical_crossentropy",
                   .metrics = {"accuracy"},
                   .steps_per_execution = 6,
                   .reduction = GradientReduction::Mean});
    model.fit(data.x, data.y, {.batch_size = pipelined ? 4 : 12, .epochs = 3, .shuffle = false, .verbose = 0});
    return model.get_weights();
  };
  EXPECT_LT(relative_distance(outcome(false), outcome(true)), 1e-5);
}

}  // namespace
