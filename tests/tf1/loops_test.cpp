// SPDX-License-Identifier: Apache-2.0
// Loops: they give what their steps give one by one.
#include "tests/tf1/programs.h"

namespace pando {

namespace {

using Numbers = std::vector<double>;

keras::Layer seeded_dropout() {
  set_random_seed(5);
  return keras::layers::Dropout(0.3);
}

// A model, and a step of its training with the optimizer.
struct Training {
  explicit Training(const tf::train::Optimizer& optimizer) : optimizer(optimizer) {}

  tf::Outputs step(const Tensor& x, const Tensor& y) {
    const Tensor logits =
        tf::matmul(dropout(normalise(tf::nn::relu(tf::matmul(x, w)), {.training = true}), {.training = true}), v);
    const Tensor loss = tf::losses::sparse_softmax_cross_entropy(y, logits);
    return {loss, optimizer.minimize(loss)};
  }
  // Those of the layer, too: its moving averages are assigned at every step.
  Arrays values() const {
    Arrays list = {w.parameter().value(), v.parameter().value()};
    for (const Array& value : normalise.get_weights()) list.push_back(value);
    return list;
  }

  tf::train::Optimizer optimizer;
  tf::Variable w{weights(4, 8), {.name = "w"}};
  tf::Variable v{weights(8, 3, 1.0), {.name = "v"}};
  keras::Layer dropout = seeded_dropout(), normalise = keras::layers::BatchNormalization();
};

struct History {
  Numbers losses;
  Arrays weights;
};

void expect_same(const History& a, const History& b) {
  EXPECT_EQ(a.losses, b.losses);
  ASSERT_EQ(a.weights.size(), 6u);
  for (std::size_t i = 0; i < a.weights.size(); ++i) EXPECT_TRUE(array_equal(a.weights[i], b.weights[i])) << i;
}

Dataset few_batches() { return points(20).repeat().batch(8, {.drop_remainder = true}); }

History train_step_by_step(const tf::train::Optimizer& optimizer, int steps) {
  tf::reset_default_graph();
  Training training(optimizer);
  const auto [x, y] = tf::make_one_shot_iterator(few_batches()).get_next<2>();
  const auto step = compiled([&](Tensor bx, Tensor by) { return training.step(bx, by); }, {x, y});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  History history;
  for (int i = 0; i < steps; ++i) history.losses.push_back(session.run(step)[0].item<double>());
  history.weights = training.values();
  return history;
}

History train_in_loops(const tf::train::Optimizer& optimizer, int runs, int steps) {
  tf::reset_default_graph();
  Training training(optimizer);
  const ipu::IPUInfeedQueue infeed(few_batches());
  const ipu::IPUOutfeedQueue outfeed;
  const auto loop = compiled([&] {
    return repeat(
        steps,
        [&](Tensor x, Tensor y) -> tf::Outputs {
          const tf::Outputs step = training.step(x, y);
          return {step.operation(0), outfeed.enqueue({step.tensor(0)})};
        },
        {}, infeed);
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  for (int i = 0; i < runs; ++i) session.run(loop);
  return {numbers(session.run(outfeed.dequeue())[0]), training.values()};
}

class LoopsOfOptimizers : public Tf1, public testing::WithParamInterface<int> {
 protected:
  tf::train::Optimizer optimizer() const {
    switch (GetParam()) {
      case 0: return tf::train::GradientDescentOptimizer({.learning_rate = 0.1});
      case 1: return tf::train::MomentumOptimizer({.learning_rate = 0.1, .use_nesterov = true});
      case 2: return tf::train::RMSPropOptimizer({.momentum = 0.5, .centered = true});
      default: return tf::train::AdamOptimizer({.learning_rate = 0.01});
    }
  }
};
INSTANTIATE_TEST_SUITE_P(all, LoopsOfOptimizers, testing::Range(0, 4));

TEST_P(LoopsOfOptimizers, give_what_their_steps_give) {
  const History steps = train_step_by_step(optimizer(), 12);
  EXPECT_LT(steps.losses.back(), steps.losses.front());
  expect_same(steps, train_in_loops(optimizer(), 1, 12));
  expect_same(steps, train_in_loops(optimizer(), 4, 3));
}

TEST_F(Tf1, the_initializer_begins_a_training_anew) {
  const tf::train::AdamOptimizer adam({.learning_rate = 0.01});
  Training training(adam);
  const ipu::IPUInfeedQueue infeed(few_batches());
  const auto loop = compiled([&]() -> tf::Outputs {
    return repeat(
        5, [&](Tensor total, Tensor x, Tensor y) { return total + training.step(x, y).tensor(0); },
        {tf::constant(0.0F)}, infeed);
  });
  const auto iterator = tf::make_initializable_iterator(few_batches());
  const auto [x, y] = iterator.get_next<2>();
  const auto step = compiled([&](Tensor bx, Tensor by) { return training.step(bx, by); }, {x, y});
  tf::Session session;
  const auto train = [&] {
    session.run(tf::global_variables_initializer());
    session.run(infeed.initializer());
    session.run(iterator.initializer());
    History history;
    for (const tf::Compiled& part : {loop, step, loop, step})
      history.losses.push_back(session.run(part)[0].item<double>());
    history.weights = training.values();
    return history;
  };
  const History first = train();
  expect_same(first, train());
  expect_same(first, train());
}

TEST_F(Tf1, a_loop_carries_values) {
  const Tensor start = tf::placeholder(DType::float32, {});
  const auto fibonacci = compiled(
      [&](Tensor x) -> tf::Outputs {
        const tf::Outputs pair = repeat(10, [](Tensor a, Tensor b) -> tf::Outputs { return {b, a + b}; }, {x * 1.0, x});
        return {pair.tensor(0), pair.tensor(1) - pair.tensor(0), x};
      },
      {start});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  for (float x : {1.0F, 2.0F, 1.0F}) {
    const Arrays results = session.run(fibonacci, {{start, Array::scalar(x)}});
    EXPECT_EQ(results[0].item<float>(), 89 * x);
    EXPECT_EQ(results[1].item<float>(), 55 * x);
    EXPECT_EQ(results[2].item<float>(), x);
  }
}

TEST_F(Tf1, a_loop_without_steps_returns_its_inputs) {
  const tf::Variable v(Array::scalar(1.0F), {.name = "v"});
  const ipu::IPUInfeedQueue infeed(counting(4));
  const ipu::IPUOutfeedQueue outfeed;
  const auto none = compiled([&] {
    return repeat(
        0,
        [&](Tensor x, Tensor e) -> tf::Outputs {
          return {x + e + 1.0, v.assign(x), outfeed.enqueue({x})};
        },
        {tf::constant(5.0F)}, infeed);
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  EXPECT_EQ(session.run(none)[0].item<float>(), 5);
  EXPECT_EQ(session.run(v)[0].item<float>(), 1);
  EXPECT_EQ(message([&] { session.run(outfeed.dequeue()); }),
            "dequeue: the outfeed queue is empty; first run a loop that puts something into it");
}

TEST_F(Tf1, a_while_loop_goes_on_as_long_as_its_condition_holds) {
  const Tensor start = tf::placeholder(DType::float32, {}), limit = tf::placeholder(DType::float32, {});
  const auto doubling = compiled(
      [&](Tensor x) {
        return while_loop([&](Tensor value, Tensor) { return tf::less(value, limit); },
                          [](Tensor value, Tensor count) -> tf::Outputs {
                            return {value * 2.0, count + 1.0};
                          },
                          {x, tf::constant(0.0F)});
      },
      {start});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  const auto run = [&](float from, float to) {
    const Arrays results = session.run(doubling, {{start, Array::scalar(from)}, {limit, Array::scalar(to)}});
    return Numbers({results[0].item<double>(), results[1].item<double>()});
  };
  EXPECT_EQ(run(1, 100), Numbers({128, 7}));
  EXPECT_EQ(run(500, 100), Numbers({500, 0}));
  EXPECT_EQ(run(3, 4), Numbers({6, 1}));
}

TEST_F(Tf1, a_while_loop_sees_the_variables_that_its_body_assigns) {
  const tf::Variable count(Array::scalar(0.0F), {.name = "count"});
  const ipu::IPUInfeedQueue infeed(counting(100));
  const auto loop = compiled([&] {
    return while_loop([&](Tensor) { return tf::less(count, tf::constant(6.0F)); },
                      [&](Tensor sum, Tensor x) -> tf::Outputs {
                        return {sum + x, count.assign(Tensor(count) + 1.0)};
                      },
                      {tf::constant(0.0F)}, infeed);
  });
  tf::Session session;
  session.run(infeed.initializer());
  EXPECT_EQ(
      message([&] { session.run(loop); }),
      "run: the variable 'count' is not initialised in this session; run tf::global_variables_initializer() first");
  session.run(tf::global_variables_initializer());
  EXPECT_EQ(session.run(loop)[0].item<float>(), 0 + 1 + 2 + 3 + 4 + 5);
  EXPECT_EQ(session.run(loop)[0].item<float>(), 0);
  session.run(tf::global_variables_initializer());
  EXPECT_EQ(session.run(loop)[0].item<float>(), 6 + 7 + 8 + 9 + 10 + 11);
}

TEST_F(Tf1, values_go_around_a_loop_and_into_it) {
  const tf::Variable v(Array::scalar(1.0F), {.name = "v"});
  const auto computation = compiled([&]() -> tf::Outputs {
    const Tensor before = Tensor(v) + 1.0;
    const tf::Outputs loop = repeat(4,
                                    [&](Tensor x) -> tf::Outputs {
                                      return {x + before, v.assign(Tensor(v) + x)};
                                    },
                                    {tf::constant(1.0F)});
    return {loop.tensor(0), before, Tensor(v) + before};
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  EXPECT_EQ(session.run(computation)[0].item<float>(), 9);
  // v = 1 + (1 + 3 + 5 + 7) = 17.
  const Arrays results = session.run(computation);
  EXPECT_EQ(results[0].item<float>(), 1 + 4 * 18);
  EXPECT_EQ(results[1].item<float>(), 18);
  EXPECT_EQ(results[2].item<float>(), 17 + (1 + 19 + 37 + 55) + 18);
}

TEST_F(Tf1, loops_in_the_midst_of_which_others_train_use_the_new_weights) {
  const tf::Variable v(Array::scalar(2.0F), {.name = "v"});
  const auto grow = compiled([&] { return repeat(2, [&] { return v.assign(Tensor(v) * 3.0); }); });
  const auto use = compiled([&] { return repeat(2, [&](Tensor x) { return x + v; }, {tf::constant(0.0F)}); });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  EXPECT_EQ(session.run(use)[0].item<float>(), 4);
  session.run(grow);
  EXPECT_EQ(session.run(use)[0].item<float>(), 36);
}

}  // namespace

}  // namespace pando
