// SPDX-License-Identifier: Apache-2.0
// Initializers: the first values of weights, by Keras's names.
#pragma once
#include <pando/base/array.h>
#include <pando/base/function.h>

namespace pando::keras {

class ConfigFields;

namespace initializers {

// Draws a weight of the given shape; the key chooses the random numbers.
using Draw = Function<Array(const Shape& shape, std::uint64_t key)>;
// Lists the settings for a file that is written or read.
using Describe = Function<void(ConfigFields& fields)>;

// How a weight begins, by its name, as one of the functions below, or of your own.
class PANDO_API Initializer {
 public:
  // "glorot_uniform", "zeros", "he_normal", "HeNormal"... Throws Error with the nearest name.
  Initializer(const char* name) : Initializer(std::string(name)) {}
  Initializer(const std::string& name);
  // A function of the user's; a model that uses it can be saved only if the function is described.
  Initializer(std::string name, Draw draw, Describe describe = {})
      : name_(std::move(name)), draw_(std::move(draw)), describe_(std::move(describe)) {}
  // The class of this name with the settings that a file gives it.
  Initializer(const std::string& name, ConfigFields& fields);

  const std::string& name() const { return name_; }
  Array operator()(const Shape& shape, std::uint64_t key) const { return draw_(shape, key); }
  const Describe& describe() const { return describe_; }

 private:
  std::string name_;
  Draw draw_;
  Describe describe_;
};

// All 0.
PANDO_API Initializer Zeros();
// All 1.
PANDO_API Initializer Ones();
// All this value.
PANDO_API Initializer Constant(double value = 0.0);
// The identity matrix times gain, for matrices.
PANDO_API Initializer Identity(double gain = 1.0);
// A random matrix with orthogonal rows or columns, times gain.
PANDO_API Initializer Orthogonal(double gain = 1.0);

struct RandomNormalOptions {
  double mean = 0.0;
  double stddev = 0.05;
};
// Normally distributed.
PANDO_API Initializer RandomNormal(const RandomNormalOptions& options = {});
// Numbers further than two deviations from the mean are drawn again.
PANDO_API Initializer TruncatedNormal(const RandomNormalOptions& options = {});
struct RandomUniformOptions {
  double minval = -0.05;
  double maxval = 0.05;
};
// Uniform in [minval, maxval).
PANDO_API Initializer RandomUniform(const RandomUniformOptions& options = {});

struct VarianceScalingOptions {
  double scale = 1.0;
  // "fan_in", "fan_out" or "fan_avg"
  std::string mode = "fan_in";
  // "truncated_normal", "untruncated_normal" or "uniform"
  std::string distribution = "truncated_normal";
};
// Random numbers of variance scale / n. `mode` says whether n counts the inputs, the outputs, or is the mean of both.
PANDO_API Initializer VarianceScaling(const VarianceScalingOptions& options = {});
// Uniform, variance 2 / (inputs + outputs). Keras's default for kernels.
PANDO_API Initializer GlorotUniform();
// Truncated normal, variance 2 / (inputs + outputs).
PANDO_API Initializer GlorotNormal();
// Uniform, variance 2 / inputs, for layers with ReLU.
PANDO_API Initializer HeUniform();
// Truncated normal, variance 2 / inputs, for layers with ReLU.
PANDO_API Initializer HeNormal();
// Uniform, variance 1 / inputs.
PANDO_API Initializer LecunUniform();
// Truncated normal, variance 1 / inputs.
PANDO_API Initializer LecunNormal();

}  // namespace initializers

using initializers::Initializer;

}  // namespace pando::keras
