// SPDX-License-Identifier: Apache-2.0
// To pack boxes of bytes and supersteps as tightly as possible is NP-hard. This is a quick rule that does well: the
// largest first, each at the lowest place that is free while it lives.
#include "plan/plan_memory.h"

#include <algorithm>
#include <numeric>

#include "plan/plan.h"

namespace pando {

namespace {

bool overlap_in_time(const Storage& a, const Storage& b) { return a.first <= b.last && b.first <= a.last; }

// The lowest offset at which `storage` overlaps none of `placed` (sorted by offset) that is alive at the same time.
std::size_t find_gap(const Storage& storage, const std::vector<const Storage*>& placed) {
  std::size_t offset = 0;
  for (const Storage* other : placed) {
    if (!overlap_in_time(storage, *other)) continue;
    if (offset + align(storage.bytes) <= other->offset) break;
    offset = std::max(offset, other->offset + align(other->bytes));
  }
  return offset;
}

}  // namespace

std::size_t plan_memory(std::vector<Storage>& storages, bool share) {
  std::size_t arena = 0;
  if (!share) {
    for (Storage& storage : storages) {
      storage.offset = arena;
      arena += align(storage.bytes);
    }
    return arena;
  }
  // The largest first: small ones then fill the gaps.
  std::vector<std::size_t> order(storages.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return storages[a].bytes > storages[b].bytes; });
  std::vector<const Storage*> placed;
  for (std::size_t i : order) {
    Storage& storage = storages[i];
    storage.offset = find_gap(storage, placed);
    arena = std::max(arena, storage.offset + align(storage.bytes));
    const auto place =
        std::upper_bound(placed.begin(), placed.end(), storage.offset,
                         [](std::size_t offset, const Storage* other) { return offset < other->offset; });
    placed.insert(place, &storage);
  }
  return arena;
}

}  // namespace pando
