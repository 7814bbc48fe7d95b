// SPDX-License-Identifier: Apache-2.0
// What a training step may cost in addition to its arithmetic: measurements, each with its limit.
#pragma once
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace pando::limits {

struct Measurement {
  std::string what;
  double value = 0;
  std::string unit;
  double limit = 0;
  // The value must reach the limit; otherwise it must stay under it.
  bool at_least = false;

  bool holds() const { return at_least ? value >= limit : value <= limit; }
};

// Each throws Error if it cannot be measured.
std::vector<Measurement> measure_overhead();
std::vector<Measurement> measure_feed();
std::vector<Measurement> measure_memory();

// The work of a fresh process for the first and the last of these; each prints numbers that the parent process reads.
void print_first_step();
void print_memory();

// The numbers that this program, started anew with `argument`, prints. Throws Error if it fails.
std::vector<double> numbers_of_fresh_process(const std::string& argument);

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

using Clock = std::chrono::steady_clock;
inline double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace pando::limits
