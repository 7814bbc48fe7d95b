// SPDX-License-Identifier: Apache-2.0
// Large pages: touching memory for the first time costs less, and neighbours in one page do not collide in the same
// sets of a cache by chance.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace pando {

inline constexpr std::size_t large_page = std::size_t{1} << 21;

// Asks for large pages where whole ones fit; everything also works without them.
inline void use_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  const std::uintptr_t start = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (start + large_page - 1) & ~(large_page - 1), last = (start + bytes) & ~(large_page - 1);
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

}  // namespace pando
