// SPDX-License-Identifier: Apache-2.0
// Kernels that only move elements: one for each size.
#pragma once
#include "backends/cuda/kernel.h"

namespace pando::cuda {

// Calls visit(E) with an unsigned integer of that many bytes, and returns the kernel that it makes.
template <class Visit>
std::unique_ptr<Kernel> with_element(std::size_t bytes, Visit visit) {
  switch (bytes) {
    case 1: return visit(std::uint8_t{});
    case 2: return visit(std::uint16_t{});
    case 4: return visit(std::uint32_t{});
    default: return visit(std::uint64_t{});
  }
}

}  // namespace pando::cuda
