// SPDX-License-Identifier: Apache-2.0
// Capabilities: what a backend wants from the compiler. Passes read them, and none assumes a kind of device.
#pragma once
#include <cstddef>

namespace pando {

struct Capabilities {
  // The most instructions of a fused elementwise program. On a CPU, its registers then stay in the first-level cache.
  std::size_t most_instructions = 32;
  // Whether matmul and convolutions can run an elementwise program on their results.
  bool epilogues = true;
  // Whether the gradients of convolutions in their images can, too.
  bool gradient_epilogues = false;
  // Whether a matmul reads parts of other values where they are, rather than copies of them, and writes its result with
  // its axes in any order.
  bool products_in_place = true;
  // Whether it does so even if both operands are single matrices, not batches of them.
  bool single_products_in_place = true;
  // Whether max pooling goes before bias and activation.
  bool early_pooling = true;
  // Whether there are kernels for ops that stand for two: conv2d_max_pool and its gradients, and matmul_update.
  bool convolution_with_pooling = true, matmul_with_update = true;
  // Whether one kernel updates all parameters.
  bool merged_updates = true;
};

}  // namespace pando
