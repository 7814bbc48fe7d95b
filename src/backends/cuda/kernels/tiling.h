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

// Elements of a block and of each of its warps, for products by tensor cores.
template <int rows_, int columns_, int warp_rows_, int warp_columns_>
struct WarpTiling {
  static constexpr int rows = rows_, columns = columns_, warp_rows = warp_rows_, warp_columns = warp_columns_;
  static constexpr int depth = 32;
  static constexpr int warps_across = columns / warp_columns;
  static constexpr int threads = rows / warp_rows * warps_across * 32;
};

// The same for factors of 32 bits, of which shared memory holds half the depth.
template <int rows, int columns, int warp_rows, int warp_columns>
struct Tf32Tiling : WarpTiling<rows, columns, warp_rows, warp_columns> {
  static constexpr int depth = 16;
};

// Large tiles use registers best, small ones fill the GPU with small matrices. Mixed ones round to bfloat16.
using LargeTile = Tiling<128, 128, 8, 8>;
using MediumTile = Tiling<64, 64, 4, 4>;
using TallTile = Tiling<128, 32, 8, 4>;
using SmallTile = Tiling<32, 32, 4, 4>;
using LargeMixedTile = WarpTiling<128, 128, 64, 32>;
using MixedTile = WarpTiling<64, 64, 32, 16>;
using LargeTf32Tile = Tf32Tiling<128, 128, 64, 32>;
using Tf32Tile = Tf32Tiling<64, 64, 32, 16>;

// Without tiles, each thread makes one element.
enum class TileKind { large, medium, tall, small, large_mixed, mixed, large_tf32, tf32, element };

struct TileChoice {
  TileKind tile = TileKind::small;
  std::int32_t splits = 1;
  std::int64_t blocks = 0;
};

// Calls visit(Tile()) with the tile of that kind.
template <class Visit>
auto with_tile(TileKind kind, Visit visit) {
  switch (kind) {
    case TileKind::large: return visit(LargeTile());
    case TileKind::medium: return visit(MediumTile());
    case TileKind::tall: return visit(TallTile());
    case TileKind::large_mixed: return visit(LargeMixedTile());
    case TileKind::mixed: return visit(MixedTile());
    case TileKind::large_tf32: return visit(LargeTf32Tile());
    case TileKind::tf32: return visit(Tf32Tile());
    default: return visit(SmallTile());
  }
}

// Splits the depth until the threads of all blocks fill the multiprocessors; each split keeps a few tiles of depth.
inline TileChoice split_depth(TileKind kind, const ProductSizes& sizes, std::int64_t multiprocessors) {
  constexpr std::int64_t fewest_depth_tiles = 2, most_splits = 512, wanted_threads = 512;
  return with_tile(kind, [&]<class Tile>(Tile) -> TileChoice {
    const auto tiles_of = [](std::int64_t size, std::int64_t tile) { return (size + tile - 1) / tile; };
    const std::int64_t tiles =
        sizes.batches * tiles_of(sizes.rows, Tile::rows) * tiles_of(sizes.columns, Tile::columns);
    const std::int64_t wanted = multiprocessors * wanted_threads / Tile::threads;
    std::int64_t splits = 1;
    if (tiles > 0 && tiles * 2 <= multiprocessors)
      splits = std::min(wanted / tiles, tiles_of(sizes.depth, Tile::depth) / fewest_depth_tiles);
    splits = std::clamp<std::int64_t>(splits, 1, most_splits);
    return {kind, static_cast<std::int32_t>(splits), tiles * splits};
  });
}

// The largest tiles of which there are enough, counting splits, and that the matrix fills.
inline TileChoice choose_tiles(const ProductSizes& sizes, std::int64_t multiprocessors) {
  const auto enough = [&](const TileChoice& choice) { return choice.blocks * 2 >= multiprocessors; };
  const TileChoice large = split_depth(TileKind::large, sizes, multiprocessors);
  if (sizes.rows > 64 && sizes.columns > 64 && large.blocks >= multiprocessors && large.splits == 1) return large;
  const TileChoice tall = split_depth(TileKind::tall, sizes, multiprocessors);
  if (sizes.columns <= 32 && sizes.rows > 64 && enough(tall)) return tall;
  const TileChoice medium = split_depth(TileKind::medium, sizes, multiprocessors);
  if (sizes.rows > 32 && sizes.columns > 32 && enough(medium)) return medium;
  return split_depth(TileKind::small, sizes, multiprocessors);
}

// Whether tensor cores pay: a tile of theirs is not mostly empty.
inline bool suits_mixed(const ProductSizes& sizes) {
  return std::min(sizes.rows, sizes.columns) >= 32 && sizes.depth >= 32;
}

// Tiles of tf32, or of bfloat16.
inline TileChoice choose_mixed_tiles(const ProductSizes& sizes, std::int64_t multiprocessors, bool tf32) {
  const TileChoice large = split_depth(tf32 ? TileKind::large_tf32 : TileKind::large_mixed, sizes, multiprocessors);
  if (sizes.rows > 64 && sizes.columns > 64 && large.blocks >= multiprocessors && large.splits == 1) return large;
  return split_depth(tf32 ? TileKind::tf32 : TileKind::mixed, sizes, multiprocessors);
}

// Whether tiles would be mostly empty, and a thread can make an element by itself: the groups of a convolution that has
// a few channels in each.
inline bool suits_elements(const ProductSizes& sizes) {
  constexpr std::int32_t most_columns = 4, most_depth = 256;
  return sizes.batches > 1 && sizes.columns <= most_columns && sizes.depth <= most_depth;
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
