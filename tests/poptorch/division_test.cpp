// SPDX-License-Identifier: Apache-2.0
// Replicas, accumulation and blocks: however an update is divided over IPUs, it is the update of one.
#include "tests/poptorch/network.h"

namespace pando {

namespace {

struct Division {
  std::string name;
  std::int64_t accumulation = 1;
  int replicas = 1;
  int ipus = 1;
  PipelineOrder order = PipelineOrder::grouped;
};
void PrintTo(const Division& division, std::ostream* out) { *out << division.name; }

constexpr std::int64_t update_samples = 8, updates = 20;

// The weights after the updates.
nn::StateDict trained(const Division& division) {
  Network network = make_network(division.ipus);
  WithLoss model(network);
  Options options;
  options.deviceIterations(updates / 2).replicationFactor(division.replicas);
  options.setExecutionStrategy(poptorch::PipelinedExecution{division.order});
  options.Training.gradientAccumulation(division.accumulation);
  auto training = poptorch::trainingModel(model, options, sgd(network));
  const Array x = waves({update_samples * updates, 1, 6, 6}, 1.3), y = labels(update_samples * updates);
  const std::int64_t half = update_samples * updates / 2;
  training(x.slice(0, half), y.slice(0, half));
  training(x.slice(half, 2 * half), y.slice(half, 2 * half));
  return network.state_dict();
}

class Divided : public testing::TestWithParam<Division> {};
INSTANTIATE_TEST_SUITE_P(All, Divided,
                         testing::Values(Division{"accumulation_4", 4}, Division{"replicas_2", 1, 2},
                                         Division{"replicas_2_accumulation_4", 4, 2}, Division{"stages_2", 4, 1, 2},
                                         Division{"stages_3", 4, 1, 3},
                                         Division{"stages_3_interleaved", 8, 1, 3, PipelineOrder::interleaved},
                                         Division{"stages_2_sequential", 2, 1, 2, PipelineOrder::sequential},
                                         Division{"replicas_2_stages_2", 4, 2, 2}),
                         [](const auto& test) { return test.param.name; });

TEST_P(Divided, TrainsAsOneDeviceDoesWithTheWholeBatch) {
  const nn::StateDict whole = trained({"whole"});
  EXPECT_LT(distance(whole, trained(GetParam())), 1e-5);
  EXPECT_GT(distance(whole, make_network().state_dict()), 1e-2);
}

TEST(Reduction, OfSumsAddsWhatMeansDivide) {
  const auto step = [](poptorch::ReductionType type) {
    Network network = make_network();
    WithLoss model(network);
    Options options;
    options.Training.gradientAccumulation(4).accumulationAndReplicationReductionType(type);
    poptorch::trainingModel(model, options, torch::optim::SGD(network.parameters(), {.lr = 0.01}))(
        waves({8, 1, 6, 6}, 1.3), labels(8));
    return network.state_dict().at("output.bias") - make_network().state_dict().at("output.bias");
  };
  EXPECT_TRUE(allclose(step(poptorch::ReductionType::Sum), step(poptorch::ReductionType::Mean) * 4.0, 1e-4, 1e-7));
}

TEST(InferenceModel, RunsOnReplicasAndInPipelines) {
  Network network = make_network();
  const Array x = waves({24, 1, 6, 6}, 1.3);
  const Array expected = poptorch::inferenceModel(network)(x);
  EXPECT_TRUE(
      allclose(poptorch::inferenceModel(network, Options().deviceIterations(3).replicationFactor(2))(x), expected));
  network.ipus = 3;
  EXPECT_TRUE(allclose(poptorch::inferenceModel(network, Options().deviceIterations(4))(x), expected));
  EXPECT_TRUE(allclose(poptorch::inferenceModel(network, Options().deviceIterations(4).setExecutionStrategy(
                                                             poptorch::ShardedExecution()))(x),
                       expected));
}

TEST(BeginBlock, OnAModuleActsWhenItIsFirstCalled) {
  struct Plain : nn::Module {
    Plain() { register_modules({{"first", first}, {"second", second}, {"loss", loss}}); }
    Tensor forward(Tensor x, Tensor y) { return loss(second(first(x)), y); }
    nn::Linear first{4, 4};
    nn::Sequential second{nn::ReLU(), nn::Linear(4, 3)};
    nn::CrossEntropyLoss loss;
  };
  const auto weights = [](bool blocks) {
    set_random_seed(1);
    Plain model;
    if (blocks) {
      poptorch::BeginBlock(model.first, 0);
      poptorch::BeginBlock(model.second, 1);
    }
    Options options;
    options.Training.gradientAccumulation(2);
    poptorch::trainingModel(model, options, sgd(model))(waves({4, 4}, 1.1), labels(4));
    return model.state_dict();
  };
  EXPECT_LT(distance(weights(false), weights(true)), 1e-6);
}

}  // namespace

}  // namespace pando
