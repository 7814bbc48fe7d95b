// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/product.h"

namespace pando::cpu {

namespace {

constexpr std::int64_t usual_tiles = 64;

Range share_of(std::int64_t index, std::int64_t parts, std::int64_t count) {
  return {count * index / parts, count * (index + 1) / parts};
}

}  // namespace

TileGrid::TileGrid(const Work& work) : work_(work), splits_(usual_tiles + 1) {
  for (std::int64_t tiles = 1; tiles <= usual_tiles; ++tiles) splits_[static_cast<std::size_t>(tiles)] = choose(tiles);
}

TileGrid::Splits TileGrid::choose(std::int64_t tiles) const {
  Splits best;
  double best_cost = -1;
  for (std::int64_t batches = 1; batches <= tiles; ++batches) {
    if (tiles % batches != 0) continue;
    const std::int64_t rest = tiles / batches;
    for (std::int64_t blocks = 1; blocks <= rest; ++blocks) {
      if (rest % blocks != 0) continue;
      const Splits splits = {batches, blocks, rest / blocks};
      const auto most_batches = static_cast<double>(divide_up(work_.batches, splits.batches));
      const auto most_blocks = static_cast<double>(divide_up(work_.blocks, splits.blocks));
      const auto most_panels = static_cast<double>(divide_up(work_.panels, splits.panels));
      const double cost = most_batches * (most_blocks * most_panels * work_.block_cost + most_blocks * work_.load_rows +
                                          most_panels * work_.load_panel);
      if (best_cost < 0 || cost < best_cost) {
        best = splits;
        best_cost = cost;
      }
    }
  }
  return best;
}

Part TileGrid::part(const Tile& tile) const {
  const Splits splits = tile.count <= usual_tiles ? splits_[static_cast<std::size_t>(tile.count)] : choose(tile.count);
  const std::int64_t panel = tile.index % splits.panels, rest = tile.index / splits.panels;
  return {share_of(rest / splits.blocks, splits.batches, work_.batches),
          share_of(rest % splits.blocks, splits.blocks, work_.blocks), share_of(panel, splits.panels, work_.panels)};
}

}  // namespace pando::cpu
