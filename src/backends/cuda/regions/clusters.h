// SPDX-License-Identifier: Apache-2.0
// How many clusters of blocks the GPU runs at once.
#pragma once
#include <cstddef>

namespace pando::cuda {

// Clusters of that many blocks on the current GPU, which has them; a block takes `shared_bytes` of shared memory.
int clusters_at_once(int ranks, std::size_t shared_bytes);

}  // namespace pando::cuda
