// SPDX-License-Identifier: Apache-2.0
// floating_point_behaviour: a NaN or an infinity ends a run with an error that names the layer, wherever it runs.
#include <limits>

#include "tests/tf1/programs.h"

namespace pando {

namespace {

using ipu::pipelining_ops::pipeline;

constexpr float infinity = std::numeric_limits<float>::infinity();
const tf::train::GradientDescentOptimizer sgd({.learning_rate = 0.01});

void configure_checked(int ipus) {
  tf::reset_default_graph();
  ipu::reset_ipu_configuration();
  ipu::IPUConfig config;
  config.auto_select_ipus = ipus;
  config.tiles_per_ipu = 1;
  config.floating_point_behaviour.set_all = true;
  config.configure_ipu_system();
}

// One of the values is infinite.
Dataset samples() {
  Array x = ones({12, 4}).clone();
  x.mutable_data<float>()[4 * 7] = infinity;
  return Dataset::from_tensor_slices({x}).batch(2, {.drop_remainder = true});
}

struct TwoLayers {
  Tensor loss(const Tensor& x) { return tf::reduce_mean(tf::square(second(x))); }
  keras::Layer first = keras::layers::Dense(4, {.name = "tower/first"}), second = keras::layers::Dense(2);
};

std::string run_twice(const tf::Compiled& computation, const ipu::IPUInfeedQueue& infeed) {
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  session.run(computation);
  return message([&] { session.run(computation); });
}

TEST(Numerics, ALoopNamesTheLayerAndTheUpdate) {
  configure_checked(1);
  const ipu::IPUInfeedQueue infeed(samples());
  TwoLayers model;
  const auto loop = compiled([&] {
    return repeat(
        3, [&](Tensor x) -> tf::Outputs { return {sgd.minimize(model.loss(model.first(x)))}; }, {}, infeed);
  });
  EXPECT_EQ(run_twice(loop, infeed),
            "check_numerics: update 3 made a NaN or an infinity in output 0 of matmul 'tower/first', float32[2, 4]"
            "; lower the learning rate or look at its inputs");
}

// Nothing was taken from the queue by the run that failed, whatever had been read ahead.
TEST(Numerics, ALoopThatFailedBeginsWithTheSameElementsAgain) {
  configure_checked(1);
  const ipu::IPUInfeedQueue infeed(samples());
  const auto add = [](Tensor sum, Tensor x) -> tf::Outputs { return {sum + tf::reduce_sum(x)}; };
  const auto loop = compiled([&] { return repeat(3, add, {tf::constant(0.0F)}, infeed); });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  session.run(loop);
  const std::string first = message([&] { session.run(loop); });
  EXPECT_NE(first.find("made a NaN or an infinity"), std::string::npos);
  EXPECT_EQ(message([&] { session.run(loop); }), first);
}

TEST(Numerics, StraightCodeNamesTheLayer) {
  configure_checked(1);
  const Tensor x = tf::placeholder(DType::float32, {1, 4});
  TwoLayers model;
  const auto step = compiled([&](Tensor t) -> tf::Outputs { return {model.loss(model.first(t))}; }, {x});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(step, {{x, ones({1, 4})}});
  EXPECT_EQ(message([&] {
              session.run(step, {{x, full({1, 4}, infinity)}});
            }),
            "check_numerics: update 1 made a NaN or an infinity in output 0 of matmul 'tower/first', float32[1, 4]"
            "; lower the learning rate or look at its inputs");
}

TEST(Numerics, APipelineNamesTheLayerInStagesAndReplicas) {
  for (const int ipus : {2, 4}) {
    configure_checked(ipus);
    const ipu::IPUInfeedQueue infeed(samples().repeat());
    TwoLayers model;
    const auto minimise = [](const tf::Outputs& outputs) {
      return ipu::pipelining_ops::OptimizerFunctionOutput{sgd, outputs.tensor(0)};
    };
    const auto computation = compiled([&] {
      return pipeline(
          {[&](Tensor x) { return model.first(x); }, [&](Tensor x) { return model.loss(x); }},
          {.gradient_accumulation_count = ipus == 2 ? 3 : 1, .infeed_queue = infeed, .optimizer_function = minimise});
    });
    EXPECT_EQ(run_twice(computation, infeed),
              "check_numerics: update 1 made a NaN or an infinity in output 0 of matmul 'tower/first', float32[2, 4]"
              "; lower the learning rate or look at its inputs");
  }
}

}  // namespace

}  // namespace pando
