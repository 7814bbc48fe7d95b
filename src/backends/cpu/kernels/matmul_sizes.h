// SPDX-License-Identifier: Apache-2.0
// What a matmul needs to know of its factors and its result, and how its inner dimension is cut.
#pragma once
#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace pando::cpu {

// The inner dimension is cut into equal runs no longer than this.
constexpr std::int64_t most_depth = 384;

// The sizes of the product, where each matrix of the batch starts, and the steps between the rows of a matrix; c is the
// result.
struct MatmulSizes {
  bool transpose_a, transpose_b;
  std::int64_t rows, inner, columns;
  std::vector<std::int64_t> a_starts, b_starts, c_starts;
  std::int64_t a_step, b_step, c_step;
  // The shape of the products, before a permutation.
  Shape raw_shape;

  explicit MatmulSizes(const KernelCall& call);
};

// The number of runs of the inner dimension that tiles divide among them: a multiple of a power of two, so that two,
// four or eight tiles get the same number of runs, and few enough for each run to be worth adding up. 0: tiles should
// divide rows and columns. They do so unless few rows meet many weights, because the sums of the runs must be small
// compared with the weights. For an update, the number for the product that reads the updated weights.
std::int64_t divided_runs(const KernelCall& call);

}  // namespace pando::cpu
