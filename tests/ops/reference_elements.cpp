// SPDX-License-Identifier: Apache-2.0
// What elementwise ops compute of one element.
#include <algorithm>
#include <cmath>

#include "tests/ops/reference.h"

namespace pando::test::of_element {

namespace {

double normal_density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0)); }
bool is_pole(double x) { return x <= 0 && x == std::floor(x); }

}  // namespace

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

// What vanishes far from 0 is left out there.
double gelu_derivative(double x) {
  return (1 + std::erf(x / std::sqrt(2.0))) / 2 + (std::abs(x) > 40 ? 0 : x * normal_density(x));
}
double gelu_tanh_derivative(double x) {
  const double factor = std::sqrt(2 / std::acos(-1.0)), tanh = std::tanh(factor * (x + 0.044715 * x * x * x));
  if (std::abs(x) > 40) return x > 0 ? 1 : 0;
  return (1 + tanh) / 2 + x * (1 - tanh * tanh) * factor * (1 + 3 * 0.044715 * x * x) / 2;
}
double silu_derivative(double x) {
  if (std::abs(x) > 800) return x > 0 ? 1 : 0;
  return logistic(x) * (1 + x * (1 - logistic(x)));
}
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double huber(double a, double b) {
  const double error = std::abs(a - b);
  return error <= 0.75 ? error * error / 2 : 0.75 * (error - 0.75 / 2);
}
double cross_entropy(double p, double t) {
  p = std::min(std::max(p, 0.125), 0.875);
  return -(t * std::log(p) + (1 - t) * std::log(1 - p));
}
double erfinv(double x) {
  if (!(std::abs(x) <= 1)) return std::nan("");
  double low = 0, high = 8;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (std::erfc(middle) > 1 - std::abs(x) ? low : high) = middle;
  }
  return std::copysign(std::abs(x) == 1 ? HUGE_VAL : low, x);
}

// The sum over all integers, of which the far ones are an integral and its first corrections.
double digamma(double x) {
  if (is_pole(x)) return x == 0 ? -1 / x : std::nan("");
  double sum = 0, far = x;
  for (int i = 0; i < 1000; ++i, far = x + i) sum += 1 / far;
  return std::log(far) - 0.5 / far - 1 / (12 * far * far) - sum;
}
double trigamma(double x) {
  if (is_pole(x)) return x == -HUGE_VAL ? std::nan("") : HUGE_VAL;
  double sum = 0, far = x;
  for (int i = 0; i < 1000; ++i, far = x + i) sum += 1 / (far * far);
  return sum + 1 / far + 1 / (2 * far * far) + 1 / (6 * far * far * far);
}
double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b); }
double smaller(double a, double b) { return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b); }

}  // namespace pando::test::of_element
