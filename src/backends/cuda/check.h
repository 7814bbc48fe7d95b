// SPDX-License-Identifier: Apache-2.0
// What every call of the CUDA runtime goes through: codes become errors that say what was tried, and what helps.
#pragma once
#include <cuda_runtime_api.h>

namespace pando::cuda {

// Throws Error unless the code is success. `what` was tried: "to copy to the GPU".
void check(cudaError_t code, const char* what);

}  // namespace pando::cuda
