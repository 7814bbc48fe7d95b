// SPDX-License-Identifier: Apache-2.0
// Sizes as kernels count them.
#pragma once
#include <pando/base/error.h>

#include <cstdint>
#include <string>

namespace pando::cuda {

// Throws Error if the size is too large for a kernel that counts in 32 bits.
inline std::int32_t narrow(std::int64_t size, const char* op) {
  if (size > 0x7fffffff)
    throw Error(std::string(op) + ": a size of " + std::to_string(size) +
                " is more than a GPU kernel counts; use smaller batches");
  return static_cast<std::int32_t>(size);
}

}  // namespace pando::cuda
