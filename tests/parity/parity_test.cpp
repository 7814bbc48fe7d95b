// SPDX-License-Identifier: Apache-2.0
// Four training steps against PyTorch: the same initial weights and batches give the same losses and weights. Pando's
// run in float64, which must be PyTorch's, says what rounding to float32 did to PyTorch's run, and that is what it may
// do to Pando's.
#include <pando/data/files.h>
#include <pando/program/program.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>

#include "models.h"

namespace pando {
namespace {

constexpr int steps = 20;
// How many times as far as PyTorch's run another order of sums, with or without fused multiply-adds, may end.
constexpr double margin = 4;

Array load(const std::string& name) { return data::read_npy(std::string(PANDO_PARITY_DATA "/") + name + ".npy"); }

// The initial values of tests/parity/README.md.
template <class T>
Array initial(std::uint32_t number, const Shape& shape, std::uint32_t salt) {
  Array array(dtype_of<T>, shape);
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
    array.mutable_data<T>()[i] = static_cast<float>((2 * u - 1) * limit);
  }
  return array;
}

template <class T>
T scaled(std::uint8_t pixel, bool normalised) {
  const T x = static_cast<T>(pixel) / T(255);
  return normalised ? (x - T(0.1307)) / T(0.3081) : x;
}

struct Case {
  const char* model;
  const char* data;
  std::uint32_t salt;
  bool normalised;
};

// The losses before each update, and each parameter after the last.
struct Trained {
  std::vector<double> losses = {};
  std::map<std::string, std::vector<double>> parameters = {};
};

template <class T>
std::vector<double> as_doubles(const Array& array) {
  return {array.data<T>(), array.data<T>() + array.elements()};
}

template <class T>
Trained train(const Case& example, const DeviceOptions& device) {
  const models::TrainingStep step = models::build(example.model, dtype_of<T>);
  const Array images = load(std::string(example.data) + "_images"),
              labels = load(std::string(example.data) + "_labels");
  Variables variables;
  for (std::size_t i = 0; i < step.parameters.size(); ++i)
    variables.set(step.parameters[i].name,
                  initial<T>(static_cast<std::uint32_t>(i), step.parameters[i].shape, example.salt));
  Program program(step.graph, Device(device), variables);
  EXPECT_EQ(program.feeds()[0].name, "x");
  Feed feed(program, [&, normalised = example.normalised](std::int64_t number, std::span<std::byte* const> feeds) {
    if (number == steps) return false;
    T* x = reinterpret_cast<T*>(feeds[0]);
    auto* y = reinterpret_cast<std::int32_t*>(feeds[1]);
    const std::int64_t pixels = 784, first = number * step.batch;
    for (std::int64_t i = 0; i < step.batch * pixels; ++i)
      x[i] = scaled<T>(images.data<std::uint8_t>()[first * pixels + i], normalised);
    for (std::int64_t i = 0; i < step.batch; ++i) y[i] = labels.data<std::uint8_t>()[first + i];
    return true;
  });
  Trained trained;
  for (int i = 0; i < steps; ++i) {
    EXPECT_EQ(program.run(1, feed), 1);
    trained.losses.push_back(program.output("loss").item<double>());
  }
  for (const auto& parameter : step.parameters)
    trained.parameters[parameter.name] = as_doubles<T>(variables.get(parameter.name));
  return trained;
}

Trained trained_by_pytorch(const Case& example, const Trained& names) {
  const std::string model = example.model;
  Trained trained = {.losses = as_doubles<double>(load(model + "_losses"))};
  for (const auto& [name, values] : names.parameters)
    trained.parameters[name] = as_doubles<float>(load(model + "_" + name));
  return trained;
}

// Pando's run in float64 on the CPU, of which each model needs one.
const Trained& exact(const Case& example) {
  static std::map<std::string, Trained> runs;
  const auto [found, is_new] = runs.try_emplace(example.model);
  if (is_new) found->second = train<double>(example, {.tiles = 2, .backend = "cpu"});
  return found->second;
}

// The largest relative difference of the losses.
double distance(const std::vector<double>& losses, const std::vector<double>& reference) {
  double largest = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) largest = std::max(largest, std::abs(losses[i] / reference[i] - 1));
  return largest;
}

double relative_norm(const std::vector<double>& values, const std::vector<double>& reference) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    difference += (values[i] - reference[i]) * (values[i] - reference[i]);
    norm += reference[i] * reference[i];
  }
  return std::sqrt(difference / norm);
}

class Parity : public testing::TestWithParam<std::tuple<Case, std::string>> {};

TEST_P(Parity, TwentyStepsInFloat64GivePyTorchsLosses) {
  const auto& [example, instruction_set] = GetParam();
  const std::string model = example.model;
  const std::vector<double> reference = as_doubles<double>(load(model + "_exact_losses"));
  const Trained trained = train<double>(example, {.tiles = 2, .instruction_set = instruction_set, .backend = "cpu"});
  // A rounding of float64 is 2^29 times smaller than one of float32, and moves the losses that much less.
  const double in_float32 = distance(as_doubles<double>(load(model + "_losses")), reference);
  EXPECT_LT(distance(trained.losses, reference),
            margin * std::ldexp(std::max<double>(in_float32, std::numeric_limits<float>::epsilon()), -29));
}

TEST_P(Parity, TwentyStepsGivePyTorchsLossesAndWeights) {
  const auto& [example, instruction_set] = GetParam();
  const Trained &reference = exact(example),
                found = train<float>(example, {.tiles = 2, .instruction_set = instruction_set});
  const Trained pytorch = trained_by_pytorch(example, reference);
  const auto limit = [](double of_pytorch) {
    return margin * std::max<double>(of_pytorch, std::numeric_limits<float>::epsilon());
  };
  EXPECT_LT(distance(found.losses, reference.losses), limit(distance(pytorch.losses, reference.losses)));
  for (const auto& [name, values] : reference.parameters)
    EXPECT_LT(relative_norm(found.parameters.at(name), values),
              limit(relative_norm(pytorch.parameters.at(name), values)))
        << name;
}

INSTANTIATE_TEST_SUITE_P(
    Models, Parity,
    testing::Combine(testing::Values(Case{"mlp", "mnist", 12345, false}, Case{"keras_cnn", "mnist", 450, false},
                                     Case{"fashion", "fashion", 27, false}, Case{"poptorch_cnn", "mnist", 4, true}),
                     testing::ValuesIn(available_instruction_sets())),
    [](const auto& info) { return std::string(std::get<0>(info.param).model) + "_" + std::get<1>(info.param); });

}  // namespace
}  // namespace pando
