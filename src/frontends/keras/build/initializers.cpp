// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/keras/initializers.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random_stream.h"
#include "base/text.h"
#include "frontends/keras/files/config_fields.h"
#include "frontends/keras/build/names.h"

namespace pando::keras::initializers {

namespace {

// The deviation of a normal distribution that is cut off at two of its deviations.
constexpr double truncated_deviation = 0.87962566103423978;

template <class Number>
Array fill(const Shape& shape, const Number& number) {
  Array value(DType::float32, shape);
  float* out = value.mutable_data<float>();
  for (std::int64_t i = 0; i < value.elements(); ++i) out[i] = static_cast<float>(number());
  return value;
}

double truncated_normal(RandomStream& random) {
  for (;;)
    if (const double number = random.normal(); std::abs(number) <= 2.0) return number;
}

struct Fans {
  double in = 1, out = 1;
};

// The fans of a kernel [window..., in, out], as Keras counts them.
Fans fans(const Shape& shape) {
  const int rank = shape.rank();
  if (rank == 0) return {};
  if (rank == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  const double window = static_cast<double>(shape.part(0, rank - 2).elements());
  return {window * static_cast<double>(shape[rank - 2]), window * static_cast<double>(shape[rank - 1])};
}

// The settings of each class. Files of other programs may have seeds; here the layer chooses the random numbers.
struct NoSettings {
  void describe(ConfigFields& fields) { fields.ignored("seed"); }
};
struct ConstantSettings {
  double value = 0.0;
  void describe(ConfigFields& fields) { fields("value", value); }
};
struct GainSettings {
  double gain = 1.0;
  void describe(ConfigFields& fields) {
    fields("gain", gain);
    fields.ignored("seed");
  }
};
struct NormalSettings {
  RandomNormalOptions options = {};
  void describe(ConfigFields& fields) {
    fields("mean", options.mean);
    fields("stddev", options.stddev);
    fields.ignored("seed");
  }
};
struct UniformSettings {
  RandomUniformOptions options = {};
  void describe(ConfigFields& fields) {
    fields("minval", options.minval);
    fields("maxval", options.maxval);
    fields.ignored("seed");
  }
};
struct ScalingSettings {
  VarianceScalingOptions options = {};
  void describe(ConfigFields& fields) {
    fields("scale", options.scale);
    fields("mode", options.mode);
    fields("distribution", options.distribution);
    fields.ignored("seed");
    // The older name of this distribution.
    if (options.distribution == "normal") options.distribution = "truncated_normal";
  }
};

Draw scaled(double scale, const std::string& mode, const std::string& distribution) {
  return [=](const Shape& shape, std::uint64_t key) {
    const Fans fan = fans(shape);
    const double size = mode == "fan_in" ? fan.in : mode == "fan_out" ? fan.out : (fan.in + fan.out) / 2;
    const double variance = scale / std::max(1.0, size);
    RandomStream random(key);
    if (distribution == "uniform") {
      const double limit = std::sqrt(3.0 * variance);
      return fill(shape, [&] { return limit * (2.0 * random.uniform() - 1.0); });
    }
    if (distribution == "untruncated_normal") return fill(shape, [&] { return std::sqrt(variance) * random.normal(); });
    const double deviation = std::sqrt(variance) / truncated_deviation;
    return fill(shape, [&] { return deviation * truncated_normal(random); });
  };
}

Initializer named_scaled(const std::string& name, double scale, const std::string& mode,
                         const std::string& distribution) {
  return {name, scaled(scale, mode, distribution), description_of(NoSettings())};
}

// Rows made orthonormal by Gram-Schmidt, twice for accuracy.
void orthonormalise(std::vector<std::vector<double>>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t j = 0; j < i; ++j) {
        double product = 0;
        for (std::size_t k = 0; k < rows[i].size(); ++k) product += rows[i][k] * rows[j][k];
        for (std::size_t k = 0; k < rows[i].size(); ++k) rows[i][k] -= product * rows[j][k];
      }
    double norm = 0;
    for (double number : rows[i]) norm += number * number;
    for (double& number : rows[i]) number /= std::sqrt(norm);
  }
}

Array orthogonal(const Shape& shape, std::uint64_t key, double gain) {
  if (shape.rank() < 2)
    throw Error(fmt::format("Orthogonal: the weight has shape {} but must have at least two axes", to_string(shape)));
  const auto columns = static_cast<std::size_t>(shape[shape.rank() - 1]);
  const auto rows = static_cast<std::size_t>(shape.elements()) / std::max<std::size_t>(1, columns);
  const bool wide = columns > rows;
  RandomStream random(key);
  std::vector<std::vector<double>> matrix(wide ? rows : columns, std::vector<double>(wide ? columns : rows));
  for (auto& row : matrix)
    for (double& number : row) number = random.normal();
  orthonormalise(matrix);
  std::size_t place = 0;
  return fill(shape, [&] {
    const std::size_t row = place / columns, column = place % columns;
    ++place;
    return gain * (wide ? matrix[row][column] : matrix[column][row]);
  });
}

// Uses the settings of a file, or the defaults without one.
using Make = Function<Initializer(ConfigFields* fields)>;

template <class Settings, class Function>
Make make_with(Function function) {
  return [function](ConfigFields* fields) -> Initializer {
    Settings settings;
    if (fields != nullptr) settings.describe(*fields);
    return function(settings);
  };
}

Make make_plain(Initializer (*function)()) {
  return make_with<NoSettings>([function](const NoSettings&) { return function(); });
}

const std::map<std::string, Make>& by_name() {
  static const std::map<std::string, Make> table = {
      {"zeros", make_plain(Zeros)},
      {"ones", make_plain(Ones)},
      {"constant", make_with<ConstantSettings>([](const auto& settings) { return Constant(settings.value); })},
      {"identity", make_with<GainSettings>([](const auto& settings) { return Identity(settings.gain); })},
      {"orthogonal", make_with<GainSettings>([](const auto& settings) { return Orthogonal(settings.gain); })},
      {"random_normal", make_with<NormalSettings>([](const auto& settings) { return RandomNormal(settings.options); })},
      {"random_uniform",
       make_with<UniformSettings>([](const auto& settings) { return RandomUniform(settings.options); })},
      {"truncated_normal",
       make_with<NormalSettings>([](const auto& settings) { return TruncatedNormal(settings.options); })},
      {"variance_scaling",
       make_with<ScalingSettings>([](const auto& settings) { return VarianceScaling(settings.options); })},
      {"glorot_uniform", make_plain(GlorotUniform)},
      {"glorot_normal", make_plain(GlorotNormal)},
      {"he_uniform", make_plain(HeUniform)},
      {"he_normal", make_plain(HeNormal)},
      {"lecun_uniform", make_plain(LecunUniform)},
      {"lecun_normal", make_plain(LecunNormal)}};
  return table;
}

}  // namespace

Initializer::Initializer(const std::string& name)
    : Initializer(find_by_name("initializer", by_name(), name)(nullptr)) {}
Initializer::Initializer(const std::string& name, ConfigFields& fields)
    : Initializer(find_by_name("initializer", by_name(), name)(&fields)) {}

Initializer Zeros() { return Constant(0.0); }
Initializer Ones() { return Constant(1.0); }
Initializer Constant(double value) {
  const Draw draw = [value](const Shape& shape, std::uint64_t) { return fill(shape, [&] { return value; }); };
  if (value == 0 || value == 1) return {value == 0 ? "zeros" : "ones", draw, description_of(NoSettings())};
  return {"constant", draw, description_of(ConstantSettings{value})};
}
Initializer Identity(double gain) {
  return {"identity",
          [gain](const Shape& shape, std::uint64_t) {
            if (shape.rank() != 2)
              throw Error(fmt::format("Identity: the weight has shape {} but must have two axes", to_string(shape)));
            std::int64_t place = 0;
            return fill(shape, [&] {
              const bool diagonal = place / shape[1] == place % shape[1];
              ++place;
              return diagonal ? gain : 0.0;
            });
          },
          description_of(GainSettings{gain})};
}
Initializer Orthogonal(double gain) {
  return {"orthogonal", [gain](const Shape& shape, std::uint64_t key) { return orthogonal(shape, key, gain); },
          description_of(GainSettings{gain})};
}

Initializer RandomNormal(const RandomNormalOptions& options) {
  return {"random_normal",
          [options](const Shape& shape, std::uint64_t key) {
            RandomStream random(key);
            return fill(shape, [&] { return options.mean + options.stddev * random.normal(); });
          },
          description_of(NormalSettings{options})};
}
Initializer TruncatedNormal(const RandomNormalOptions& options) {
  return {"truncated_normal",
          [options](const Shape& shape, std::uint64_t key) {
            RandomStream random(key);
            return fill(shape, [&] { return options.mean + options.stddev * truncated_normal(random); });
          },
          description_of(NormalSettings{options})};
}
Initializer RandomUniform(const RandomUniformOptions& options) {
  return {"random_uniform",
          [options](const Shape& shape, std::uint64_t key) {
            RandomStream random(key);
            return fill(shape, [&] { return options.minval + (options.maxval - options.minval) * random.uniform(); });
          },
          description_of(UniformSettings{options})};
}

Initializer VarianceScaling(const VarianceScalingOptions& options) {
  check_choice("VarianceScaling", "mode", options.mode, {"fan_in", "fan_out", "fan_avg"});
  check_choice("VarianceScaling", "distribution", options.distribution,
               {"truncated_normal", "untruncated_normal", "uniform"});
  return {"variance_scaling", scaled(options.scale, options.mode, options.distribution),
          description_of(ScalingSettings{options})};
}
Initializer GlorotUniform() { return named_scaled("glorot_uniform", 1.0, "fan_avg", "uniform"); }
Initializer GlorotNormal() { return named_scaled("glorot_normal", 1.0, "fan_avg", "truncated_normal"); }
Initializer HeUniform() { return named_scaled("he_uniform", 2.0, "fan_in", "uniform"); }
Initializer HeNormal() { return named_scaled("he_normal", 2.0, "fan_in", "truncated_normal"); }
Initializer LecunUniform() { return named_scaled("lecun_uniform", 1.0, "fan_in", "uniform"); }
Initializer LecunNormal() { return named_scaled("lecun_normal", 1.0, "fan_in", "truncated_normal"); }

}  // namespace pando::keras::initializers
