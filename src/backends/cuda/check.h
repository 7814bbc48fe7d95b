// SPDX-License-Identifier: Apache-2.0
// What every call of the CUDA runtime goes through: codes become errors that say what was tried, and what helps.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

namespace pando::cuda {

// Throws Error unless the code is success. `what` was tried: "to copy to the GPU".
void check(cudaError_t code, const char* what);
// The text of the Error when `bytes` for `what` did not fit into what is free on the GPU.
std::string out_of_memory(std::size_t bytes, std::size_t free_bytes, const std::string& what);

}  // namespace pando::cuda
