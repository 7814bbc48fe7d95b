// SPDX-License-Identifier: Apache-2.0
// A gradient that reads values and positions has the same bits as the dense one. It also replaces dense products of
// bfloat16 unless those are much faster, because its results are more exact. The gradient of a narrow filter reads
// values and positions even when it multiplies the zeros, if nothing else needs them: spread_conv2d_weight_gradient
// makes them in the cache, piece by piece.
#include "backends/cpu/kernels/conv_pool_choice.h"

#include <algorithm>

#include "backends/cpu/kernels/mixed_cost.h"
#include "backends/cpu/kernels/weight_gradient.h"

namespace pando::cpu {

namespace {

// Fewer channels or filters do not fill blocks of bfloat16.
constexpr std::int64_t least_mixed = 32;

// The speed of the products of the dense gradient, relative to those of the sparse one.
double gain_of(const PooledGradientChoice& choice, const MixedMatmulRoutines& mixed) {
  return fills_groups(choice.pooled[0], mixed.image_group) ? mixed.group_gain : mixed.gradient_gain;
}

}  // namespace

bool prefers_pooled_gradient(const PooledGradientChoice& choice, const Routines& mixed) {
  const bool is_mixed = choice.mixed_bfloat16 && std::min(choice.filter[2], choice.filter[3]) >= least_mixed;
  if (!is_mixed && choice.of_filter && !choice.keeps_zeros && choice.filter[3] <= most_small_filters) return true;
  const double gain = is_mixed && mixed.matmul.mixed != nullptr ? gain_of(choice, *mixed.matmul.mixed) : 1;
  return visits_maxima(choice, gain);
}

}  // namespace pando::cpu
