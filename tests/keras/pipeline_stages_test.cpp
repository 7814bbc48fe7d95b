// SPDX-License-Identifier: Apache-2.0
// Stages of a pipeline: which cannot be, where they run, how work is shared out among them, and what explain says.
#include "tests/keras/divided_training.h"
#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

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
  EXPECT_EQ(message([&] { static_cast<void>(model.explain({.samples = 10})); }),
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
  setenv("LC_ALL", "C.UTF-8", 1);
  EXPECT_EQ(stack.pipeline_stage_assignment_summary_text(), R"(Model: "stack"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━┓
┃ Layer                           ┃ Pipeline Stage ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━┩
│ flat                            │              0 │
├─────────────────────────────────┼────────────────┤
│ head                            │              1 │
└─────────────────────────────────┴────────────────┘
)");
}

}  // namespace
