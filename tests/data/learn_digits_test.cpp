// SPDX-License-Identifier: Apache-2.0
// The whole way: drawn digits, a graph with its gradients and updates, a feed, and a network that has learnt to read.
#include <pando/pando.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/philox.h"

namespace pando {
namespace {

constexpr std::int64_t batch_size = 50, train_count = 6000, test_count = 1000, epochs = 4;

struct Weight {
  std::string name;
  Shape shape;
};
const std::vector<Weight> weights = {{"filter1", {5, 5, 1, 8}}, {"bias1", {8}},        {"filter2", {3, 3, 8, 16}},
                                     {"bias2", {16}},           {"matrix", {400, 10}}, {"bias3", {10}}};

// Uniform with the deviation of He's initial values.
Array initial_value(std::uint32_t number, const Shape& shape) {
  Array value(DType::float32, shape);
  if (shape.rank() == 1) return value;
  const float limit = std::sqrt(6.0f / static_cast<float>(shape.part(0, shape.rank() - 1).elements()));
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    const philox::Block block = philox::block({1, number, 0, 0}, static_cast<std::uint32_t>(i));
    value.mutable_data<float>()[i] = limit * (2 * philox::uniform(block.word[0]) - 1);
  }
  return value;
}

struct Step {
  Value logits, labels;
  std::vector<Value> w;
};

// What training and testing share; `correct` counts the hits of each step.
Step build_network(Graph& graph) {
  Step step;
  Value x = ops::input(graph, "images", DType::uint8, {batch_size, 28, 28, 1});
  step.labels = ops::cast(ops::input(graph, "labels", DType::uint8, {batch_size}), DType::int32);
  for (const Weight& weight : weights)
    step.w.push_back(ops::variable(graph, weight.name, DType::float32, weight.shape));
  x = ops::cast(x, DType::float32) / 255.0;
  x = ops::relu(ops::conv2d(x, step.w[0], {.strides = {2, 2}}) + step.w[1]);
  x = ops::max_pool(ops::relu(ops::conv2d(x, step.w[2]) + step.w[3]));
  step.logits = ops::matmul(ops::reshape(x, {batch_size, -1}), step.w[4]) + step.w[5];
  const Value hits = ops::cast(ops::equal(ops::argmax(step.logits), step.labels), DType::float32);
  graph.add_output("correct", ops::reduce_sum(hits), true);
  return step;
}

Graph training_graph() {
  Graph graph;
  const Step step = build_network(graph);
  const Value loss = ops::reduce_mean(ops::sparse_softmax_cross_entropy(step.logits, step.labels));
  graph.add_output("loss", loss, true);
  const Value updates = ops::variable(graph, "updates", DType::int32, {});
  graph.assign(updates, updates + 1.0);
  const std::vector<Value> gradient = gradients(loss, step.w);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Value first = ops::variable(graph, weights[i].name + "/first", DType::float32, weights[i].shape);
    const Value second = ops::variable(graph, weights[i].name + "/second", DType::float32, weights[i].shape);
    const std::vector<Value> updated =
        ops::adam_update(ops::scalar(loss, 0.004), updates, step.w[i], gradient[i], {first, second});
    graph.assign(step.w[i], updated[0]);
    graph.assign(first, updated[1]);
    graph.assign(second, updated[2]);
  }
  return graph;
}

Graph testing_graph() {
  Graph graph;
  build_network(graph);
  return graph;
}

FillFeeds batches_of(const datasets::Split& split) {
  return [split](std::int64_t step, std::span<std::byte* const> feeds) {
    const std::int64_t first = step * batch_size % split.y.elements();
    std::memcpy(feeds[0], split.x.raw() + first * 784, batch_size * 784);
    std::memcpy(feeds[1], split.y.raw() + first, batch_size);
    return true;
  };
}

// Runs the steps in one execution and returns the sum of an output over them.
double run(Program& program, const datasets::Split& split, std::int64_t steps, const std::string& output) {
  Feed feed(program, batches_of(split));
  EXPECT_EQ(program.run(steps, feed), steps);
  const Array values = program.output(output);
  double sum = 0;
  for (std::int64_t i = 0; i < steps; ++i) sum += values.data<float>()[i];
  return sum;
}

TEST(LearnDigits, ASmallNetworkReadsDigitsItHasNotSeen) {
  const datasets::Splits digits = datasets::synthetic_digits(train_count, test_count);
  const Device device;
  Variables variables;
  for (std::uint32_t i = 0; i < weights.size(); ++i) variables.set(weights[i].name, initial_value(i, weights[i].shape));
  Program testing(testing_graph(), device, variables);
  const double before = run(testing, digits.test, test_count / batch_size, "correct") / test_count;
  EXPECT_LT(before, 0.3);

  Program training(training_graph(), device, variables);
  const std::int64_t steps = epochs * train_count / batch_size;
  const double loss = run(training, digits.train, steps, "loss") / static_cast<double>(steps);
  EXPECT_TRUE(std::isfinite(loss));
  EXPECT_EQ(variables.get("updates").item<int>(), steps);

  // The same compiled program sees the weights that the other has trained.
  const double after = run(testing, digits.test, test_count / batch_size, "correct") / test_count;
  EXPECT_GT(after, 0.97);
  RecordProperty("accuracy", std::to_string(after));
}

}  // namespace
}  // namespace pando
