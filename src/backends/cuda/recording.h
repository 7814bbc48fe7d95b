// SPDX-License-Identifier: Apache-2.0
// How a recording divides the time of a kernel among the calls of the Plan that it does.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pando::cuda {

// A call, by its number among all calls of the Plan, and the cycles that it took.
struct CallCycles {
  std::size_t number = 0;
  double cycles = 0;

  friend bool operator==(const CallCycles&, const CallCycles&) = default;
};

struct CallTime {
  std::size_t number = 0;
  std::int64_t begin = 0, end = 0;

  friend bool operator==(const CallTime&, const CallTime&) = default;
};

// Divides the time from `begin` to `end` in proportion to the cycles of calls, in their order and without gaps; in
// equal parts if none of them took any.
std::vector<CallTime> divide_time(std::int64_t begin, std::int64_t end, std::span<const CallCycles> calls);

}  // namespace pando::cuda
