// SPDX-License-Identifier: Apache-2.0
// Optimizers against the formulas of TensorFlow 1, in double precision.
#include "tests/tf1/programs.h"

#include <algorithm>

namespace pando {

namespace {

using namespace tf::train;

// The loss is the sum of squares of (w - target) * scale, so that the gradient is easily told.
constexpr double target = 0.7, scales[] = {1.0, 0.3, 2.0};
const std::vector<float> start = {1.0F, -2.0F, 0.25F};

double gradient(double w, std::size_t i) { return 2 * scales[i] * scales[i] * (w - target); }

// What is known of one number; `step` counts from 1.
struct Formula {
  double w = 0, m = 0, v = 0, a = 0;
};
using Update = std::function<void(Formula&, double gradient, int step)>;

Tensor loss_of(const Tensor& w) {
  return tf::reduce_sum(tf::square((w - target) * tf::constant(floats({1.0F, 0.3F, 2.0F}))));
}

void expect_formula(const Optimizer& optimizer, const Formula& first, const Update& update) {
  const tf::Variable w(floats(start), {.name = "w"});
  const auto step = compiled([&] { return optimizer.minimize(loss_of(w)); });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  std::vector<Formula> expected(3, first);
  for (std::size_t i = 0; i < 3; ++i) expected[i].w = start[i];
  for (int t = 1; t <= 10; ++t) {
    session.run(step);
    const std::vector<double> values = numbers(session.run(w)[0]);
    for (std::size_t i = 0; i < 3; ++i) {
      update(expected[i], gradient(expected[i].w, i), t);
      EXPECT_NEAR(values[i], expected[i].w, 2e-6 * (1 + std::abs(expected[i].w))) << "step " << t << ", element " << i;
    }
  }
}

TEST_F(Tf1, gradient_descent_follows_its_formula) {
  expect_formula(GradientDescentOptimizer({.learning_rate = 0.05}), {},
                 [](Formula& f, double g, int) { f.w -= 0.05 * g; });
}

TEST_F(Tf1, momentum_follows_its_formula) {
  expect_formula(MomentumOptimizer({.learning_rate = 0.02, .momentum = 0.8}), {}, [](Formula& f, double g, int) {
    f.a = 0.8 * f.a + g;
    f.w -= 0.02 * f.a;
  });
}

TEST_F(Tf1, nesterov_momentum_follows_its_formula) {
  expect_formula(MomentumOptimizer({.learning_rate = 0.02, .momentum = 0.8, .use_nesterov = true}), {},
                 [](Formula& f, double g, int) {
                   f.a = 0.8 * f.a + g;
                   f.w -= 0.02 * (g + 0.8 * f.a);
                 });
}

TEST_F(Tf1, adam_follows_its_formula) {
  expect_formula(AdamOptimizer({.learning_rate = 0.05, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3}), {},
                 [](Formula& f, double g, int t) {
                   f.m = 0.8 * f.m + 0.2 * g;
                   f.v = 0.95 * f.v + 0.05 * g * g;
                   const double rate = 0.05 * std::sqrt(1 - std::pow(0.95, t)) / (1 - std::pow(0.8, t));
                   f.w -= rate * f.m / (std::sqrt(f.v) + 1e-3);
                 });
}

// Its mean square begins with 1, and epsilon is within the root.
TEST_F(Tf1, rmsprop_follows_its_formula) {
  expect_formula(RMSPropOptimizer({.learning_rate = 0.03, .decay = 0.8, .epsilon = 1e-2}), {.v = 1},
                 [](Formula& f, double g, int) {
                   f.v = 0.8 * f.v + 0.2 * g * g;
                   f.w -= 0.03 * g / std::sqrt(f.v + 1e-2);
                 });
}

TEST_F(Tf1, rmsprop_with_momentum_follows_its_formula) {
  expect_formula(RMSPropOptimizer({.learning_rate = 0.03, .decay = 0.8, .momentum = 0.7}), {.v = 1},
                 [](Formula& f, double g, int) {
                   f.v = 0.8 * f.v + 0.2 * g * g;
                   f.a = 0.7 * f.a + 0.03 * g / std::sqrt(f.v + 1e-10);
                   f.w -= f.a;
                 });
}

TEST_F(Tf1, centered_rmsprop_follows_its_formula) {
  for (const double momentum : {0.0, 0.6}) {
    tf::reset_default_graph();
    expect_formula(RMSPropOptimizer({.learning_rate = 0.03, .decay = 0.8, .momentum = momentum, .centered = true}),
                   {.v = 1}, [momentum](Formula& f, double g, int) {
                     f.v = 0.8 * f.v + 0.2 * g * g;
                     f.m = 0.8 * f.m + 0.2 * g;
                     f.a = momentum * f.a + 0.03 * g / std::sqrt(f.v - f.m * f.m + 1e-10);
                     f.w -= f.a;
                   });
  }
}

TEST_F(Tf1, minimize_trains_only_the_variables_of_its_list) {
  const tf::Variable a(Array::scalar(1.0F), {.name = "a"}), b(Array::scalar(1.0F), {.name = "b"});
  const tf::Variable fixed(Array::scalar(1.0F), {.name = "fixed", .trainable = false});
  const GradientDescentOptimizer descent({.learning_rate = 0.5});
  const auto listed = compiled([&] { return descent.minimize(Tensor(a) + b + fixed, {.var_list = {b}}); });
  const auto all = compiled([&] { return descent.minimize(Tensor(a) + b + fixed); });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  const auto values = [&] {
    std::vector<float> list;
    for (const Arrays& value : session.run({a, b, fixed})) list.push_back(value[0].item<float>());
    return list;
  };
  session.run(listed);
  EXPECT_EQ(values(), (std::vector<float>{1.0F, 0.5F, 1.0F}));
  session.run(all);
  EXPECT_EQ(values(), (std::vector<float>{0.5F, 0.0F, 1.0F}));
}

TEST_F(Tf1, gradients_can_be_changed_before_they_are_applied) {
  const tf::Variable w(floats(start), {.name = "w"});
  const GradientDescentOptimizer descent({.learning_rate = 1.0});
  const auto step = compiled([&] {
    std::vector<GradientAndVariable> list = descent.compute_gradients(loss_of(w));
    for (GradientAndVariable& entry : list) {
      EXPECT_EQ(entry.variable, w.parameter());
      entry.gradient = tf::maximum(tf::minimum(entry.gradient, tf::constant(0.5F)), tf::constant(-0.5F));
    }
    return descent.apply_gradients(list);
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(step);
  const std::vector<double> values = numbers(session.run(w)[0]);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(values[i], start[i] - std::clamp(gradient(start[i], i), -0.5, 0.5), 1e-6);
}

TEST_F(Tf1, gradients_of_any_tensor) {
  const Tensor x = tf::placeholder(DType::float32, {3});
  const auto computation = compiled(
      [](Tensor a) -> tf::Outputs {
        const Tensor b = a * 3.0;
        const std::vector<Tensor> slopes = tf::gradients(tf::reduce_sum(tf::square(b)), {a, b});
        return {slopes[0], slopes[1]};
      },
      {x});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  const Arrays slopes = session.run(computation, {{x, floats({1, 2, 3})}});
  EXPECT_EQ(numbers(slopes[0]), (std::vector<double>{18, 36, 54}));
  EXPECT_EQ(numbers(slopes[1]), (std::vector<double>{6, 12, 18}));
}

TEST_F(Tf1, two_optimizers_in_one_step_keep_their_own_states) {
  const tf::Variable a(floats(start), {.name = "a"}), b(floats(start), {.name = "b"});
  const AdamOptimizer adam({.learning_rate = 0.1});
  const auto both = compiled([&]() -> tf::Outputs {
    return {adam.minimize(loss_of(a), {.var_list = {a}}), adam.minimize(loss_of(b) * 1.0, {.var_list = {b}})};
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  for (int i = 0; i < 5; ++i) session.run(both);
  EXPECT_EQ(numbers(session.run(a)[0]), numbers(session.run(b)[0]));
  EXPECT_NE(numbers(session.run(a)[0])[0], 1.0);
}

TEST_F(Tf1, adam_counts_its_own_updates) {
  const AdamOptimizer adam({.learning_rate = 0.1});
  const tf::Variable a(floats(start), {.name = "a"}), b(floats(start), {.name = "b"}), c(floats(start), {.name = "c"});
  const auto update = [&](const tf::Variable& v) { return adam.minimize(loss_of(v), {.var_list = {v}}); };
  const auto computation = compiled([&]() -> tf::Outputs {
    repeat(3, [&] { return update(a); });
    repeat(100, [](Tensor x) { return x + 1.0; }, {tf::constant(0.0F)});
    repeat(3, [&] { return update(b); });
    return {update(c)};
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(computation);
  const auto once = session.run({a, b});
  EXPECT_EQ(numbers(once[0][0]), numbers(once[1][0]));
  session.run(computation);
  session.run(computation);
  EXPECT_EQ(numbers(session.run(c)[0]), numbers(once[0][0]));
}

}  // namespace

}  // namespace pando
