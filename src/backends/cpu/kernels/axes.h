// SPDX-License-Identifier: Apache-2.0
// Walks over strided memory: a position that steps through axes.
#pragma once
#include "plan/axes.h"

namespace pando::cpu {

// Two walks side by side.
using Axis = WalkAxis<std::array<std::int64_t, 2>>;
using Axes = std::vector<Axis>;

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
