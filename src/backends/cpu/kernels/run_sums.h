// SPDX-License-Identifier: Apache-2.0
// Sums over a dimension that is divided among the tiles: pixels of weight gradients, the inner dimension of products.
#pragma once
#include "backends/cpu/kernels/product.h"

namespace pando::cpu {

// Tiles divide the runs among them and leave the sums of each run in the memory that they share. The second part of the
// kernel adds them up in their order, so the result has the bits of one tile that does run after run.
template <class T>
class RunSums {
 public:
  // Elements that share a line of the cache.
  static constexpr std::int64_t line = 64 / sizeof(T);

  RunSums(std::int64_t runs, std::int64_t elements) : runs_(runs), elements_(elements) {}

  // Whether the sums of all runs stay in the caches of that many tiles.
  bool suits(int tiles) const { return bytes() <= most_bytes_of_a_tile * static_cast<std::size_t>(tiles); }
  std::size_t bytes() const { return static_cast<std::size_t>(runs_ * elements_) * sizeof(T); }
  T* of(const Tile& tile, std::int64_t run) const { return reinterpret_cast<T*>(tile.shared) + run * elements_; }
  // The sum over all runs of elements [first, first + count). If they are a part of the sums, those of different runs
  // lie far apart, and the next ones are fetched ahead.
  void add_up(const Tile& tile, std::int64_t first, std::int64_t count, T* to) const {
    constexpr std::int64_t runs_ahead = 4;
    std::copy_n(of(tile, 0) + first, count, to);
    for (std::int64_t run = 1; run < runs_; ++run) {
      if (count < elements_ && run + runs_ahead < runs_) {
        const T* const later = of(tile, run + runs_ahead) + first;
        for (std::int64_t i = 0; i < count; i += line) __builtin_prefetch(later + i);
      }
      const T* const more = of(tile, run) + first;
      for (std::int64_t i = 0; i < count; ++i) to[i] += more[i];
    }
  }

 private:
  static constexpr std::size_t most_bytes_of_a_tile = 1 << 20;

  std::int64_t runs_, elements_;
};

}  // namespace pando::cpu
