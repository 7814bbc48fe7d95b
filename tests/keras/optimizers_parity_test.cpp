// SPDX-License-Identifier: Apache-2.0
// Every optimizer and schedule against what Keras computes.
#include "tests/keras/reference.h"

using namespace pando;
using namespace pando::keras;
using namespace pando::keras::layers;

namespace {

struct OptimizerCase {
  const char* name;
  Optimizer optimizer;
};

std::vector<OptimizerCase> optimizer_cases() {
  using namespace optimizers;
  using namespace optimizers::schedules;
  return {
      {"sgd", SGD({.learning_rate = 0.1})},
      {"sgd_momentum", SGD({.learning_rate = 0.1, .momentum = 0.9})},
      {"sgd_nesterov", SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true})},
      {"sgd_clipnorm", SGD({.learning_rate = 0.5, .clipnorm = 0.1})},
      {"sgd_global_clipnorm", SGD({.learning_rate = 0.5, .global_clipnorm = 0.2})},
      {"sgd_clipvalue", SGD({.learning_rate = 0.5, .clipvalue = 0.05})},
      {"adam", Adam({.learning_rate = 0.01})},
      {"adam_epsilon", Adam({.learning_rate = 0.05, .beta_1 = 0.8, .beta_2 = 0.9, .epsilon = 0.01})},
      {"adam_clipnorm", Adam({.learning_rate = 0.05, .epsilon = 0.1, .clipnorm = 0.1})},
      {"adamw", AdamW({.learning_rate = 0.01, .weight_decay = 0.1})},
      {"adamw_epsilon",
       AdamW({.learning_rate = 0.05, .weight_decay = 0.1, .beta_1 = 0.8, .beta_2 = 0.9, .epsilon = 0.01})},
      {"nadam", Nadam({.learning_rate = 0.01})},
      {"nadam_epsilon", Nadam({.learning_rate = 0.05, .beta_1 = 0.8, .beta_2 = 0.9, .epsilon = 0.01})},
      {"rmsprop", RMSprop({.learning_rate = 0.01})},
      {"rmsprop_epsilon", RMSprop({.learning_rate = 0.01, .rho = 0.8, .epsilon = 0.01})},
      {"rmsprop_momentum", RMSprop({.learning_rate = 0.01, .momentum = 0.5, .epsilon = 1e-4})},
      {"rmsprop_centered", RMSprop({.learning_rate = 0.01, .epsilon = 1e-4, .centered = true})},
      {"rmsprop_centered_momentum",
       RMSprop({.learning_rate = 0.01, .momentum = 0.5, .epsilon = 1e-4, .centered = true})},
      {"adagrad", Adagrad({.learning_rate = 0.1})},
      {"adagrad_epsilon", Adagrad({.learning_rate = 0.1, .initial_accumulator_value = 0.01, .epsilon = 0.05})},
      {"exponential_decay",
       SGD({.learning_rate = ExponentialDecay({.initial_learning_rate = 0.2, .decay_steps = 3, .decay_rate = 0.5})})},
      {"exponential_decay_staircase",
       SGD({.learning_rate = ExponentialDecay(
                {.initial_learning_rate = 0.2, .decay_steps = 3, .decay_rate = 0.5, .staircase = true})})},
      {"cosine_decay",
       SGD({.learning_rate = CosineDecay({.initial_learning_rate = 0.2, .decay_steps = 8, .alpha = 0.1})})},
      {"polynomial_decay",
       SGD({.learning_rate = PolynomialDecay(
                {.initial_learning_rate = 0.2, .decay_steps = 8, .end_learning_rate = 0.01, .power = 2})})},
      {"piecewise_constant_decay", SGD({.learning_rate = PiecewiseConstantDecay({3, 6}, {0.2, 0.1, 0.05})})},
      {"warm_up", SGD({.learning_rate = WarmUp(
                           4, ExponentialDecay({.initial_learning_rate = 0.2, .decay_steps = 3, .decay_rate = 0.5}))})},
      {"schedule_in_velocity",
       SGD({.learning_rate = ExponentialDecay({.initial_learning_rate = 0.2, .decay_steps = 3, .decay_rate = 0.5}),
            .momentum = 0.9})},
  };
}

class OptimizerParity : public testing::TestWithParam<OptimizerCase> {};

TEST_P(OptimizerParity, WeightsAfterTenStepsAreThoseOfKeras) {
  const std::vector<Layer> layers = {Dense(6, {.activation = "tanh", .input_shape = Shape{5}}), Dense(3)};
  Sequential model(layers);
  set_first_weights(layers);
  model.compile({.optimizer = GetParam().optimizer, .loss = "mse"});
  take_steps(model, hashed(0, {batch, 5}), hashed(1, {batch, 3}));
  expect_weights(layers, GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OptimizerParity, testing::ValuesIn(optimizer_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
