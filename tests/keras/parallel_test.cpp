// Replicas, accumulation and pipelines: however an update is divided over IPUs, the mean of its gradients gives the
// update of one device, and their sum that update with a larger learning rate.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>
#include <random>

#include "tests/message.h"

using namespace pando;
using namespace pando::keras;
using ipu::GradientReduction;
using ipu::pipelining_ops::PipelineSchedule;

namespace {

struct Data {
  Array x, y;
};

// Small images of three kinds.
Data images(std::int64_t count) {
  Data data{Array(DType::float32, {count, 6, 6, 1}), Array(DType::int32, {count})};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto kind = static_cast<std::int32_t>(i * 7 % 3);
    data.y.mutable_data<std::int32_t>()[i] = kind;
    for (std::int64_t j = 0; j < 36; ++j)
      data.x.mutable_data<float>()[i * 36 + j] =
          static_cast<float>(std::sin(static_cast<double>(i * 36 + j) * 1.3)) + (j % 3 == kind ? 1.0f : 0.0f);
  }
  return data;
}

struct Setup {
  std::string name;
  int ipus = 1;
  int stages = 1;
  std::int64_t batch_size = 32;
  std::int64_t accumulation = 1;
  PipelineSchedule schedule = PipelineSchedule::Grouped;
  bool recomputation = false;
  int tiles = 1;
  GradientReduction reduction = GradientReduction::Mean;

  std::int64_t micro_batches() const { return ipus / stages * accumulation; }
};

void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }

void configure(int ipus, int tiles) {
  ipu::reset_ipu_configuration();
  ipu::IPUConfig config;
  config.auto_select_ipus = ipus;
  config.tiles_per_ipu = tiles;
  config.configure_ipu_system();
}

// Layers in four groups, so that there can be 1, 2 or 4 stages.
Model make_model(const std::string& kind, int stages, double penalty = 0.0) {
  set_random_seed(9);
  const auto stage_of = [&](int group) { return group * stages / 4; };
  const auto in_stage = [&](int group, const std::function<Tensor()>& call) {
    if (stages == 1) return call();
    const ipu::keras::PipelineStage stage(stage_of(group));
    return call();
  };
  const Tensor input = Input({6, 6, 1});
  Tensor x;
  if (kind == "cnn") {
    x = in_stage(0, [&] {
      return layers::Conv2D(4, 3, {.activation = "relu", .kernel_regularizer = regularizers::L2(penalty)})(input);
    });
    x = in_stage(1, [&] { return layers::MaxPooling2D()(x); });
    x = in_stage(2, [&] { return layers::Dropout(0.3)(layers::Flatten()(x)); });
  } else {
    x = in_stage(0, [&] {
      return layers::Dense(
          12, {.activation = "relu", .kernel_regularizer = regularizers::L2(penalty)})(layers::Flatten()(input));
    });
    x = in_stage(1, [&] { return layers::Dropout(0.3)(x); });
    x = in_stage(2, [&] { return layers::Dense(8, {.activation = "tanh"})(x); });
  }
  x = in_stage(3, [&] { return layers::Dense(3, {.activation = "softmax"})(x); });
  return Model(input, x);
}

struct Outcome {
  std::vector<Array> weights;
  History history;
  Logs test;
  Array predictions;
};

Outcome train(const std::string& kind, const Setup& setup, const Data& data, std::int64_t epochs,
              const Optimizer& optimizer, double penalty = 0.0) {
  configure(setup.ipus, setup.tiles);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Model model = make_model(kind, setup.stages, penalty);
  if (setup.stages > 1)
    model.set_pipelining_options({.gradient_accumulation_steps_per_replica = setup.accumulation,
                                  .pipeline_schedule = setup.schedule,
                                  .recomputation = setup.recomputation});
  else if (setup.accumulation > 1)
    model.set_gradient_accumulation_options({.gradient_accumulation_steps_per_replica = setup.accumulation});
  model.compile({.optimizer = optimizer,
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .steps_per_execution = 40,
                 .reduction = setup.reduction});
  const History history =
      model.fit(data.x, data.y, {.batch_size = setup.batch_size, .epochs = epochs, .shuffle = false, .verbose = 0});
  return {model.get_weights(), history, model.evaluate(data.x, data.y, {.batch_size = setup.batch_size, .verbose = 0}),
          model.predict(data.x, {.batch_size = setup.batch_size})};
}

double relative_distance(const std::vector<Array>& a, const std::vector<Array>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += sum(square(a[i] - b[i])).item<double>();
    size += sum(square(a[i])).item<double>();
  }
  return std::sqrt(difference / size);
}

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

TEST(ParallelRefuses, PipelinesThatCannotBe) {
  configure(2, 1);
  const Data data = images(8);
  const ipu::IPUStrategy strategy;
  {
    EXPECT_EQ(message([] { ipu::keras::PipelineStage(0); }),
              "PipelineStage(0): there are no IPUs here; use it in the scope of an IPUStrategy");
  }
  const auto scope = strategy.scope();
  EXPECT_EQ(message([] {
              const ipu::keras::PipelineStage outer(0);
              const ipu::keras::PipelineStage inner(1);
            }),
            "PipelineStage(1): it is within PipelineStage(0); stages cannot be nested");
  EXPECT_EQ(message([] { ipu::keras::PipelineStage(-1); }), "PipelineStage(-1): stages are numbered from 0");
  const auto fit = [&](Model model, std::int64_t accumulation = 2) {
    return message([&] {
      if (accumulation != -1) model.set_pipelining_options({.gradient_accumulation_steps_per_replica = accumulation});
      model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
      model.fit(data.x, data.y, {.batch_size = 2, .verbose = 0});
    });
  };
  EXPECT_EQ(fit(make_model("mlp", 4)),
            "fit: the pipeline has 4 stages but /device:IPU:0 has 2 IPUs; configure 4 IPUs, use fewer stages, "
            "or let stages share an IPU by device_mapping");
  EXPECT_EQ(fit(make_model("mlp", 2), -1),
            "fit: the model is a pipeline of 2 stages, but it is not set how many micro-batches make an update; call "
            "set_pipelining_options({.gradient_accumulation_steps_per_replica = ...})");
  EXPECT_EQ(fit(make_model("mlp", 2), 0),
            "set_pipelining_options: gradient_accumulation_steps_per_replica is 0 but must be between 1 and 1000000");
  const Tensor input = Input({6, 6, 1});
  const auto staged = [](int stage, const Layer& layer, const Tensor& x) {
    const ipu::keras::PipelineStage scope_of_stage(stage);
    return layer(x);
  };
  const layers::Dense middle(3, {.name = "middle"}), last(3, {.name = "last"});
  const Tensor flat = staged(0, layers::Flatten({.name = "flat"}), input);
  EXPECT_EQ(fit(Model(input, last(staged(1, middle, flat)))),
            "the layer 'last' belongs to no pipeline stage; call it in a PipelineStage scope, as the others");
  EXPECT_EQ(fit(Model(input, staged(2, last, staged(0, middle, flat)))),
            "there is a pipeline stage 2 but no stage 1; number the stages 0, 1, 2 ...");
  EXPECT_EQ(
      fit(Model(input, staged(0, last, staged(1, middle, flat)))),
      "the layer 'last' in pipeline stage 0 needs 'middle' of the later stage 1; stages must follow the order of the "
      "layers");
  Sequential stack({layers::Flatten(), layers::Dense(3)}, {.name = "stack"});
  EXPECT_EQ(message([&] {
              stack.set_pipeline_stage_assignment({0, 0, 1});
            }),
            "set_pipeline_stage_assignment: the model 'stack' has 2 layers but 3 stages were given");
}

// A layer a stage, with dropout so that random numbers count too.
struct FiveStages {
  Sequential model;
  explicit FiveStages(const std::vector<int>& device_mapping, PipelineSchedule schedule = PipelineSchedule::Grouped)
      : model({layers::Flatten(), layers::Dense(12, {.activation = "relu"}), layers::Dropout(0.3),
               layers::Dense(8, {.activation = "tanh"}), layers::Dense(3, {.activation = "softmax"})},
              {.name = "five"}) {
    model.set_pipeline_stage_assignment({0, 1, 2, 3, 4});
    model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 6,
                                  .pipeline_schedule = schedule,
                                  .device_mapping = device_mapping});
    model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .steps_per_execution = 12});
  }
};

TEST(Parallel, StagesThatShareAnIpuGiveTheBitsOfStagesThatDoNot) {
  const Data data = images(100);
  for (const PipelineSchedule schedule :
       {PipelineSchedule::Grouped, PipelineSchedule::Interleaved, PipelineSchedule::Sequential}) {
    const auto trained = [&](int ipus, int tiles, const std::vector<int>& mapping) {
      configure(ipus, tiles);
      const ipu::IPUStrategy strategy;
      const auto scope = strategy.scope();
      set_random_seed(3);
      FiveStages five(mapping, schedule);
      five.model.fit(data.x, data.y, {.batch_size = 4, .epochs = 2, .shuffle = false, .verbose = 0});
      std::vector<Array> arrays = five.model.get_weights();
      arrays.push_back(five.model.predict(data.x, {.batch_size = 4}));
      return arrays;
    };
    const auto expect_equal = [](const std::vector<Array>& a, const std::vector<Array>& b) {
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(array_equal(a[i], b[i])) << i;
    };
    const std::vector<Array> apart = trained(5, 1, {});
    expect_equal(apart, trained(2, 1, {0, 1, 0, 1, 0}));
    expect_equal(apart, trained(2, 2, {0, 1, 0, 1, 0}));
    expect_equal(apart, trained(3, 1, {2, 1, 1, 0, 0}));
    expect_equal(apart, trained(1, 1, {0, 0, 0, 0, 0}));
    // Two replicas of two IPUs, and one that is left over.
    expect_equal(trained(10, 1, {}), trained(5, 1, {0, 1, 0, 1, 0}));
  }
}

TEST(Parallel, ExplainsTheDeviceMapping) {
  configure(5, 1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  FiveStages five({0, 1, 0, 1, 0});
  five.model.build({Shape{-1, 6, 6, 1}});
  const std::string text = five.model.explain({.samples = 100, .batch_size = 4});
  EXPECT_NE(text.find("4 IPUs = 2 replicas x 2 IPUs for 5 stages, 1 tile each"), std::string::npos) << text;
  EXPECT_NE(text.find("\nMapping      IPU 0 has stages 0 2 4, IPU 1 has stages 1 3\n"), std::string::npos) << text;
  EXPECT_NE(five.model.explain_json({.samples = 100, .batch_size = 4}).find("\"device_mapping\": [0, 1, 0, 1, 0]"),
            std::string::npos);
}

TEST(ParallelRefuses, DeviceMappingsThatCannotBe) {
  configure(2, 1);
  const Data data = images(8);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  const auto fit = [&](const std::vector<int>& mapping) {
    return message([&] { FiveStages(mapping).model.fit(data.x, data.y, {.batch_size = 2, .verbose = 0}); });
  };
  EXPECT_EQ(fit({0, 1, 0}),
            "fit: device_mapping is [0, 1, 0] but the pipeline has 5 stages; name the IPU of each stage");
  EXPECT_EQ(fit({0, 1, 2, 1, 0}),
            "fit: device_mapping is [0, 1, 2, 1, 0] but /device:IPU:0 has 2 IPUs; name numbers from 0 to 1, or "
            "configure more IPUs");
  EXPECT_EQ(fit({0, 0, -1, 0, 0}),
            "fit: device_mapping is [0, 0, -1, 0, 0] but /device:IPU:0 has 2 IPUs; name numbers from 0 to 1, or "
            "configure more IPUs");
  EXPECT_EQ(fit({1, 1, 1, 1, 1}),
            "fit: device_mapping is [1, 1, 1, 1, 1] but IPU 0 would have no stage; name each of the IPUs 0 to 1 of a "
            "replica");
}

TEST(Parallel, SplitsModelsIntoStagesOfEqualWork) {
  configure(2, 1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  // The first layer has about as much work as the three others together.
  Sequential model(
      {layers::Dense(96, {.input_shape = Shape{128}}), layers::Dense(64), layers::Dense(64), layers::Dense(32)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.split_into_stages(2, 64);
  std::vector<int> stages;
  for (const auto& assignment : model.get_pipeline_stage_assignment()) stages.push_back(assignment.stage);
  EXPECT_EQ(stages, (std::vector<int>{0, 1, 1, 1}));
  model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 4});
  EXPECT_GT(model.fit(ones({64, 128}), ones({64, 32}), {.batch_size = 8, .verbose = 0})["loss"][0], 0);
  EXPECT_EQ(message([&] { model.split_into_stages(5); }),
            "split_into_stages: 5 stages for 4 layers; every stage needs a layer");
}

TEST(Parallel, EveryReplicaPredictsWithTheNewestWeights) {
  configure(2, 1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Sequential model({layers::Dense(1, {.kernel_initializer = "ones"})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse", .steps_per_execution = 4});
  const Array x = ones({8, 1}), y = zeros({8, 1});
  double last = 1.0;
  for (int round = 0; round < 3; ++round) {
    model.fit(x, y, {.batch_size = 2, .verbose = 0});
    const Array predictions = model.predict(x, {.batch_size = 2, .verbose = 0});
    EXPECT_TRUE(allclose(predictions, full({8, 1}, predictions.data<float>()[0]))) << to_string(predictions);
    EXPECT_LT(predictions.data<float>()[0], last);
    last = predictions.data<float>()[0];
  }
}

TEST(Parallel, ExplainsWhatWillHappen) {
  configure(4, 1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Model model = make_model("cnn", 2);
  EXPECT_EQ(message([&] { model.explain({.samples = 10}); }),
            "explain: the model '" + model.name() + "' is not compiled; call compile() first");
  model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 4});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .steps_per_execution = 16});
  const std::string text = model.explain({.samples = 1'000, .batch_size = 8});
  EXPECT_NE(text.find("4 IPUs = 2 replicas x 2 stages"), std::string::npos) << text;
  EXPECT_NE(text.find("64 samples = 8 x 4 accumulated x 2 replicas"), std::string::npos) << text;
  EXPECT_NE(model.explain_json({.samples = 1'000, .batch_size = 8}).find("\"replicas\": 2"), std::string::npos);
}

TEST(Parallel, ExplainsTheReductionAndTheEffectiveLearningRate) {
  configure(4, 1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Model model = make_model("mlp", 2);
  model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 4});
  const auto line = [&](const CompileOptions& options) {
    model.compile(options);
    const std::string text = model.explain({.samples = 1'000, .batch_size = 8});
    const std::size_t begin = text.find("Reduction");
    return begin == std::string::npos ? text : text.substr(begin, text.find("Epoch") - begin);
  };
  const Losses loss = "sparse_categorical_crossentropy";
  EXPECT_EQ(line({.optimizer = "sgd", .loss = loss}),
            "Reduction    sum of 8 gradients: the learning rate 0.01 acts as 0.08\n");
  EXPECT_EQ(line({.optimizer = "sgd", .loss = loss, .reduction = GradientReduction::Mean}),
            "Reduction    mean of 8 gradients: the learning rate 0.01 stays as it is\n");
  EXPECT_EQ(line({.optimizer = "adam", .loss = loss}),
            "Reduction    sum of 8 gradients: adam divides by their size, so the learning\n"
            "             rate 0.001 stays as it is\n");
}

TEST(Parallel, PrintsTheStages) {
  configure(2, 1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Sequential stack({layers::Flatten({.name = "flat"}), layers::Dense(3, {.name = "head"})}, {.name = "stack"});
  stack.set_pipeline_stage_assignment({0, 1});
  EXPECT_EQ(stack.pipeline_stage_assignment_summary_text(), R"(Model: "stack"
_________________________________________________________________
Layer                                        Pipeline Stage
=================================================================
flat                                         0
_________________________________________________________________
head                                         1
=================================================================
)");
}

}  // namespace
