// SPDX-License-Identifier: Apache-2.0
// What users rely on in random numbers, whatever generator makes them; and that the generator is Philox4x32-10.
#include <pando/ops/ops.h>
#include <pando/program/program.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "tests/ops/running.h"

namespace pando::test {
namespace {

using Words = std::array<std::uint32_t, 4>;

// From the file kat_vectors of Random123 1.14: counter, key, result.
struct KnownAnswer {
  Words counter;
  std::array<std::uint32_t, 2> key;
  Words result;
};
const std::vector<KnownAnswer> known_answers = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};

Words words_of(const philox::Block& block) { return {block.word[0], block.word[1], block.word[2], block.word[3]}; }

TEST(Philox, GivesTheKnownAnswers) {
  for (const KnownAnswer& known : known_answers) {
    const Words& c = known.counter;
    EXPECT_EQ(words_of(philox::generate({{c[0], c[1], c[2], c[3]}}, known.key[0], known.key[1])), known.result);
    EXPECT_EQ(philox(c, known.key), known.result);
  }
}

TEST(Philox, TurnsWordsIntoNumbersBelowOne) {
  EXPECT_EQ(philox::uniform(0), 0.0f);
  EXPECT_EQ(philox::uniform(0xffffffff), 1.0f - 0x1p-24f);
}

// The graph of one random op and the counter it is fed.
using Build = std::function<Value(Graph&, Value counter)>;

Tensor draw_with(const Build& build, double update, double first_sample, const Device& on) {
  Graph graph;
  graph.add_output("y", build(graph, ops::input(graph, "counter", DType::int32, {2})));
  Program program(graph, on, Variables());
  const Tensor counter = {DType::int32, {2}, {update, first_sample}};
  return to_tensor(program.step({{"counter", to_array(counter)}}).at("y"));
}

const Device& best() { return device(tested_instruction_sets().back(), 2); }

Build uniform(const Shape& shape, double low, double high, const ops::RandomOptions& options = {}) {
  return [=](Graph&, Value counter) { return ops::random_uniform(counter, shape, low, high, options); };
}
Build normal(const Shape& shape, double mean, double deviation, const ops::RandomOptions& options = {}) {
  return [=](Graph&, Value counter) { return ops::random_normal(counter, shape, mean, deviation, options); };
}
// Applied to ones, so that the result is the mask alone.
Build dropout(const Shape& shape, double rate, const ops::RandomOptions& options = {}) {
  return [=](Graph& graph, Value counter) {
    return ops::dropout(ops::broadcast(ops::scalar(ops::constant(graph, Array(DType::float32, {})), 1), shape), counter,
                        rate, options);
  };
}

double mean_of(const Tensor& x) {
  double sum = 0;
  for (double value : x.values) sum += value;
  return sum / static_cast<double>(x.elements());
}

double variance_of(const Tensor& x) {
  const double mean = mean_of(x);
  double sum = 0;
  for (double value : x.values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(x.elements());
}

double correlation_of(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) sum += (a[i] - mean_of(a)) * (b[i] - mean_of(b));
  return sum / static_cast<double>(a.elements()) / std::sqrt(variance_of(a) * variance_of(b));
}

// 64,000 numbers: a mean is within 5 of its standard errors, 0.02 deviations.
const Shape many = {64, 1000};

TEST(RandomOps, HaveTheMeanAndTheVarianceOfTheirDistribution) {
  const Tensor u = draw_with(uniform(many, -2, 4), 1, 0, best());
  EXPECT_NEAR(mean_of(u), 1, 0.04);
  EXPECT_NEAR(variance_of(u), 3, 0.06);
  EXPECT_GE(*std::min_element(u.values.begin(), u.values.end()), -2);
  EXPECT_LT(*std::max_element(u.values.begin(), u.values.end()), 4);

  const Tensor n = draw_with(normal(many, 3, 2), 1, 0, best());
  EXPECT_NEAR(mean_of(n), 3, 0.04);
  EXPECT_NEAR(variance_of(n), 4, 0.12);
  const auto within = [&](double deviations) {
    double count = 0;
    for (double value : n.values) count += std::abs(value - 3) < 2 * deviations ? 1 : 0;
    return count / static_cast<double>(n.elements());
  };
  EXPECT_NEAR(within(1), 0.6827, 0.01);
  EXPECT_NEAR(within(2), 0.9545, 0.005);

  const Tensor d = draw_with(dropout(many, 0.3), 1, 0, best());
  double dropped = 0;
  for (double value : d.values) dropped += value == 0 ? 1 : 0;
  EXPECT_NEAR(dropped / static_cast<double>(d.elements()), 0.3, 0.01);
  EXPECT_NEAR(mean_of(d), 1, 0.02);
}

TEST(RandomOps, DrawTheSameAgainForTheSameSeedStreamUpdateAndSample) {
  for (const Build& build : {uniform({8, 33}, 0, 1), normal({8, 33}, 0, 1), dropout({8, 33}, 0.5)})
    EXPECT_EQ(bit_difference({draw_with(build, 3, 5, best())}, {draw_with(build, 3, 5, best())}), "");
}

TEST(RandomOps, DrawOtherNumbersForAnotherSeedStreamUpdateOrSample) {
  const auto build = [](std::int64_t seed, std::int64_t stream) {
    return normal({64, 100}, 0, 1, {.seed = seed, .stream = stream});
  };
  const Tensor first = draw_with(build(1, 1), 1, 0, best());
  const std::int64_t high_half = std::int64_t{1} << 32;
  for (const Tensor& other : {draw_with(build(2, 1), 1, 0, best()), draw_with(build(1, 2), 1, 0, best()),
                              draw_with(build(1, 1), 2, 0, best()), draw_with(build(1, 1), 1, 64, best()),
                              draw_with(build(1 + high_half, 1), 1, 0, best())})
    EXPECT_LT(std::abs(correlation_of(first, other)), 0.06);
}

// So that batch size, replicas and stages do not change a run.
TEST(RandomOps, DrawForASampleWhateverBatchItIsIn) {
  for (const std::string& set : tested_instruction_sets())
    for (std::int64_t size : {1, 3, 4, 10, 64}) {
      SCOPED_TRACE(set + " " + std::to_string(size));
      const auto builds = [&](std::int64_t samples) -> std::vector<Build> {
        const Shape shape = {samples, size};
        return {dropout(shape, 0.5), uniform(shape, -1, 1), normal(shape, 0, 1)};
      };
      for (std::size_t kind = 0; kind < 3; ++kind) {
        const Tensor whole = draw_with(builds(8)[kind], 2, 16, device(set, 3));
        Tensor halves = draw_with(builds(4)[kind], 2, 16, device(set, 1));
        const Tensor second = draw_with(builds(4)[kind], 2, 20, device(set, 2));
        halves.values.insert(halves.values.end(), second.values.begin(), second.values.end());
        EXPECT_EQ(bit_difference({halves}, {whole}), "");
      }
    }
}

// A mask must not depend on the machine; the logarithm and the sine of a normal number may by a last bit.
TEST(RandomOps, DropTheSameElementsOnEveryInstructionSet) {
  const Tensor first = draw_with(dropout({33, 37}, 0.5), 1, 2, device("portable", 1));
  for (const std::string& set : tested_instruction_sets())
    EXPECT_EQ(bit_difference({draw_with(dropout({33, 37}, 0.5), 1, 2, device(set, 2))}, {first}), "") << set;
}

TEST(RandomOps, DropInfinitiesToo) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {1, 64}),
              counter = ops::input(graph, "counter", DType::int32, {2});
  graph.add_output("y", ops::dropout(x, counter, 0.5));
  Program program(graph, best(), Variables());
  const Tensor y = to_tensor(
      program.step({{"x", to_array(filled(DType::float32, {1, 64}, INFINITY))}, {"counter", Array(DType::int32, {2})}})
          .at("y"));
  for (double value : y.values) EXPECT_TRUE(value == 0 || value == INFINITY) << value;
}

}  // namespace
}  // namespace pando::test
