// SPDX-License-Identifier: Apache-2.0
// Compiles kernels when a program is loaded, by NVRTC, and loads them by the driver. Both libraries are looked for when
// they are first needed; Pando runs without them. Compiled kernels are kept in $XDG_CACHE_HOME/pando/kernels.
#pragma once
#include <cuda_runtime_api.h>

#include <span>
#include <string>

namespace pando::cuda {

// A kernel in the current context; it stays loaded until the process ends.
struct LoadedKernel {
  void* function = nullptr;

  // Threads of `blocks` blocks, of which `ranks` are a cluster.
  void launch(int blocks, int ranks, int threads, std::size_t shared_bytes, std::span<void* const> pointers,
              cudaStream_t stream) const;
};

// Compiles the kernel `name` of a source for that architecture (90 is compute capability 9.0), or takes it from the
// cache. Throws InternalError with the compiler's messages if the source is wrong.
LoadedKernel load_kernel(const std::string& source, const std::string& name, int architecture, int ranks,
                         std::size_t shared_bytes);

// The bytes of a compiled source; without a GPU.
std::string compile_source(const std::string& source, int architecture);

}  // namespace pando::cuda
