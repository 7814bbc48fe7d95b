// SPDX-License-Identifier: Apache-2.0
// Initializers: the distributions that Keras documents, seen in many numbers.
#include <gtest/gtest.h>
#include <pando/base/array_functions.h>
#include <pando/frontends/keras/initializers.h>

#include <algorithm>
#include <cmath>

#include "tests/message.h"

using namespace pando;
using namespace pando::keras;
using namespace pando::keras::initializers;

namespace {

struct Moments {
  double mean = 0, deviation = 0, smallest = 0, largest = 0;
};

Moments moments(const Array& array) {
  const float* values = array.data<float>();
  const auto count = static_cast<double>(array.elements());
  Moments result{0, 0, values[0], values[0]};
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    result.mean += values[i] / count;
    result.smallest = std::min<double>(result.smallest, values[i]);
    result.largest = std::max<double>(result.largest, values[i]);
  }
  for (std::int64_t i = 0; i < array.elements(); ++i) result.deviation += std::pow(values[i] - result.mean, 2) / count;
  result.deviation = std::sqrt(result.deviation);
  return result;
}

// 60,000 numbers: deviations come out within 1 %, means within 2 % of the deviation.
constexpr std::int64_t inputs = 200, outputs = 300;

void expect_centred(const Moments& seen, double deviation) {
  EXPECT_NEAR(seen.mean, 0, 0.02 * deviation);
  EXPECT_NEAR(seen.deviation, deviation, 0.01 * deviation);
}

void expect_uniform(const Initializer& initializer, const Shape& shape, double limit) {
  SCOPED_TRACE(initializer.name());
  const Moments seen = moments(initializer(shape, 7));
  expect_centred(seen, limit / std::sqrt(3.0));
  EXPECT_GE(seen.smallest, -limit);
  EXPECT_LE(seen.largest, limit);
  EXPECT_LT(seen.smallest, -0.99 * limit);
  EXPECT_GT(seen.largest, 0.99 * limit);
}

// What is left of the normal distribution within two of its deviations has 0.8796 of the deviation.
void expect_truncated(const Initializer& initializer, const Shape& shape, double deviation) {
  SCOPED_TRACE(initializer.name());
  const Moments seen = moments(initializer(shape, 7));
  expect_centred(seen, deviation);
  const double cut = 2 * deviation / 0.87962566103423978;
  EXPECT_GE(seen.smallest, -cut * (1 + 1e-6));
  EXPECT_LE(seen.largest, cut * (1 + 1e-6));
  EXPECT_GT(seen.largest, 0.98 * cut);
}

TEST(Initializers, OfGlorotHeAndLecunHaveTheirLimitsAndDeviations) {
  const Shape shape = {inputs, outputs};
  expect_uniform(GlorotUniform(), shape, std::sqrt(6.0 / (inputs + outputs)));
  expect_uniform(HeUniform(), shape, std::sqrt(6.0 / inputs));
  expect_uniform(LecunUniform(), shape, std::sqrt(3.0 / inputs));
  expect_truncated(GlorotNormal(), shape, std::sqrt(2.0 / (inputs + outputs)));
  expect_truncated(HeNormal(), shape, std::sqrt(2.0 / inputs));
  expect_truncated(LecunNormal(), shape, std::sqrt(1.0 / inputs));
}

TEST(Initializers, CountTheWindowOfAConvolution) {
  const Shape kernel = {3, 5, 40, 100};
  expect_uniform(GlorotUniform(), kernel, std::sqrt(6.0 / (15 * (40 + 100))));
  expect_truncated(HeNormal(), kernel, std::sqrt(2.0 / (15 * 40)));
  // A bias is in and out at once.
  expect_uniform(GlorotUniform(), {60000}, std::sqrt(6.0 / (60000 + 60000)));
}

TEST(Initializers, ScaleTheVarianceAsTold) {
  const Shape shape = {inputs, outputs};
  expect_truncated(VarianceScaling(), shape, std::sqrt(1.0 / inputs));
  expect_truncated(VarianceScaling({.scale = 3.0, .mode = "fan_out"}), shape, std::sqrt(3.0 / outputs));
  expect_uniform(VarianceScaling({.mode = "fan_avg", .distribution = "uniform"}), shape,
                 std::sqrt(6.0 / (inputs + outputs)));
  const Moments normal = moments(VarianceScaling({.distribution = "untruncated_normal"})(shape, 7));
  expect_centred(normal, std::sqrt(1.0 / inputs));
  EXPECT_GT(normal.largest, 3 * std::sqrt(1.0 / inputs));
  EXPECT_EQ(message([] { VarianceScaling({.mode = "fan_on"}); }),
            "VarianceScaling: unknown mode 'fan_on'; did you mean 'fan_in'?");
}

TEST(Initializers, DrawFromPlainDistributions) {
  const Shape shape = {60000};
  expect_uniform(RandomUniform(), shape, 0.05);
  expect_centred(moments(RandomNormal()(shape, 7)), 0.05);
  expect_truncated(TruncatedNormal({.stddev = 0.2}), shape, 0.2 * 0.87962566103423978);
  const Moments moved = moments(RandomUniform({.minval = 2.0, .maxval = 3.0})(shape, 7));
  EXPECT_NEAR(moved.mean, 2.5, 0.01);
  EXPECT_GE(moved.smallest, 2.0);
  EXPECT_LE(moved.largest, 3.0);
  EXPECT_NEAR(moments(RandomNormal({.mean = -1.0, .stddev = 0.5})(shape, 7)).mean, -1.0, 0.01);
}

TEST(Initializers, FillWithNumbersAndIdentities) {
  EXPECT_TRUE(array_equal(Zeros()({2, 3}, 7), zeros({2, 3})));
  EXPECT_TRUE(array_equal(Ones()({2, 3}, 7), ones({2, 3})));
  EXPECT_TRUE(array_equal(Constant(2.5)({2}, 7), Array::of<float>({2.5f, 2.5f}, {2})));
  EXPECT_TRUE(array_equal(Identity(2.0)({2, 3}, 7), Array::of<float>({2, 0, 0, 0, 2, 0}, {2, 3})));
  EXPECT_EQ(message([] { Identity()({3}, 7); }), "Identity: the weight has shape [3] but must have two axes");
}

// The inner products of the rows, or of the columns, whichever are fewer.
void expect_orthogonal(const Shape& shape, double gain) {
  const Array weight = Orthogonal(gain)(shape, 7);
  const std::int64_t columns = shape[shape.rank() - 1], rows = weight.elements() / columns;
  const std::int64_t vectors = std::min(rows, columns), length = std::max(rows, columns);
  const std::int64_t step = columns > rows ? 1 : columns, apart = columns > rows ? columns : 1;
  const float* values = weight.data<float>();
  for (std::int64_t i = 0; i < vectors; ++i)
    for (std::int64_t j = 0; j < vectors; ++j) {
      double product = 0;
      for (std::int64_t k = 0; k < length; ++k)
        product += static_cast<double>(values[i * apart + k * step]) * values[j * apart + k * step];
      EXPECT_NEAR(product, i == j ? gain * gain : 0.0, 1e-5) << i << " and " << j;
    }
}

TEST(Initializers, MakeOrthogonalMatrices) {
  expect_orthogonal({20, 20}, 1.0);
  expect_orthogonal({30, 12}, 1.0);
  expect_orthogonal({12, 30}, 1.5);
  expect_orthogonal({3, 3, 4, 8}, 1.0);
}

TEST(Initializers, DependOnTheKeyOnly) {
  for (const char* name : {"glorot_uniform", "he_normal", "random_normal", "truncated_normal", "orthogonal"}) {
    const Initializer initializer(name);
    EXPECT_TRUE(array_equal(initializer({6, 5}, 1), initializer({6, 5}, 1))) << name;
    EXPECT_FALSE(array_equal(initializer({6, 5}, 1), initializer({6, 5}, 2))) << name;
  }
}

}  // namespace
