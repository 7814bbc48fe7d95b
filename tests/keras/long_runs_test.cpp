// SPDX-License-Identifier: Apache-2.0
// Runs of more updates than 32 bits can count: nothing becomes NaN, waits, or repeats itself.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>
#include <thread>

#include "comm/local_group.h"
#include "frontends/keras/build/optimizer_state.h"
#include "runtime/use_lock.h"

using namespace pando;
using namespace pando::keras;

namespace {

constexpr std::int64_t two_to_31 = std::int64_t{1} << 31, two_to_32 = std::int64_t{1} << 32;

Array numbers(const Shape& shape, double factor) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.mutable_data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i) * factor));
  return array;
}

// The weights after 8 updates that are the first after `updates`.
std::vector<Array> trained(std::int64_t updates, int ipus) {
  ipu::reset_ipu_configuration();
  ipu::IPUConfig config;
  config.auto_select_ipus = ipus;
  config.configure_ipu_system();
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Sequential model({layers::Dense(4, {.input_shape = Shape{3}}), layers::Dense(1)});
  std::vector<Array> weights = model.get_weights();
  for (Array& weight : weights) weight = numbers(weight.shape(), 0.7);
  model.set_weights(weights);
  model.compile({.optimizer = "adam", .loss = "mse", .steps_per_execution = 8});
  model.optimizer().state().iterations = updates;
  model.fit(numbers({16 * ipus, 3}, 1.3), numbers({16 * ipus, 1}, 0.4),
            {.batch_size = 2, .shuffle = false, .verbose = 0});
  EXPECT_EQ(model.optimizer().iterations(), updates + 8);
  return model.get_weights();
}

// After a million updates nothing of Adam's correction of its first moments is left, so that all later ones are alike.
TEST(LongRuns, AdamGoesOnPast32Bits) {
  for (int ipus : {1, 2}) {
    const std::vector<Array> early = trained(1'000'000, ipus);
    for (std::int64_t updates : {two_to_31 - 4, two_to_32 - 4, two_to_32 * 256}) {
      const std::vector<Array> late = trained(updates, ipus);
      for (std::size_t i = 0; i < early.size(); ++i)
        EXPECT_TRUE(array_equal(early[i], late[i])) << updates << " updates, " << ipus << " IPUs";
    }
  }
}

Array mask_of_update(std::int64_t update) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {1, 256});
  const Value counter = ops::input(graph, "counter", DType::int64, {2});
  graph.add_output("y", ops::dropout(x, counter, 0.5));
  Program program(graph, Device({.tiles = 1}), Variables());
  Array values(DType::int64, {2});
  values.mutable_data<std::int64_t>()[0] = update;
  return program.step({{"x", ones({1, 256})}, {"counter", values}}).at("y");
}

TEST(LongRuns, EveryUpdateDropsOtherUnits) {
  const std::int64_t updates[] = {5, 6, two_to_31 - 1, two_to_31, two_to_32 - 1, two_to_32, two_to_32 + 5};
  for (std::int64_t a : updates)
    for (std::int64_t b : updates)
      EXPECT_EQ(array_equal(mask_of_update(a), mask_of_update(b)), a == b) << a << ", " << b;
}

TEST(LongRuns, ReplicasReduceTheSameAfter2To32Barriers) {
  constexpr int members = 3, rounds = 40;
  LocalGroup group(members, 0xfffffff0u);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int member = 0; member < members; ++member)
    threads.emplace_back([&, member] {
      for (int round = 0; round < rounds; ++round) {
        std::vector<float> numbers_of(7, static_cast<float>(member + round));
        const std::vector<std::span<float>> spans = {numbers_of};
        group.all_reduce(member, spans, false);
        for (float number : numbers_of) wrong += number != static_cast<float>(3 * round + 3);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(LongRuns, VariablesAreHeldInTurnAfter2To32Uses) {
  UseLock lock(0xfffffff0u);
  std::int64_t value = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 100; ++round) {
        lock.begin(i != 0);
        if (i != 0) ++value;
        lock.end(i != 0);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value, 200);
}

}  // namespace
