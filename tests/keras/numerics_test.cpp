// SPDX-License-Identifier: Apache-2.0
// floating_point_behaviour: a NaN or an infinity ends a run with an error that names the layer, wherever it runs.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <limits>

#include "tests/message.h"

namespace pando::keras {

namespace {

void configure(int ipus, const ipu::FloatingPointBehaviour& behaviour) {
  ipu::reset_ipu_configuration();
  ipu::IPUConfig config;
  config.auto_select_ipus = ipus;
  config.tiles_per_ipu = 1;
  config.floating_point_behaviour = behaviour;
  config.configure_ipu_system();
}

struct Layout {
  int stages, ipus;
};

// Its values stay positive, so that ReLU does not make a 0 of an infinity.
Sequential make_model(int stages) {
  Sequential model({layers::Dense(4, {.kernel_initializer = "ones", .input_shape = Shape{3}, .name = "first"}),
                    layers::Dense(4, {.activation = "relu", .kernel_initializer = "ones", .name = "tower/second"}),
                    layers::Dense(1, {.kernel_initializer = "ones", .name = "third"})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 1e-6}), .loss = "mse", .steps_per_execution = 2});
  if (stages > 1) {
    model.set_pipeline_stage_assignment(stages == 2 ? std::vector{0, 1, 1} : std::vector{0, 1, 2});
    model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 2});
  }
  return model;
}

// The weights of the layer are infinite, so it makes the first value that is not finite.
std::string fit_with_infinite(const std::string& layer, int stages) {
  Sequential model = make_model(stages);
  const Array x = ones({16, 3}), y = zeros({16, 1});
  model.fit(x, y, {.batch_size = 2, .verbose = 0});
  for (Layer known : model.layers())
    if (known.name() == layer) {
      std::vector<Array> weights = known.get_weights();
      weights[0] = full(weights[0].shape(), std::numeric_limits<float>::infinity());
      known.set_weights(weights);
    }
  return message([&] { model.fit(x, y, {.batch_size = 2, .verbose = 0}); });
}

TEST(FloatingPointBehaviour, NamesTheLayerOnReplicasAndInStages) {
  for (const Layout& setup : {Layout{1, 1}, {1, 2}, {2, 2}, {2, 4}, {3, 3}}) {
    configure(setup.ipus, {.inv = true});
    const ipu::IPUStrategy strategy;
    const auto scope = strategy.scope();
    for (const std::string layer : {"first", "tower/second", "third"}) {
      const std::string text = fit_with_infinite(layer, setup.stages);
      EXPECT_TRUE(text.starts_with("check_numerics: update ") && text.find("'" + layer + "'") != std::string::npos)
          << setup.stages << " stages on " << setup.ipus << " IPUs: " << text;
    }
  }
}

TEST(FloatingPointBehaviour, SaysWhichUpdateItWas) {
  configure(1, {.set_all = true});
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Sequential model = make_model(1);
  Array x = ones({16, 3}).clone();
  x.mutable_data<float>()[3 * 11] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(message([&] {
              model.fit(x, zeros({16, 1}), {.batch_size = 2, .shuffle = false, .verbose = 0});
            }),
            "check_numerics: update 5 made a NaN or an infinity in output 0 of matmul 'first', float32[2, 4]"
            "; lower the learning rate or look at its inputs");
}

TEST(FloatingPointBehaviour, IsOneCheckWhicheverIsSet) {
  using Behaviour = ipu::FloatingPointBehaviour;
  for (const Behaviour& behaviour : {Behaviour{.inv = true}, {.div0 = true}, {.oflo = true}, {.set_all = true}}) {
    configure(1, behaviour);
    const auto scope = ipu::IPUStrategy().scope();
    EXPECT_TRUE(fit_with_infinite("first", 1).starts_with("check_numerics: "));
  }
  configure(1, {});
  const auto scope = ipu::IPUStrategy().scope();
  EXPECT_EQ(fit_with_infinite("first", 1), "(nothing was thrown)");
}

TEST(FloatingPointBehaviour, IsSetByName) {
  ipu::IPUConfig config;
  for (const char* name : {"inv", "div0", "oflo", "set_all"}) {
    config.set(std::string("floating_point_behaviour.") + name, "true");
    EXPECT_TRUE(config.floating_point_behaviour.checks()) << name;
    config.set(std::string("floating_point_behaviour.") + name, "False");
    EXPECT_FALSE(config.floating_point_behaviour.checks()) << name;
  }
  EXPECT_EQ(message([&] { config.set("floating_point_behaviour.inv", "1"); }),
            "IPUConfig: floating_point_behaviour.inv takes true or false, not '1'");
}

}  // namespace

}  // namespace pando::keras
