// SPDX-License-Identifier: Apache-2.0
// Where the matrices that a matmul reads lie: those in the last two axes of an operand, which may be a strided view.
#pragma once
#include <algorithm>

#include "plan/plan.h"

namespace pando {

struct Matrices {
  Shape shape;
  // The number of the first element in the buffer, and the steps between elements along each axis.
  std::int64_t first;
  Integers strides;

  explicit Matrices(const Operand& operand)
      : shape(operand.type.shape), first(operand.first), strides(operand.strides) {
    if (strides.empty())
      for (int axis = 0; axis < shape.rank(); ++axis) strides.push_back(shape.stride(axis));
  }

  // The step between the rows of a matrix.
  std::int64_t row_step() const { return strides[strides.size() - 2]; }
  // Whether the rows of all matrices follow each other at one step.
  bool is_one() const {
    for (std::size_t axis = 0; axis + 2 < strides.size(); ++axis)
      if (strides[axis] != shape[static_cast<int>(axis) + 1] * strides[axis + 1]) return false;
    return true;
  }
};

inline bool reads_views(const KernelCall& call) {
  return std::any_of(call.inputs.begin(), call.inputs.end(), [](const Operand& x) { return !x.strides.empty(); });
}

}  // namespace pando
