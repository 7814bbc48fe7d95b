// SPDX-License-Identifier: Apache-2.0
// Kernel: one KernelCall made ready for a backend whose tiles are host threads.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pando {

// What one tile sees while it runs its share of a kernel.
struct Tile {
  int index = 0;
  int count = 1;
  // As many bytes as the kernel asked for, for this tile alone; 64-byte aligned, contents undefined.
  std::byte* scratch = nullptr;
  // By buffer number of the Plan.
  std::byte* const* buffers = nullptr;
  // As many bytes as the kernel asked for, which all tiles share; 64-byte aligned, contents undefined.
  std::byte* shared = nullptr;
  // Where a kernel that meets an index which its table has no row for says so; null if no one asks.
  bool* out_of_range = nullptr;
};

// All tiles run every kernel of a superstep; each tile does its own share. One tile computes each element of an output,
// in an order that does not depend on the number of tiles, so results are bit-equal for any number of tiles.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::size_t scratch_bytes() const { return 0; }
  // Memory in which that many tiles leave partial results for each other. A kernel that asks for some has a second
  // part, finish(), which begins when all tiles have ended the first one.
  virtual std::size_t shared_bytes([[maybe_unused]] int tiles) const { return 0; }
  // Must not allocate, lock, throw or make a system call.
  virtual void run(const Tile& tile) const = 0;
  virtual void finish(const Tile&) const {}
};

struct Range {
  std::int64_t begin, end;
  friend bool operator==(const Range&, const Range&) = default;
};

// The share of a tile in `count` units of work.
inline Range share(const Tile& tile, std::int64_t count) {
  return {count * tile.index / tile.count, count * (tile.index + 1) / tile.count};
}

}  // namespace pando
