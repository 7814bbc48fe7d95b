// SPDX-License-Identifier: Apache-2.0
// Which kernel computes a gradient of a convolution before a max pooling: one of conv2d_max_pool_input_gradient and
// conv2d_max_pool_weight_gradient, or that of the convolution alone.
#pragma once
#include "backends/cpu/routines.h"
#include "plan/pooled_gradients.h"

namespace pando::cpu {

// `mixed` are the routines of programs that may round factors to bfloat16.
bool prefers_pooled_gradient(const PooledGradientChoice& choice, const Routines& mixed);

}  // namespace pando::cpu
