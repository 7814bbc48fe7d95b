// SPDX-License-Identifier: Apache-2.0
#include "report/pictures/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pando::plot {

namespace {

constexpr double room = 0.05;
constexpr double most_steps = 8;

// 1, 2 or 5 times a power of ten, so that the span has at most most_steps of them.
double round_step(double span) {
  const double power = std::pow(10, std::floor(std::log10(span / most_steps)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (span / (factor * power) <= most_steps) return factor * power;
  return 10 * power;
}

std::string tick_text(double value, double step, double largest) {
  // The small addition keeps 0.001 from being treated as a little less.
  const int digits = static_cast<int>(std::floor(std::log10(step) + 1e-9));
  if (digits >= -4 && largest < 1e6) return fmt::format("{:.{}f}", value, std::max(0, -digits));
  const int places = static_cast<int>(std::floor(std::log10(largest) + 1e-9)) - digits + 1;
  return fmt::format("{:.{}g}", value, std::max(1, places));
}

void add_ticks(Axis& axis, double step) {
  const double largest = std::max(std::abs(axis.low), std::abs(axis.high));
  const std::int64_t last = static_cast<std::int64_t>(std::floor(axis.high / step));
  for (std::int64_t i = static_cast<std::int64_t>(std::ceil(axis.low / step)); i <= last; ++i) {
    const double value = static_cast<double>(i) * step;
    axis.ticks.push_back({value, tick_text(value, step, largest)});
  }
}

}  // namespace

Axis value_axis(double smallest, double largest) {
  const double size = std::max(std::abs(smallest), std::abs(largest));
  // Differences that come only from rounding should not fill a whole axis.
  const double least_span = size > 0 ? size * 1e-6 : 1e-6;
  if (largest - smallest < least_span) {
    const double half = size > 0 ? size * 0.1 : 1.0;
    smallest -= half;
    largest += half;
  }
  const double around = room * (largest - smallest);
  Axis axis{.low = smallest - around, .high = largest + around};
  add_ticks(axis, round_step(axis.high - axis.low));
  return axis;
}

Axis epoch_axis(std::int64_t epochs) {
  const double last = static_cast<double>(epochs);
  const double around = epochs == 1 ? 0.5 : room * (last - 1);
  Axis axis{.low = 1 - around, .high = last + around};
  add_ticks(axis, std::max(1.0, round_step(last)));
  // There is no epoch 0, nor one after the last.
  std::erase_if(axis.ticks, [&](const Tick& tick) { return tick.value < 1 || tick.value > last; });
  return axis;
}

}  // namespace pando::plot
