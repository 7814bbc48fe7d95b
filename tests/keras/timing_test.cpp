// SPDX-License-Identifier: Apache-2.0
// The bits do not depend on which thread comes first, and more IPUs than cores do no harm.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/random_stream.h"
#include "base/machine/crowding.h"
#include "frontends/keras/run/job.h"
#include "program/state.h"

using namespace pando;
using namespace pando::keras;

namespace {

struct Data {
  Array x = Array(DType::float32, {96, 8}), y = Array(DType::int32, {96});
  Data() {
    RandomStream random(7);
    for (int i = 0; i < 96 * 8; ++i) x.mutable_data<float>()[i] = static_cast<float>(random.normal());
    for (int i = 0; i < 96; ++i) y.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(random.below(3));
  }
};

// Each device sleeps now and then before it works.
class Delays : public StepObserver {
 public:
  explicit Delays(std::uint64_t seed) : seed_(seed) {}
  void begin(int device, Activity kind, std::int64_t micro_batch) override {
    RandomStream random(seed_ + static_cast<std::uint64_t>(device) * 1000 + static_cast<std::uint64_t>(kind) * 100 +
                        static_cast<std::uint64_t>(micro_batch));
    if (random.below(3) == 0) std::this_thread::sleep_for(std::chrono::microseconds(random.below(300)));
    ++seen;
  }
  void end(int, Activity, std::int64_t) override {}

  std::atomic<int> seen = 0;

 private:
  std::uint64_t seed_;
};

void configure(int ipus) {
  ipu::reset_ipu_configuration();
  ipu::IPUConfig config;
  config.auto_select_ipus = ipus;
  config.tiles_per_ipu = 1;
  config.configure_ipu_system();
}

Sequential stack_of(int layers_count) {
  set_random_seed(3);
  Sequential model({layers::Dense(8, {.activation = "tanh", .input_shape = Shape{8}})});
  for (int i = 2; i < layers_count; ++i) model.add(layers::Dense(8, {.activation = "tanh"}));
  model.add(layers::Dense(3, {.activation = "softmax"}));
  return model;
}

std::vector<Array> train(int replicas, int stages, const Data& data, StepObserver* observer) {
  configure(replicas * stages);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Sequential model = stack_of(std::max(2, stages));
  if (stages > 1) {
    std::vector<int> assignment;
    for (int i = 0; i < stages; ++i) assignment.push_back(i);
    model.set_pipeline_stage_assignment(assignment);
    model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 3});
  }
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1, .momentum = 0.9}),
                 .loss = "sparse_categorical_crossentropy",
                 .steps_per_execution = 100});
  const FitOptions options{.batch_size = 4, .epochs = 1, .shuffle = false, .verbose = 0};
  model.fit(data.x, data.y, options);
  Step& step = *Job(model, "test", Mode::train).training().steps.front();
  ProgramInside::set_observer(step.program, observer);
  model.fit(data.x, data.y, options);
  ProgramInside::set_observer(step.program, nullptr);
  const std::vector<Array> weights = model.get_weights();
  for (int replica = 1; replica < replicas; ++replica)
    for (std::size_t i = 0; i < weights.size(); ++i)
      EXPECT_TRUE(array_equal(ProgramInside::variables_of_replica(step.program, replica).get(model.weights()[i].name()),
                              weights[i]))
          << "replica " << replica << ", " << model.weights()[i].name();
  return weights;
}

TEST(Timing, OneThreadForAllIpusGivesTheSameBits) {
  const Data data;
  for (auto [replicas, stages] : {std::pair{1, 3}, {2, 1}, {2, 3}, {3, 2}}) {
    const std::vector<Array> together = train(replicas, stages, data, nullptr);
    Crowding::is_assumed = true;
    const std::vector<Array> alone = train(replicas, stages, data, nullptr);
    Crowding::is_assumed = false;
    for (std::size_t i = 0; i < together.size(); ++i)
      EXPECT_TRUE(array_equal(alone[i], together[i])) << replicas << " replicas of " << stages << " stages";
  }
}

TEST(Timing, DoesNotShowInTheWeights) {
  const Data data;
  const std::vector<Array> calm = train(2, 3, data, nullptr);
  for (std::uint64_t run = 0; run < 20; ++run) {
    Delays delays(run);
    const std::vector<Array> disturbed = train(2, 3, data, &delays);
    EXPECT_GT(delays.seen, 0);
    for (std::size_t i = 0; i < calm.size(); ++i) EXPECT_TRUE(array_equal(calm[i], disturbed[i])) << "run " << run;
  }
}

TEST(Timing, LeavesReplicasWithTheSameBits) {
  const Data data;
  for (int replicas : {2, 3, 5}) train(replicas, 1, data, nullptr);
}

TEST(Timing, AllowsMoreIpusThanCores) {
  const Data data;
  const std::vector<Array> many = train(8, 8, data, nullptr);
  configure(1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Sequential model = stack_of(8);
  // 8 replicas of 3 micro-batches of 4, whose gradients are added.
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1 * 24, .momentum = 0.9}),
                 .loss = "sparse_categorical_crossentropy"});
  model.fit(data.x, data.y, {.batch_size = 96, .epochs = 2, .shuffle = false, .verbose = 0});
  const std::vector<Array> one = model.get_weights();
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(allclose(one[i], many[i], 1e-5, 1e-6));
}

}  // namespace
