// SPDX-License-Identifier: Apache-2.0
// Automatic stages: in every style, calls that follow each other become stages of about equal work, whatever their
// names are, and train as if the user had made those stages.
#include "model/balance_stages.h"

#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>

#include "tests/message.h"

namespace pando {

namespace {

namespace nn = torch::nn;
namespace tf = tf1;
using Stages = std::vector<int>;
using ipu::pipelining_ops::pipeline;
using ipu::pipelining_ops::PipelineOptions;

// The first layer has about as much work as the three others together.
constexpr std::int64_t widths[] = {128, 96, 64, 64, 32};
const std::vector<std::string> names = {"tower", "tower/gradient", "tower/gradient/0", "last"};
constexpr std::int64_t micro_batch = 8;

TEST(BalanceStages, MakesTheLargestStageSmall) {
  EXPECT_EQ(balance_stages({4, 1, 1, 1, 1}, 2), (Stages{0, 1, 1, 1, 1}));
  EXPECT_EQ(balance_stages({1, 1, 1, 1, 4}, 2), (Stages{0, 0, 0, 0, 1}));
  EXPECT_EQ(balance_stages({2, 1, 1, 2}, 3), (Stages{0, 1, 1, 2}));
  EXPECT_EQ(balance_stages({1, 5, 1}, 1), (Stages{0, 0, 0}));
  EXPECT_EQ(balance_stages({1, 5, 1}, 3), (Stages{0, 1, 2}));
}

TEST(BalanceStages, GivesEveryStageAPartEvenIfThereIsNoWork) {
  EXPECT_EQ(balance_stages({0, 0, 0}, 3), (Stages{0, 1, 2}));
  const Stages two = balance_stages({0, 0, 0}, 2);
  EXPECT_EQ(two.front(), 0);
  EXPECT_EQ(two.back(), 1);
}

void configure(int ipus) {
  ipu::reset_ipu_configuration();
  ipu::IPUConfig config;
  config.auto_select_ipus = ipus;
  config.tiles_per_ipu = 1;
  config.configure_ipu_system();
}

Array waves(const Shape& shape) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.mutable_data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i + 1) * 1.3));
  return array;
}

keras::Sequential keras_model() {
  set_random_seed(3);
  std::vector<keras::Layer> layers;
  for (std::size_t i = 0; i < names.size(); ++i) {
    keras::layers::DenseOptions options{.activation = "tanh", .name = names[i]};
    if (i == 0) options.input_shape = Shape{widths[0]};
    layers.push_back(keras::layers::Dense(widths[i + 1], options));
  }
  keras::Sequential model(layers);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 2});
  return model;
}

TEST(AutomaticStages, OfAKerasModelDoNotDependOnItsNames) {
  configure(2);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  keras::Sequential split = keras_model(), given = keras_model();
  split.split_into_stages(2, micro_batch);
  Stages stages;
  for (const auto& assignment : split.get_pipeline_stage_assignment()) stages.push_back(assignment.stage);
  EXPECT_EQ(stages, (Stages{0, 1, 1, 1}));
  given.set_pipeline_stage_assignment({0, 1, 1, 1});
  const Array x = waves({32, widths[0]}), y = waves({32, widths[4]});
  const auto train = [&](keras::Sequential& model) {
    return model.fit(x, y, {.batch_size = micro_batch, .epochs = 2, .shuffle = false, .verbose = 0})["loss"];
  };
  EXPECT_EQ(train(split), train(given));
}

// Four layers of variables; functions may be joined.
struct Functions {
  Functions() {
    tf::reset_default_graph();
    for (std::size_t i = 0; i < names.size(); ++i)
      variables.emplace_back(waves({widths[i], widths[i + 1]}) * 0.1, tf::VariableOptions{.name = names[i]});
  }
  Tensor call(std::size_t first, std::size_t end, Tensor x) const {
    for (std::size_t i = first; i < end; ++i) x = tf::nn::tanh(tf::matmul(x, variables[i]));
    return x;
  }
  // The borders of the functions, 0 and 4 among them. The last returns the loss.
  std::vector<tf::TracedFunction> joined(const std::vector<std::size_t>& borders) const {
    std::vector<tf::TracedFunction> functions;
    for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
      const std::size_t first = borders[i], end = borders[i + 1];
      functions.emplace_back([=, this](Tensor x) -> tf::Outputs {
        const Tensor y = call(first, end, x);
        return {end == names.size() ? tf::reduce_mean(tf::square(y)) : y};
      });
    }
    return functions;
  }
  Arrays values() const {
    Arrays list;
    for (const tf::Variable& variable : variables) list.push_back(variable.parameter().value());
    return list;
  }
  std::vector<tf::Variable> variables;
};

struct Trained {
  std::string explanation;
  Arrays weights;
};

Trained train_functions(const std::vector<std::size_t>& borders, PipelineOptions options = {}) {
  const Functions functions;
  const data::Dataset data = data::Dataset::from_tensor_slices({waves({32, widths[0]})}).repeat().batch(micro_batch);
  const ipu::IPUInfeedQueue infeed(data);
  options.gradient_accumulation_count = 2;
  options.repeat_count = 3;
  options.infeed_queue = infeed;
  options.optimizer_function = [](const tf::Outputs& outputs) {
    return ipu::pipelining_ops::OptimizerFunctionOutput{tf::train::AdamOptimizer(), outputs.tensor(0)};
  };
  tf::Compiled computation;
  {
    const ipu::scopes::ipu_scope device("/device:IPU:0");
    computation = ipu::ipu_compiler::compile([&] { return pipeline(functions.joined(borders), options); });
  }
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  session.run(computation);
  return {computation.explain(), functions.values()};
}

void expect_same(const Arrays& a, const Arrays& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(array_equal(a[i], b[i])) << i;
}

TEST(AutomaticStages, OfAPipelineWithMoreFunctionsThanIpus) {
  configure(2);
  const Trained split = train_functions({0, 1, 2, 3, 4}), joined = train_functions({0, 1, 4});
  expect_same(split.weights, joined.weights);
  for (const char* part : {"2 IPUs = 1 replica x 2 stages", "function 0\n", "function 1 .. function 3"})
    EXPECT_NE(split.explanation.find(part), std::string::npos) << part << "\n" << split.explanation;
  // A device_mapping still says where each function runs.
  const Trained mapped = train_functions({0, 1, 2, 3, 4}, {.device_mapping = {0, 1, 1, 0}});
  EXPECT_NE(mapped.explanation.find("4 stages"), std::string::npos) << mapped.explanation;
  configure(1);
  EXPECT_EQ(train_functions({0, 1, 2, 3, 4}).weights.size(), 4u);
}

TEST(AutomaticStages, OfAPipelineForInference) {
  configure(2);
  const Functions functions;
  const ipu::IPUInfeedQueue infeed(data::Dataset::from_tensor_slices({waves({8, widths[0]})}).batch(micro_batch));
  const ipu::IPUOutfeedQueue outfeed;
  tf::Compiled computation;
  {
    const ipu::scopes::ipu_scope device("/device:IPU:0");
    computation = ipu::ipu_compiler::compile([&] {
      return pipeline(functions.joined({0, 1, 2, 3, 4}), {.infeed_queue = infeed, .outfeed_queue = outfeed});
    });
  }
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  session.run(computation);
  EXPECT_GT(session.run(outfeed.dequeue())[0].item<float>(), 0);
  EXPECT_NE(computation.explain().find("function 1 .. function 3"), std::string::npos) << computation.explain();
}

// The modules have the names of the layers; `border` is the first module of the second block, or 0.
struct Tower : nn::Module {
  explicit Tower(std::size_t border) : border(border) {
    for (std::size_t i = 0; i < names.size(); ++i) linears.emplace_back(widths[i], widths[i + 1]);
    register_modules({{names[0], linears[0]},
                      {names[1], linears[1]},
                      {names[2], linears[2]},
                      {names[3], linears[3]},
                      {"drop", drop},
                      {"loss", loss}});
  }
  std::tuple<Tensor, Tensor> forward(Tensor x, Tensor y) {
    for (std::size_t i = 0; i < linears.size(); ++i) {
      if (border > 0 && i == border) poptorch::BeginBlock(1);
      x = drop(linears[i](x));
    }
    return {x, loss(x, y)};
  }
  std::size_t border;
  std::vector<nn::Linear> linears;
  nn::Dropout drop{0.2};
  nn::MSELoss loss;
};

struct TrainedTower {
  TrainedTower(std::size_t border, int stages) : tower(seeded(border)) {
    poptorch::Options options;
    options.setExecutionStrategy(poptorch::PipelinedExecution{.stages = stages});
    options.Training.gradientAccumulation(2);
    auto training = poptorch::trainingModel(tower, options, torch::optim::Adam(tower.parameters()));
    const Array x = waves({2 * micro_batch, widths[0]}), y = waves({2 * micro_batch, widths[4]});
    for (int i = 0; i < 3; ++i) training(x, y);
    // The last micro-batch is not full.
    training(x.slice(0, micro_batch + 3), y.slice(0, micro_batch + 3));
    explanation = training.explain();
  }
  static Tower seeded(std::size_t border) {
    set_random_seed(3);
    return Tower(border);
  }
  Arrays values() const {
    Arrays list;
    for (const auto& [name, value] : tower.state_dict()) list.push_back(value);
    return list;
  }
  Tower tower;
  std::string explanation;
};

TEST(AutomaticStages, OfAModuleAreThoseOfItsBlocks) {
  const TrainedTower split(0, 2), blocks(1, 0);
  expect_same(split.values(), blocks.values());
  for (const char* part : {"2 IPUs = 1 replica x 2 stages", "tower/gradient .. loss"})
    EXPECT_NE(split.explanation.find(part), std::string::npos) << part << "\n" << split.explanation;
  const TrainedTower three(0, 3);
  EXPECT_NE(three.explanation.find("3 stages"), std::string::npos) << three.explanation;
}

TEST(AutomaticStages, OfAModuleAreRefusedIfTheyMakeNoSense) {
  EXPECT_EQ(message([] { TrainedTower(0, 20); }),
            "PipelinedExecution: 20 stages for 9 calls of modules; every stage needs one");
  EXPECT_EQ(message([] { TrainedTower(1, 2); }),
            "PipelinedExecution has stages but the model has blocks; leave out one of them");
  EXPECT_EQ(message([] { poptorch::Options().setExecutionStrategy(poptorch::PipelinedExecution{.stages = -1}); }),
            "Options: stages of a PipelinedExecution is -1 but must not be negative");
}

}  // namespace

}  // namespace pando
