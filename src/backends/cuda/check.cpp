// SPDX-License-Identifier: Apache-2.0
// Codes of the CUDA runtime as errors for people.
#include "backends/cuda/check.h"

#include <pando/base/error.h>

#include <fmt/format.h>

namespace pando::cuda {

namespace {

const char* remedy_for(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return "use a smaller batch or a smaller model, or end other programs that use the GPU";
    case cudaErrorNoKernelImageForDevice: return "build Pando with -DCMAKE_CUDA_ARCHITECTURES=native for this GPU";
    case cudaErrorDevicesUnavailable: return "another program has the GPU for itself; end it (nvidia-smi names it)";
    case cudaErrorInitializationError:
      return "a child made by fork() cannot use the GPU of its parent; start it as a new process";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorLaunchFailure:
      return "please report it; the process must be started again before it can use the GPU, or use the backend 'cpu'";
    default: return "look at nvidia-smi, or use the backend 'cpu'";
  }
}

}  // namespace

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  // Otherwise the next launch would report it again.
  cudaGetLastError();
  throw Error(fmt::format("the GPU failed {}: {} ({}); {}", what, cudaGetErrorString(code), cudaGetErrorName(code),
                          remedy_for(code)));
}

}  // namespace pando::cuda
