// SPDX-License-Identifier: Apache-2.0
// What make_reference.py computed by PyTorch: from the same inputs and first weights the same outputs, and the same
// weights after ten updates.
#pragma once
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <algorithm>
#include <cmath>

#include "tests/reference.h"

namespace pando::keras {

constexpr double tolerance = 1e-5;
constexpr std::int64_t batch = 8, steps = 10;

inline Array reference(const std::string& name) { return read_reference(PANDO_KERAS_DATA "/reference.npz", name); }

inline Shape with_batch(const Shape& sample) {
  Shape shape = {batch};
  for (std::int64_t size : sample) shape.append(size);
  return shape;
}

inline std::vector<Parameter> weights_of(const std::vector<Layer>& layers) {
  std::vector<Parameter> list;
  for (const Layer& layer : layers)
    for (const Parameter& weight : layer.weights()) list.push_back(weight);
  return list;
}

inline void set_first_weights(const std::vector<Layer>& layers) {
  std::uint32_t number = 2;
  for (Parameter weight : weights_of(layers)) {
    const Shape& shape = weight.shape();
    double limit = 0.5;
    if (const int last = shape.rank() - 1; last > 0) {
      const std::int64_t fans = shape.part(0, last - 1).elements() * (shape[last - 1] + shape[last]);
      limit = std::sqrt(6.0 / static_cast<double>(fans));
    }
    const bool about_one = weight.name().ends_with("gamma") || weight.name().ends_with("variance");
    weight.set_value(hashed(number++, shape, limit, about_one ? 1.0 : 0.0));
  }
}

inline void expect_near(const Array& actual, const std::string& name) {
  const Array expected = reference(name);
  ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape())) << name;
  double difference = 0, norm = 0, largest = 0;
  for (std::int64_t i = 0; i < actual.elements(); ++i) {
    const double a = actual.data<float>()[i], b = expected.data<float>()[i];
    difference += (a - b) * (a - b);
    norm += b * b;
    // Written so that NaN fails.
    if (!(std::abs(a - b) <= largest)) largest = std::abs(a - b);
  }
  EXPECT_LE(std::sqrt(difference / norm), tolerance) << name;
  EXPECT_LE(largest, tolerance) << name;
}

inline void expect_value(double actual, const std::string& name) {
  const double expected = reference(name + ".value").item<double>();
  EXPECT_NEAR(actual, expected, tolerance * std::max(1.0, std::abs(expected))) << name;
}

// All samples are one batch.
inline void take_steps(Model& model, const Array& x, const Array& y) {
  model.fit(x, y, {.batch_size = batch, .epochs = steps, .shuffle = false, .verbose = 0});
}

inline void expect_weights(const std::vector<Layer>& layers, const std::string& name) {
  const std::vector<Parameter> weights = weights_of(layers);
  for (std::size_t i = 0; i < weights.size(); ++i)
    expect_near(weights[i].value(), name + ".weight" + std::to_string(i));
}

}  // namespace pando::keras
