// SPDX-License-Identifier: Apache-2.0
// When products of bfloat16 are faster than those of float32, although their factors must be rounded first: an
// estimate, so that the choice, and with it the bits, is the same in every run. The figures of the estimate were
// measured (MixedCosts).
#pragma once
#include "backends/cpu/kernels/product.h"

namespace pando::cpu {

// What a kernel does in either precision.
struct MixedWork {
  // Multiply-adds in float32, in whole vectors, and in bfloat16, in whole blocks and steps.
  double products = 0, mixed_products = 0;
  // Elements that are rounded in their order, packed for a product, or transposed one by one.
  double rounded = 0, packed = 0, transposed = 0;
  // Rows of sums that are written, and their elements.
  double rows = 0, results = 0;
};

inline bool pays(const MixedMatmulRoutines& mixed, const MixedWork& work) {
  const MixedCosts& costs = mixed.costs;
  // What the estimate may be off by.
  constexpr double margin = 1.25;
  // In float32 the results cost too, and about a tenth is lost at the edges of blocks.
  const double float32 = 1.1 * work.products + 16 * work.results;
  return margin * (costs.product * work.mixed_products + costs.rounded * work.rounded + costs.packed * work.packed +
                   costs.transposed * work.transposed + costs.row * work.rows + costs.result * work.results) <
         float32;
}

inline std::int64_t round_up(std::int64_t count, std::int64_t step) { return divide_up(count, step) * step; }

// Whether the last group lacks only a few images, so that zeros in their place do not matter.
inline bool fills_groups(std::int64_t images, std::int64_t group) {
  return group > 0 && 4 * images >= 3 * round_up(images, group);
}

}  // namespace pando::cpu
