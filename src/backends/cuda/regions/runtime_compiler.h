// SPDX-License-Identifier: Apache-2.0
// Compiles kernels when a program is loaded, by NVRTC, and loads them by the driver. Both libraries are looked for when
// they are first needed; Pando runs without them. Compiled kernels are kept in $XDG_CACHE_HOME/pando/kernels.
#pragma once
#include <cuda_runtime_api.h>

#include <span>
#include <string>
#include <vector>

namespace pando::cuda {

// A kernel in the current context; it stays loaded until the process ends.
struct LoadedKernel {
  void* function = nullptr;

  // Threads of `blocks` blocks, of which `ranks` are a cluster. One that overlaps may begin before the kernel before it
  // in the stream has ended, and waits for that itself.
  void launch(int blocks, int ranks, int threads, std::size_t shared_bytes, std::span<void* const> pointers,
              bool overlaps, cudaStream_t stream) const;
};

// The bytes of a kernel for that architecture (90 is compute capability 9.0), from the cache if it has them. Its
// sources are compiled at the same time and linked. Without the linker they are compiled as one source. `threads`: the
// threads of a block. Throws InternalError with the compiler's messages if a source is wrong.
std::string compiled_kernel(const std::vector<std::string>& sources, int threads, int architecture);
// Loads the kernel `name` of such bytes.
LoadedKernel load_kernel(const std::string& bytes, const std::string& name, int ranks, std::size_t shared_bytes);

// Without the cache.
std::string compile_sources(const std::vector<std::string>& sources, int threads, int architecture);

}  // namespace pando::cuda
