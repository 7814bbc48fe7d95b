// SPDX-License-Identifier: Apache-2.0
// Walks over strided memory: one position, given by its number, in several tensors at once.
#pragma once
#include <pando/base/error.h>
#include <pando/base/shape.h>

#include <array>
#include <cstdint>
#include <vector>

#include "base/host_device.h"

namespace pando::cuda {

// An axis of several walks side by side; strides count elements.
struct Axis {
  std::int64_t size;
  std::vector<std::int64_t> strides;
};
using Axes = std::vector<Axis>;

inline std::int64_t count_positions(const Axes& axes) {
  std::int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.size;
  return count;
}

// The same walks over fewer axes: none of size 1, and neighbours joined where all walks go on in even steps.
inline Axes collapse(const Axes& axes) {
  Axes result;
  for (const Axis& axis : axes) {
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

// Axes of two walks as a kernel takes them.
struct TwoWalks {
  int rank = 0;
  std::int64_t size[Shape::max_rank] = {}, first[Shape::max_rank] = {}, second[Shape::max_rank] = {};

  TwoWalks() = default;
  explicit TwoWalks(const Axes& axes) : rank(static_cast<int>(axes.size())) {
    for (int i = 0; i < rank; ++i) {
      const Axis& axis = axes[static_cast<std::size_t>(i)];
      size[i] = axis.size;
      first[i] = axis.strides[0];
      second[i] = axis.strides.size() > 1 ? axis.strides[1] : 0;
    }
  }

  struct Offsets {
    std::int64_t first = 0, second = 0;
  };
  PANDO_HOST_DEVICE Offsets at(std::int64_t position) const {
    Offsets offsets;
    for (int i = rank - 1; i > 0; --i) {
      // Division of 32 bits takes a quarter of the time.
      const bool is_short = (position | size[i]) >> 32 == 0;
      const std::int64_t rest =
          is_short ? static_cast<std::uint32_t>(position) / static_cast<std::uint32_t>(size[i]) : position / size[i];
      const std::int64_t index = position - rest * size[i];
      offsets.first += index * first[i];
      offsets.second += index * second[i];
      position = rest;
    }
    offsets.first += position * first[0];
    offsets.second += position * second[0];
    return offsets;
  }
};

}  // namespace pando::cuda
