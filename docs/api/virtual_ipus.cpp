// SPDX-License-Identifier: Apache-2.0
// The examples of the page "Virtual IPUs": configuration, strategies, replicas and pipelines.
#include <gtest/gtest.h>
#include <pando/pando.h>

namespace {

using namespace pando;
namespace layers = pando::keras::layers;

class VirtualIpus : public testing::Test {
 protected:
  void TearDown() override { ipu::reset_ipu_configuration(); }
  keras::datasets::Splits digits = keras::datasets::synthetic_digits::load_data(256, 10);
};

TEST_F(VirtualIpus, Replicas) {
  const auto& [train, test] = digits;
  //! [replicas]
  ipu::IPUConfig config;
  config.auto_select_ipus = 2;  // two virtual IPUs, which share the cores
  config.configure_ipu_system();
  ipu::IPUStrategy strategy;
  auto scope = strategy.scope();

  keras::Sequential model({layers::Flatten(), layers::Rescaling(1.0 / 255), layers::Dense(10)});
  model.compile({.optimizer = "sgd",
                 .loss = keras::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .steps_per_execution = 8,
                 .reduction = ipu::GradientReduction::Mean});
  model.fit(train.x, train.y, {.verbose = 0});  // each replica trains on its own batches
  //! [replicas]
  EXPECT_EQ(strategy.num_ipus(), 2);
}

TEST_F(VirtualIpus, Pipeline) {
  const auto& [train, test] = digits;
  ipu::IPUConfig config;
  config.auto_select_ipus = 2;
  config.configure_ipu_system();
  ipu::IPUStrategy strategy("/device:IPU:0");
  auto scope = strategy.scope();
  //! [pipeline]
  Tensor input = keras::Input({28, 28});
  Tensor x;
  {
    ipu::keras::PipelineStage stage(0);
    x = layers::Flatten()(input);
    x = layers::Dense(32, {.activation = "relu"})(x);
  }
  {
    ipu::keras::PipelineStage stage(1);
    x = layers::Dense(10, {.activation = "softmax"})(x);
  }
  keras::Model model(input, x);
  ipu::keras::PipeliningOptions pipelining{.gradient_accumulation_steps_per_replica = 4,
                                           .pipeline_schedule = ipu::pipelining_ops::PipelineSchedule::Interleaved,
                                           .recomputation = true};
  model.set_pipelining_options(pipelining);
  //! [pipeline]
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .steps_per_execution = 8});
  model.fit(train.x, train.y, {.verbose = 0});
  EXPECT_EQ(model.get_pipeline_stage_assignment().size(), 3u);
}

TEST_F(VirtualIpus, Accumulation) {
  keras::Sequential model({layers::Dense(1)});
  ipu::keras::GradientAccumulationOptions accumulation{.gradient_accumulation_steps_per_replica = 4};
  model.set_gradient_accumulation_options(accumulation);
  model.compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = 4});
  model.fit(ones({64, 3}), ones({64, 1}), {.batch_size = 8, .verbose = 0});
}

TEST_F(VirtualIpus, Workers) {
  ipu::IPUConfig config;
  config.auto_select_ipus = 1;
  config.configure_ipu_system();
  const auto train_on_all = [] {
    //! [workers]
    ipu::IPUMultiWorkerStrategy strategy;  // in a program that mpirun started several times
    auto scope = strategy.scope();
    keras::Sequential model({layers::Dense(1)});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    model.fit(ones({64, 3}), ones({64, 1}), {.batch_size = 8});
    if (strategy.worker_rank() == 0) model.save("model");
    //! [workers]
  };
  // The tests are started alone.
  EXPECT_THROW(train_on_all(), Error);
}

TEST_F(VirtualIpus, Devices) {
  //! [devices]
  ipu::IPUConfig config;
  ipu::Counts one_and_four = {1, 4};  // /device:IPU:0 has one IPU, /device:IPU:1 has four
  config.auto_select_ipus = one_and_four;
  config.tiles_per_ipu = 1;
  ipu::FloatingPointBehaviour checks{.set_all = true};  // a NaN ends the run and names the layer
  config.floating_point_behaviour = checks;
  config.set("auto_select_ipus", "[1, 4]");  // the same, from text
  config.configure_ipu_system();
  for (const DeviceInfo& device : devices()) std::printf("%s: %d IPUs\n", device.name.c_str(), device.ipus);
  //! [devices]
  EXPECT_EQ(devices().size(), 3u);
}

}  // namespace
