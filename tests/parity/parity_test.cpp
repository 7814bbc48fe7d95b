// SPDX-License-Identifier: Apache-2.0
// Four training steps against PyTorch: the same initial weights and batches give the same losses and weights.
#include <pando/data/files.h>
#include <pando/program/program.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <tuple>

#include "models.h"

namespace pando {
namespace {

constexpr int steps = 20;
constexpr double tolerance = 1e-5;

Array load(const std::string& name) { return data::read_npy(std::string(PANDO_PARITY_DATA "/") + name + ".npy"); }

// The initial values of tests/parity/README.md.
Array initial(std::uint32_t number, const Shape& shape, std::uint32_t salt) {
  Array array(DType::float32, shape);
  double limit = 0.01;
  if (shape.rank() > 1) {
    const int last = shape.rank() - 1;
    limit = std::sqrt(6.0 / static_cast<double>(shape.part(0, last - 1).elements() * (shape[last - 1] + shape[last])));
  }
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    std::uint32_t h = static_cast<std::uint32_t>(i) * 2654435761u + number * 40503u * 65537u + salt;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    h *= 3266489917u;
    h ^= h >> 16;
    const double u = static_cast<double>(h >> 8) / 16777216.0;
    array.mutable_data<float>()[i] = static_cast<float>((2 * u - 1) * limit);
  }
  return array;
}

float scaled(std::uint8_t pixel, bool normalised) {
  const float x = static_cast<float>(pixel) / 255.0f;
  return normalised ? (x - 0.1307f) / 0.3081f : x;
}

double relative_difference(const Array& a, const Array& b) {
  double difference = 0, norm = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.data<float>()[i], y = b.data<float>()[i];
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return std::sqrt(difference / norm);
}

struct Case {
  const char* model;
  const char* data;
  std::uint32_t salt;
  bool normalised;
};

class Parity : public testing::TestWithParam<std::tuple<Case, std::string>> {};

TEST_P(Parity, TwentyStepsGivePyTorchsLossesAndWeights) {
  const auto& [example, instruction_set] = GetParam();
  const models::TrainingStep step = models::build(example.model);
  const Array images = load(std::string(example.data) + "_images"),
              labels = load(std::string(example.data) + "_labels");
  Variables variables;
  for (std::size_t i = 0; i < step.parameters.size(); ++i)
    variables.set(step.parameters[i].name,
                  initial(static_cast<std::uint32_t>(i), step.parameters[i].shape, example.salt));

  Program program(step.graph, Device({.tiles = 2, .instruction_set = instruction_set}), variables);
  ASSERT_EQ(program.feeds()[0].name, "x");
  Feed feed(program, [&, normalised = example.normalised](std::int64_t number, std::span<std::byte* const> feeds) {
    if (number == steps) return false;
    float* x = reinterpret_cast<float*>(feeds[0]);
    auto* y = reinterpret_cast<std::int32_t*>(feeds[1]);
    const std::int64_t pixels = 784, first = number * step.batch;
    for (std::int64_t i = 0; i < step.batch * pixels; ++i)
      x[i] = scaled(images.data<std::uint8_t>()[first * pixels + i], normalised);
    for (std::int64_t i = 0; i < step.batch; ++i) y[i] = labels.data<std::uint8_t>()[first + i];
    return true;
  });
  const Array losses = load(std::string(example.model) + "_losses");
  for (int i = 0; i < steps; ++i) {
    ASSERT_EQ(program.run(1, feed), 1);
    const double expected = losses.data<double>()[i];
    EXPECT_NEAR(program.output("loss").item<double>(), expected, tolerance * expected) << "step " << i;
  }
  for (const auto& parameter : step.parameters)
    EXPECT_LT(
        relative_difference(variables.get(parameter.name), load(std::string(example.model) + "_" + parameter.name)),
        tolerance)
        << parameter.name;
}

INSTANTIATE_TEST_SUITE_P(
    Models, Parity,
    testing::Combine(testing::Values(Case{"mlp", "mnist", 12345, false}, Case{"keras_cnn", "mnist", 450, false},
                                     Case{"fashion", "fashion", 27, false}, Case{"poptorch_cnn", "mnist", 4, true}),
                     testing::ValuesIn(available_instruction_sets())),
    [](const auto& info) { return std::string(std::get<0>(info.param).model) + "_" + std::get<1>(info.param); });

}  // namespace
}  // namespace pando
