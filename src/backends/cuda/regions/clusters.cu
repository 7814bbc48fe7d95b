// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/regions/clusters.h"

#include "backends/cuda/check.h"

namespace pando::cuda {

namespace {

// The runtime answers for a kernel.
__global__ void take_shared_memory() {}

}  // namespace

int clusters_at_once(int ranks, std::size_t shared_bytes) {
  constexpr const char* what = "to say how many clusters run at once";
  check(cudaFuncSetAttribute(take_shared_memory, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes)),
        what);
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(ranks);
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(ranks));
  config.blockDim = dim3(32);
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &cluster;
  config.numAttrs = 1;
  int clusters = 0;
  check(cudaOccupancyMaxActiveClusters(&clusters, take_shared_memory, &config), what);
  return clusters;
}

}  // namespace pando::cuda
