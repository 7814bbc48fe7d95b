// SPDX-License-Identifier: Apache-2.0
// How a product is cut into tiles: a choice by sizes, which tests/cuda checks without a GPU.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/host_device.h"

namespace pando::cuda {

// sum over depth of a(batch, row, depth) * b(batch, column, depth).
struct ProductSizes {
  std::int32_t rows = 0, columns = 0, depth = 0, batches = 1;
};

// Elements of a block and of each of its threads.
template <int rows_, int columns_, int thread_rows_, int thread_columns_>
struct Tiling {
  static constexpr int rows = rows_, columns = columns_, thread_rows = thread_rows_, thread_columns = thread_columns_;
  static constexpr int depth = 16;
  static constexpr int threads_across = columns / thread_columns;
  static constexpr int threads = rows / thread_rows * threads_across;
};

enum class TileKind { large, medium, tall, small };

struct TileChoice {
  TileKind tile = TileKind::small;
  std::int32_t splits = 1;
  std::int64_t blocks = 0;
};

namespace tiling {

inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct Extent {
  std::int64_t rows, columns;
};
inline Extent extent(TileKind tile) {
  switch (tile) {
    case TileKind::large: return {128, 128};
    case TileKind::medium: return {64, 64};
    case TileKind::tall: return {128, 32};
    default: return {32, 32};
  }
}
inline constexpr std::int64_t tile_depth = 16;

}  // namespace tiling

// Splits the depth until the blocks fill the multiprocessors; each split keeps a few tiles of depth.
inline TileChoice split_depth(TileKind tile, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                              std::int64_t batches, std::int64_t multiprocessors) {
  constexpr std::int64_t fewest_depth_tiles = 2, most_splits = 256;
  const tiling::Extent extent = tiling::extent(tile);
  const std::int64_t tiles =
      batches * tiling::divide_up(rows, extent.rows) * tiling::divide_up(columns, extent.columns);
  const std::int64_t depth_tiles = tiling::divide_up(depth, tiling::tile_depth);
  std::int64_t splits = 1;
  if (tiles > 0 && tiles * 2 <= multiprocessors)
    splits =
        std::clamp<std::int64_t>(std::min(multiprocessors / tiles, depth_tiles / fewest_depth_tiles), 1, most_splits);
  return {tile, static_cast<std::int32_t>(splits), tiles * splits};
}

inline TileChoice small_tiles(std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t batches,
                              std::int64_t multiprocessors) {
  return split_depth(TileKind::small, rows, columns, depth, batches, multiprocessors);
}

// The largest tiles of which there are enough, counting splits, and that the matrix fills.
inline TileChoice choose_tiles(std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t batches,
                               std::int64_t multiprocessors) {
  const auto choice = [&](TileKind tile) { return split_depth(tile, rows, columns, depth, batches, multiprocessors); };
  if (rows > 64 && columns > 64 && choice(TileKind::large).blocks >= multiprocessors &&
      choice(TileKind::large).splits == 1)
    return choice(TileKind::large);
  if (columns <= 32 && rows > 64 && choice(TileKind::tall).blocks >= multiprocessors) return choice(TileKind::tall);
  if (rows > 32 && columns > 32 && choice(TileKind::medium).blocks * 4 >= multiprocessors * 3)
    return choice(TileKind::medium);
  return choice(TileKind::small);
}

// The tile of the result, and the part of the depth, that a block has.
struct TilePlace {
  std::int32_t row, column, batch, split, first_depth, last_depth;
};

template <class Tile>
PANDO_HOST_DEVICE TilePlace tile_place(const ProductSizes& sizes, std::int32_t splits, std::int64_t block) {
  const std::int64_t row_tiles = (sizes.rows + Tile::rows - 1) / Tile::rows;
  const std::int64_t column_tiles = (sizes.columns + Tile::columns - 1) / Tile::columns;
  const std::int64_t depth_tiles = (sizes.depth + Tile::depth - 1) / Tile::depth;
  TilePlace place;
  place.column = static_cast<std::int32_t>(block % column_tiles * Tile::columns);
  block /= column_tiles;
  place.row = static_cast<std::int32_t>(block % row_tiles * Tile::rows);
  block /= row_tiles;
  place.split = static_cast<std::int32_t>(block % splits);
  place.batch = static_cast<std::int32_t>(block / splits);
  place.first_depth = static_cast<std::int32_t>(depth_tiles * place.split / splits * Tile::depth);
  const std::int64_t last = depth_tiles * (place.split + 1) / splits * Tile::depth;
  place.last_depth = static_cast<std::int32_t>(last < sizes.depth ? last : sizes.depth);
  return place;
}

}  // namespace pando::cuda
