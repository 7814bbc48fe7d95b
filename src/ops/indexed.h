// SPDX-License-Identifier: Apache-2.0
// What the kernels of every backend need to know about elements chosen along an axis.
#pragma once
#include <pando/ops/ops.h>

#include <string_view>

namespace pando {

// The name of a mode is the value of the attribute "mode". Throws InternalError for an unknown name, which shape rules
// refuse.
ops::ScatterMode scatter_mode_named(std::string_view name);

// x as [outer, size, inner], and `count` indices along the middle axis: index i of the element (outer, inner) is at
// outer * outer_step + i * step + inner * inner_step. A step is 0 where indices are repeated.
struct IndexedAxis {
  std::int64_t outer = 1, size = 0, inner = 1, count = 0;
  std::int64_t outer_step = 0, step = 1, inner_step = 0;

  IndexedAxis(const Shape& x, const Shape& indices, int axis);
};

}  // namespace pando
