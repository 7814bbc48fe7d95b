// SPDX-License-Identifier: Apache-2.0
// plan_memory: places values in the arena so that values that are never alive at once share memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pando {

// Memory that is in use from superstep `first` to superstep `last`, both included.
struct Storage {
  std::size_t bytes = 0;
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::size_t offset = 0;
};

// Sets the offsets and returns the size of the arena. Without `share` nothing overlaps.
std::size_t plan_memory(std::vector<Storage>& storages, bool share);

}  // namespace pando
