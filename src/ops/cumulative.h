// SPDX-License-Identifier: Apache-2.0
// What the kernels of every backend need to know about running totals.
#pragma once
#include <pando/ops/ops.h>

#include <string_view>

namespace pando {

// The name of a mode is the value of the attribute "mode". Throws InternalError for an unknown name, which the shape
// rule refuses.
ops::CumulativeMode cumulative_mode_named(std::string_view name);

// x as [outer, size, inner]: the totals run along the middle axis.
struct RunningAxis {
  std::int64_t outer = 1, size = 0, inner = 1;
  bool reverse = false;

  RunningAxis(const Shape& x, const Attributes& attributes);
  std::int64_t lines() const { return outer * inner; }
};

}  // namespace pando
