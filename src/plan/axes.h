// SPDX-License-Identifier: Apache-2.0
// The axes of walks over strided memory, joined where possible. The kernels of every backend use them.
#pragma once
#include <pando/graph/attributes.h>

namespace pando {

// One axis of several walks side by side, say over the input and over the output of a kernel; strides count elements.
template <class Strides>
struct WalkAxis {
  std::int64_t size;
  Strides strides;
};
template <class Strides>
using WalkAxes = std::vector<WalkAxis<Strides>>;

template <class Strides>
std::int64_t count_positions(const WalkAxes<Strides>& axes) {
  std::int64_t count = 1;
  for (const auto& axis : axes) count *= axis.size;
  return count;
}

// The same walks over fewer axes: none of size 1, and neighbours joined where all walks go on in even steps.
template <class Strides>
WalkAxes<Strides> collapse(const WalkAxes<Strides>& axes) {
  WalkAxes<Strides> result;
  for (const auto& axis : axes) {
    if (axis.size == 1) continue;
    bool continues = !result.empty();
    for (std::size_t walk = 0; continues && walk < axis.strides.size(); ++walk)
      continues = result.back().strides[walk] == axis.strides[walk] * axis.size;
    if (continues) result.back() = {result.back().size * axis.size, axis.strides};
    else result.push_back(axis);
  }
  return result;
}

// The row-major strides of `shape` when it is broadcast to `target`: 0 along the axes it is repeated.
inline std::vector<std::int64_t> broadcast_strides(const Shape& shape, const Shape& target) {
  std::vector<std::int64_t> strides;
  for (int axis = 0; axis < target.rank(); ++axis) {
    const int own = axis - (target.rank() - shape.rank());
    strides.push_back(own < 0 || (shape[own] == 1 && target[axis] != 1) ? 0 : shape.stride(own));
  }
  return strides;
}

// The axes of a box of the given sizes in memory of the shapes `in` and `out`.
template <class Strides>
WalkAxes<Strides> box_axes(const Shape& sizes, const Shape& in, const Shape& out) {
  WalkAxes<Strides> axes;
  for (int axis = 0; axis < sizes.rank(); ++axis) axes.push_back({sizes[axis], {in.stride(axis), out.stride(axis)}});
  return axes;
}

// The number of elements before the one at `starts`.
inline std::int64_t offset_of(const Integers& starts, const Shape& shape) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) offset += starts[static_cast<std::size_t>(axis)] * shape.stride(axis);
  return offset;
}

}  // namespace pando
