// SPDX-License-Identifier: Apache-2.0
// How many clusters of blocks the GPU runs at once.
#pragma once
#include <cstddef>

namespace pando::cuda {

// The clusters of `ranks` blocks, each with `shared_bytes` of shared memory, that run at once on the current GPU. Only
// for GPUs that have clusters.
int clusters_at_once(int ranks, std::size_t shared_bytes);

}  // namespace pando::cuda
