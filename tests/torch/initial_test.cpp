// SPDX-License-Identifier: Apache-2.0
// Initial values are drawn as PyTorch draws them.
#include "tests/torch/reference.h"

#include <algorithm>

using namespace pando;

namespace {

struct Statistics {
  double mean = 0, deviation = 0, largest = 0, count = 0;
};

Statistics statistics_of(const nn::Module& module, const std::string& wanted) {
  for (const auto& [name, parameter] : module.named_parameters())
    if (name == wanted) {
      const Array value = parameter.value();
      Statistics statistics{mean(value).item<double>(), standard_deviation(value).item<double>(), 0,
                            static_cast<double>(value.elements())};
      for (std::int64_t i = 0; i < value.elements(); ++i)
        statistics.largest = std::max(statistics.largest, std::abs(static_cast<double>(value.data<float>()[i])));
      return statistics;
    }
  throw Error("there is no parameter " + wanted);
}

// Within five standard errors, and close to the limit, which chance misses by more than 10 / count of it once in 22,000
// times.
void expect_uniform(const nn::Module& module, const std::string& name, double limit) {
  const Statistics s = statistics_of(module, name);
  const double deviation = limit / std::sqrt(3.0);
  EXPECT_NEAR(s.mean, 0, 5 * deviation / std::sqrt(s.count)) << module << name;
  EXPECT_NEAR(s.deviation, deviation, 5 * deviation * std::sqrt(0.2 / s.count)) << module << name;
  EXPECT_LE(s.largest, limit * (1 + 1e-6)) << module << name;
  EXPECT_GE(s.largest, limit * (1 - 10 / s.count)) << module << name;
}

TEST(InitialValues, OfLinearLayersAreUniformWithinTheRootOfTheirInputs) {
  set_random_seed(1);
  const nn::Conv2d conv(6, 512, {.kernel_size = {3, 5}, .groups = 2});
  const nn::ConvTranspose2d transpose(6, 512, {.kernel_size = {3, 5}, .groups = 2});
  const nn::Linear linear(40, 512);
  for (const std::string name : {"weight", "bias"}) {
    expect_uniform(conv, name, 1 / std::sqrt(3.0 * 3 * 5));
    // PyTorch counts the channels of the output here.
    expect_uniform(transpose, name, 1 / std::sqrt(256.0 * 3 * 5));
    expect_uniform(linear, name, 1 / std::sqrt(40.0));
  }
}

TEST(InitialValues, OfEmbeddingsAreStandardNormal) {
  set_random_seed(1);
  const Statistics s = statistics_of(nn::Embedding(200, 100), "weight");
  EXPECT_NEAR(s.mean, 0, 5 / std::sqrt(s.count));
  EXPECT_NEAR(s.deviation, 1, 5 * std::sqrt(0.5 / s.count));
  // Of 20,000, the largest is below 3 or beyond 6 less than once in 20,000 times.
  EXPECT_GT(s.largest, 3);
  EXPECT_LT(s.largest, 6);
}

TEST(InitialValues, OfNormalizationsAreOnesAndZeros) {
  for (const nn::Module& norm : std::vector<nn::Module>{nn::BatchNorm2d(3), nn::LayerNorm({3})})
    for (const auto& [name, value] : norm.state_dict())
      EXPECT_TRUE(array_equal(value, full({3}, name == "weight" || name == "running_var" ? 1 : 0))) << name;
}

TEST(InitialValues, DependOnTheSeedOnly) {
  const auto draw = [](std::uint64_t seed) {
    set_random_seed(seed);
    return nn::Sequential(nn::Linear(3, 4), nn::Linear(3, 4)).state_dict();
  };
  const nn::StateDict first = draw(1), again = draw(1), other = draw(2);
  EXPECT_TRUE(array_equal(first.at("0.weight"), again.at("0.weight")));
  EXPECT_TRUE(array_equal(first.at("1.weight"), again.at("1.weight")));
  EXPECT_FALSE(array_equal(first.at("0.weight"), first.at("1.weight")));
  EXPECT_FALSE(array_equal(first.at("0.weight"), other.at("0.weight")));
}

}  // namespace
