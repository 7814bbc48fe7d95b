// SPDX-License-Identifier: Apache-2.0
// Models that several threads use: nothing hangs, nothing is lost, and a model alone gives the same bits.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

Array numbers(const Shape& shape, double factor) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.mutable_data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i) * factor));
  return array;
}

// The same first weights every time, whatever other threads draw meanwhile.
Sequential make_model(std::int64_t steps_per_execution = 4) {
  Sequential model({layers::Dense(16, {.activation = "tanh", .input_shape = Shape{8}}), layers::Dense(2)});
  std::vector<Array> weights = model.get_weights();
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = numbers(weights[i].shape(), 0.3 + static_cast<double>(i));
  model.set_weights(weights);
  model.compile({.optimizer = "adam", .loss = "mse", .steps_per_execution = steps_per_execution});
  return model;
}

const Array& inputs() {
  static const Array x = numbers({64, 8}, 1.7);
  return x;
}
const Array& targets() {
  static const Array y = numbers({64, 2}, 0.9);
  return y;
}

void train(Sequential& model, int epochs = 5) {
  model.fit(inputs(), targets(), {.batch_size = 8, .epochs = epochs, .shuffle = false, .verbose = 0});
}

bool same_bits(const std::vector<Array>& a, const std::vector<Array>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(a[i].raw(), b[i].raw(), a[i].bytes()) != 0) return false;
  return a.size() == b.size();
}

template <class Work>
void in_threads(int count, const Work& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(ModelsInThreads, OnTheHostTrainAsAlone) {
  Sequential alone = make_model();
  train(alone);
  in_threads(4, [&](int) {
    Sequential model = make_model();
    train(model);
    EXPECT_TRUE(same_bits(model.get_weights(), alone.get_weights()));
  });
}

TEST(ModelsInThreads, OfOneStrategyTrainAsAlone) {
  for (int ipus : {1, 2}) {
    ipu::reset_ipu_configuration();
    ipu::IPUConfig config;
    config.auto_select_ipus = ipus;
    config.configure_ipu_system();
    const ipu::IPUStrategy strategy;
    const auto trained = [&] {
      const auto scope = strategy.scope();
      Sequential model = make_model();
      train(model);
      return model.get_weights();
    };
    const std::vector<Array> alone = trained();
    in_threads(4, [&](int) { EXPECT_TRUE(same_bits(trained(), alone)); });
  }
}

TEST(OneModelInThreads, PredictsTheSameForAll) {
  Sequential model = make_model();
  const Array alone = model.predict(inputs());
  in_threads(4, [&](int) {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(same_bits({model.predict(inputs())}, {alone}));
  });
}

TEST(OneModelInThreads, IsBuiltOnceHoweverManyBegin) {
  Sequential model({layers::Dense(16, {.activation = "tanh"}), layers::Dense(2)});
  std::vector<Array> outputs(4);
  in_threads(4, [&](int i) { outputs[static_cast<std::size_t>(i)] = model.predict(inputs()); });
  for (const Array& output : outputs) EXPECT_TRUE(same_bits({output}, {outputs[0]}));
}

TEST(OneModelInThreads, PredictsEvaluatesAndShowsItsWeightsWhileItIsTrained) {
  for (int ipus : {1, 2}) {
    ipu::reset_ipu_configuration();
    ipu::IPUConfig config;
    config.auto_select_ipus = ipus;
    config.configure_ipu_system();
    const ipu::IPUStrategy strategy;
    const auto scope = strategy.scope();
    Sequential alone = make_model(), model = make_model();
    train(alone, 40);
    std::atomic<bool> done = false;
    std::thread training([&] {
      train(model, 40);
      done = true;
    });
    do {
      EXPECT_EQ(model.predict(inputs()).shape(), (Shape{64, 2}));
      model.evaluate(inputs(), targets(), {.verbose = 0});
      model.get_weights();
    } while (!done);
    training.join();
    EXPECT_TRUE(same_bits(model.get_weights(), alone.get_weights()));
    // Replicas that only predict have followed.
    EXPECT_TRUE(same_bits({model.predict(inputs())}, {alone.predict(inputs())}));
  }
}

TEST(OneModelInThreads, IsTrainedInTurns) {
  Sequential alone = make_model(), model = make_model();
  train(alone, 12);
  in_threads(4, [&](int) { train(model, 3); });
  EXPECT_EQ(model.optimizer().iterations(), 12 * 8);
  EXPECT_TRUE(same_bits(model.get_weights(), alone.get_weights()));
}

TEST(OneModelInThreads, IsCompiledAgainBetweenTwoTrainings) {
  Sequential model = make_model();
  in_threads(4, [&](int i) {
    for (int round = 0; round < 20; ++round) {
      if (i == 0) model.compile({.optimizer = "sgd", .loss = "mse"});
      else if (i == 1) train(model, 1);
      else if (i == 2) model.predict(inputs());
      else model.evaluate(inputs(), targets(), {.verbose = 0});
    }
  });
}

data::Dataset mapped(const std::function<Array(const Array&)>& function, bool prefetches) {
  auto dataset = data::Dataset::from_tensor_slices({inputs(), targets()})
                     .batch(8, {.drop_remainder = true})
                     .map([function](const data::Element& e) {
                       return data::Element{function(e[0]), e[1]};
                     })
                     .repeat(10);
  return prefetches ? dataset.prefetch(2) : dataset;
}

TEST(DataPipeline, MayCallAnotherModel) {
  for (bool prefetches : {false, true}) {
    Sequential encoder({layers::Dense(8, {.input_shape = Shape{8}})});
    Sequential model = make_model();
    model.fit(mapped([&](const Array& x) { return encoder.predict(x); }, prefetches), {.verbose = 0});
    EXPECT_EQ(model.optimizer().iterations(), 80);
  }
}

TEST(DataPipeline, MayAskTheModelThatIsTrained) {
  for (bool prefetches : {false, true}) {
    Sequential model = make_model();
    const auto ask = [&](const Array& x) {
      model.get_weights();
      EXPECT_EQ(model.predict(x).shape(), (Shape{8, 2}));
      return x;
    };
    model.fit(mapped(ask, prefetches), {.verbose = 0});
    EXPECT_EQ(model.optimizer().iterations(), 80);
  }
}

TEST(DataPipeline, CannotTrainTheModelThatWaitsForIt) {
  for (bool prefetches : {false, true}) {
    Sequential model({layers::Dense(2, {.input_shape = Shape{8}})}, {.name = "impatient"});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const auto train_inside = [&](const Array& x) {
      model.train_on_batch(inputs(), targets());
      return x;
    };
    EXPECT_EQ(
        message([&] { model.fit(mapped(train_inside, prefetches), {.verbose = 0}); }),
        "train_on_batch: the model 'impatient' is in a call that waits for data that this call helps to make; make "
        "the data with another model that has the same weights");
  }
}

class TrainsInside : public Callback {
 public:
  void on_epoch_end(Model& model, std::int64_t, Logs&) override {
    model.train_on_batch(inputs(), targets());
    model.predict(inputs());
    model.evaluate(inputs(), targets(), {.verbose = 0});
  }
};

TEST(Callbacks, MayTrainTheModelOnTheThreadOfFit) {
  Sequential model = make_model();
  model.fit(inputs(), targets(),
            {.batch_size = 8, .epochs = 2, .verbose = 0, .callbacks = {std::make_shared<TrainsInside>()}});
  EXPECT_EQ(model.optimizer().iterations(), 18);
}

}  // namespace
