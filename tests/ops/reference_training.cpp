// SPDX-License-Identifier: Apache-2.0
// Normalisation, updates and random numbers.
#include <cmath>

#include "tests/ops/reference.h"

namespace pando::test {

namespace {

std::int64_t last_size(const Tensor& x) { return x.shape[x.shape.rank() - 1]; }

// The weight of an element's sample; 1 without weights.
double weight_of(const Tensor& x, const Tensor* weights, std::int64_t element) {
  return weights == nullptr ? 1 : (*weights)[unravel(element, x.shape)[0]];
}

// What the weights of a channel's elements add up to, or 1 where nothing counts: its statistics are then 0.
double total_weight(const Tensor& x, const Tensor* weights) {
  double total = 0;
  for (std::int64_t i = 0; i < x.elements(); i += last_size(x)) total += weight_of(x, weights, i);
  return total == 0 ? 1 : total;
}

double square(double x) { return x * x; }

}  // namespace

Tensors batch_norm(const Tensor& x, const Tensor& scale, const Tensor& offset, const Tensor* weights, double epsilon) {
  const std::int64_t channels = last_size(x);
  const double total = total_weight(x, weights);
  Tensor y = x, mean = filled(x.dtype, {channels}), variance = mean, inverse = mean;
  for (std::int64_t i = 0; i < x.elements(); ++i) mean[i % channels] += weight_of(x, weights, i) * x[i] / total;
  for (std::int64_t i = 0; i < x.elements(); ++i)
    variance[i % channels] += weight_of(x, weights, i) * square(x[i] - mean[i % channels]) / total;
  for (std::int64_t c = 0; c < channels; ++c) inverse[c] = 1 / std::sqrt(variance[c] + epsilon);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const std::int64_t c = i % channels;
    y[i] = (x[i] - mean[c]) * inverse[c] * scale[c] + offset[c];
  }
  return {y, mean, variance, inverse};
}

Tensors batch_norm_gradient(const Tensor& dy, const Tensor& x, const Tensor& scale, const Tensor& mean,
                            const Tensor& inverse, const Tensor* weights) {
  const std::int64_t channels = last_size(x);
  const double total = total_weight(x, weights);
  Tensor dx = x, dscale = filled(x.dtype, {channels}), doffset = dscale;
  const auto normalised = [&](std::int64_t i) { return (x[i] - mean[i % channels]) * inverse[i % channels]; };
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    dscale[i % channels] += dy[i] * normalised(i);
    doffset[i % channels] += dy[i];
  }
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const std::int64_t c = i % channels;
    const double share = weight_of(x, weights, i) / total;
    dx[i] = scale[c] * inverse[c] * (dy[i] - share * doffset[c] - share * normalised(i) * dscale[c]);
  }
  return {dx, dscale, doffset};
}

Tensors layer_norm(const Tensor& x, const Tensor& scale, const Tensor& offset, double epsilon) {
  const std::int64_t columns = last_size(x);
  Tensor y = x, mean = filled(x.dtype, x.shape.part(0, x.shape.rank() - 1)), variance = mean, inverse = mean;
  for (std::int64_t i = 0; i < x.elements(); ++i) mean[i / columns] += x[i] / static_cast<double>(columns);
  for (std::int64_t i = 0; i < x.elements(); ++i)
    variance[i / columns] += square(x[i] - mean[i / columns]) / static_cast<double>(columns);
  for (std::int64_t r = 0; r < inverse.elements(); ++r) inverse[r] = 1 / std::sqrt(variance[r] + epsilon);
  for (std::int64_t i = 0; i < x.elements(); ++i)
    y[i] = (x[i] - mean[i / columns]) * inverse[i / columns] * scale[i % columns] + offset[i % columns];
  return {y, mean, inverse};
}

Tensors layer_norm_gradient(const Tensor& dy, const Tensor& x, const Tensor& scale, const Tensor& mean,
                            const Tensor& inverse) {
  const std::int64_t columns = last_size(x);
  Tensor dx = x, dscale = filled(x.dtype, {columns}), doffset = dscale;
  std::vector<double> sums(mean.values.size()), products(mean.values.size());
  const auto normalised = [&](std::int64_t i) { return (x[i] - mean[i / columns]) * inverse[i / columns]; };
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const auto row = static_cast<std::size_t>(i / columns);
    dscale[i % columns] += dy[i] * normalised(i);
    doffset[i % columns] += dy[i];
    sums[row] += dy[i] * scale[i % columns] / static_cast<double>(columns);
    products[row] += dy[i] * scale[i % columns] * normalised(i) / static_cast<double>(columns);
  }
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const auto row = static_cast<std::size_t>(i / columns);
    dx[i] = inverse[i / columns] * (dy[i] * scale[i % columns] - sums[row] - normalised(i) * products[row]);
  }
  return {dx, dscale, doffset};
}

Tensors sgd_update(double rate, const Tensors& group, const ops::SgdOptions& options) {
  Tensor parameter = group[0], velocity = options.momentum != 0 ? group[2] : group[0];
  for (std::int64_t i = 0; i < parameter.elements(); ++i) {
    const double g = group[1][i] + options.weight_decay * parameter[i];
    if (options.momentum == 0) {
      parameter[i] -= rate * g;
    } else if (options.rate_in_velocity) {
      // As Keras keeps it: the velocity is a step, and points downhill.
      velocity[i] = options.momentum * velocity[i] - rate * g;
      parameter[i] += options.nesterov ? options.momentum * velocity[i] - rate * g : velocity[i];
    } else {
      velocity[i] = options.momentum * velocity[i] + g;
      parameter[i] -= rate * (options.nesterov ? g + options.momentum * velocity[i] : velocity[i]);
    }
  }
  return options.momentum == 0 ? Tensors{parameter} : Tensors{parameter, velocity};
}

Tensors adam_update(double rate, double step, const Tensors& group, const ops::AdamOptions& options) {
  Tensor parameter = group[0], first = group[2], second = group[3];
  const double t = step + 1;
  const double correction1 = 1 - std::pow(options.beta1, t), correction2 = 1 - std::pow(options.beta2, t);
  for (std::int64_t i = 0; i < parameter.elements(); ++i) {
    double g = group[1][i];
    if (options.decoupled) parameter[i] -= rate * options.weight_decay * parameter[i];
    else g += options.weight_decay * parameter[i];
    first[i] = options.beta1 * first[i] + (1 - options.beta1) * g;
    second[i] = options.beta2 * second[i] + (1 - options.beta2) * g * g;
    if (options.epsilon_after_correction)
      parameter[i] -= rate * (first[i] / correction1) / (std::sqrt(second[i] / correction2) + options.epsilon);
    else
      parameter[i] -= rate * std::sqrt(correction2) / correction1 * first[i] / (std::sqrt(second[i]) + options.epsilon);
  }
  return {parameter, first, second};
}

Tensors rmsprop_update(double rate, const Tensors& group, const ops::RmspropOptions& options) {
  Tensors result = {group[0]};
  result.insert(result.end(), group.begin() + 2, group.end());
  Tensor &parameter = result[0], &mean_square = result[1];
  for (std::int64_t i = 0; i < parameter.elements(); ++i) {
    const double g = group[1][i];
    mean_square[i] = options.rho * mean_square[i] + (1 - options.rho) * g * g;
    double denominator = mean_square[i];
    if (options.centered) {
      Tensor& mean = result.back();
      mean[i] = options.rho * mean[i] + (1 - options.rho) * g;
      denominator -= square(mean[i]);
    }
    const double root = options.epsilon_inside_root ? std::sqrt(denominator + options.epsilon)
                                                    : std::sqrt(denominator) + options.epsilon;
    if (options.momentum == 0) {
      parameter[i] -= rate * g / root;
    } else {
      Tensor& velocity = result[2];
      velocity[i] = options.momentum * velocity[i] + (options.rate_in_velocity ? rate : 1) * g / root;
      parameter[i] -= (options.rate_in_velocity ? 1 : rate) * velocity[i];
    }
  }
  return result;
}

Tensors adagrad_update(double rate, const Tensors& group, const ops::AdagradOptions& options) {
  Tensor parameter = group[0], sum = group[2];
  for (std::int64_t i = 0; i < parameter.elements(); ++i) {
    const double g = group[1][i];
    sum[i] += g * g;
    const double root =
        options.epsilon_inside_root ? std::sqrt(sum[i] + options.epsilon) : std::sqrt(sum[i]) + options.epsilon;
    parameter[i] -= rate * g / root;
  }
  return {parameter, sum};
}

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  const std::array<std::uint64_t, 2> multipliers = {0xD2511F53, 0xCD9E8D57};
  const std::array<std::uint32_t, 2> weyl = {0x9E3779B9, 0xBB67AE85};
  for (std::uint32_t round = 0; round < 10; ++round) {
    std::array<std::uint32_t, 2> high, low;
    for (std::size_t i : {0, 1}) {
      const std::uint64_t product = multipliers[i] * counter[2 * i];
      high[i] = static_cast<std::uint32_t>(product >> 32);
      low[i] = static_cast<std::uint32_t>(product);
    }
    counter = {high[1] ^ counter[1] ^ (key[0] + round * weyl[0]), low[1],
               high[0] ^ counter[3] ^ (key[1] + round * weyl[1]), low[0]};
  }
  return counter;
}

std::uint32_t random_word(std::uint64_t seed, std::uint32_t stream, std::uint32_t update, std::uint32_t sample,
                          std::int64_t element) {
  const auto block = static_cast<std::uint32_t>(element / 4);
  return philox({block, sample, update, stream},
                {static_cast<std::uint32_t>(seed),
                 static_cast<std::uint32_t>(seed >> 32)})[static_cast<std::size_t>(element % 4)];
}

}  // namespace pando::test
