// SPDX-License-Identifier: Apache-2.0
// Walks over strided memory: one position, given by its number, in several tensors at once.
#pragma once
#include "base/host_device.h"
#include "plan/axes.h"

namespace pando::cuda {

using Axis = WalkAxis<std::vector<std::int64_t>>;
using Axes = std::vector<Axis>;

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
