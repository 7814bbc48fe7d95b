// SPDX-License-Identifier: Apache-2.0
// Axes: a range and round numbers on it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pando::plot {

struct Tick {
  double value = 0;
  std::string text = {};
};

struct Axis {
  double low = 0, high = 1;
  std::vector<Tick> ticks = {};

  // From 0 at the low end to 1 at the high one.
  double place(double value) const { return (value - low) / (high - low); }
};

// Holds both values with some room around them; also if they are equal.
Axis value_axis(double smallest, double largest);

// Epochs 1 to `epochs`, whole numbers only.
Axis epoch_axis(std::int64_t epochs);

}  // namespace pando::plot
