// SPDX-License-Identifier: Apache-2.0
// Walks over strided memory: axes joined as far as they go, and a position that steps through them.
#pragma once
#include <pando/base/shape.h>

#include <vector>

namespace pando::cpu {

// One axis of two walks side by side, say over the input and over the output of a kernel; strides count elements.
struct Axis {
  std::int64_t size;
  std::array<std::int64_t, 2> strides;
};
using Axes = std::vector<Axis>;

inline std::int64_t count_positions(const Axes& axes) {
  std::int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.size;
  return count;
}

// The same walk over fewer axes: none of size 1, and neighbours joined where both walks go on in even steps.
inline Axes collapse(const Axes& axes) {
  Axes result;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    const auto continues = [&](std::size_t walk) {
      return result.back().strides[walk] == axis.strides[walk] * axis.size;
    };
    if (!result.empty() && continues(0) && continues(1)) result.back() = {result.back().size * axis.size, axis.strides};
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

// A position in axes that outlive it.
class Walk {
 public:
  Walk(const Axes& axes, std::int64_t position) : axes_(axes.data()), rank_(static_cast<int>(axes.size())) {
    // Position 0 stands for itself, even in axes that have no positions at all.
    for (int i = rank_ - 1; i >= 0 && position > 0; --i) {
      index_[at(i)] = position % axes_[i].size;
      position /= axes_[i].size;
      for (std::size_t walk : {0, 1}) offsets_[walk] += index_[at(i)] * axes_[i].strides[walk];
    }
  }

  std::int64_t offset(std::size_t walk) const { return offsets_[walk]; }
  std::int64_t index(int axis) const { return index_[at(axis)]; }

  void next() {
    for (int i = rank_ - 1; i >= 0; --i) {
      const Axis& axis = axes_[i];
      for (std::size_t walk : {0, 1}) offsets_[walk] += axis.strides[walk];
      if (++index_[at(i)] < axis.size) return;
      for (std::size_t walk : {0, 1}) offsets_[walk] -= axis.size * axis.strides[walk];
      index_[at(i)] = 0;
    }
  }

 private:
  static std::size_t at(int axis) { return static_cast<std::size_t>(axis); }

  const Axis* axes_;
  int rank_;
  std::array<std::int64_t, Shape::max_rank> index_ = {};
  std::array<std::int64_t, 2> offsets_ = {};
};

// Calls `visit` with a null pointer to an unsigned integer of `bytes` bytes: for kernels that only move elements.
template <class Visit>
void with_element(std::size_t bytes, Visit visit) {
  switch (bytes) {
    case 1: return visit(static_cast<std::uint8_t*>(nullptr));
    case 2: return visit(static_cast<std::uint16_t*>(nullptr));
    case 4: return visit(static_cast<std::uint32_t*>(nullptr));
    default: return visit(static_cast<std::uint64_t*>(nullptr));
  }
}

}  // namespace pando::cpu
