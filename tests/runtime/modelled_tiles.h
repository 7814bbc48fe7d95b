// SPDX-License-Identifier: Apache-2.0
// The tiles of AMX in plain C++, and what else products of bfloat16 by them need: the algorithm of mixed_tiles.h on
// machines that have no tiles.
#pragma once
#include <cstring>

#include "backends/cpu/routines/mixed_tiles.h"

namespace pando::cpu {

inline float widened(BFloat16 value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value.bits) << 16;
  float result = 0;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

// Rounds to nearest, ties to even.
inline BFloat16 narrowed(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

class ModelledTiles {
 public:
  static void begin() { std::memset(tiles, 0, sizeof tiles); }
  static void end() {}

  template <int tile>
  static void zero() {
    std::memset(tiles[tile], 0, sizeof tiles[tile]);
  }
  template <int tile>
  static void load(const void* from, std::int64_t stride) {
    for (int row = 0; row < rows; ++row)
      std::memcpy(tiles[tile][row], static_cast<const char*>(from) + row * stride, row_bytes);
  }
  template <int tile>
  static void load_once(const void* from, std::int64_t stride) {
    load<tile>(from, stride);
  }
  template <int tile>
  static void store(void* to, std::int64_t stride) {
    for (int row = 0; row < rows; ++row)
      std::memcpy(static_cast<char*>(to) + row * stride, tiles[tile][row], row_bytes);
  }
  template <int sum, int a, int b>
  static void multiply() {
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < 16; ++column) {
        float value = element<float>(sum, row, column);
        for (int k = 0; k < 32; ++k)
          value += widened(element<BFloat16>(a, row, k)) * widened(element<BFloat16>(b, k / 2, 2 * column + k % 2));
        std::memcpy(tiles[sum][row] + column * sizeof value, &value, sizeof value);
      }
    }
  }

 private:
  static constexpr int rows = 16, row_bytes = 64;
  static inline char tiles[8][rows][row_bytes];

  template <class T>
  static T element(int tile, int row, int column) {
    T value;
    std::memcpy(&value, tiles[tile][row] + static_cast<std::size_t>(column) * sizeof value, sizeof value);
    return value;
  }
};

template <bool transposed>
void pack_pairs_of_model(const Packing<float, BFloat16>& packing) {
  const std::int64_t panel = packing.panel, panels = (packing.columns + panel - 1) / panel;
  for (std::int64_t k = 0; k < (packing.depth + 1) / 2 * 2; ++k) {
    for (std::int64_t j = 0; j < panels * panel; ++j) {
      const bool exists = k < packing.depth && j < packing.columns;
      const std::int64_t from = transposed ? j * packing.step + k : k * packing.step + j;
      packing.to[j / panel * packing.panel_step + k / 2 * 2 * panel + j % panel * 2 + k % 2] =
          exists ? narrowed(packing.from[from]) : BFloat16{};
    }
  }
}

inline constexpr MixedMatmulRoutines modelled_products = {
    .costs = {},
    .image_group = tile_depth,
    .least_depth = 0,
    .block_rows = TileProduct<ModelledTiles>::block_rows,
    .panel_vectors = TileProduct<ModelledTiles>::panel_vectors,
    .lanes = tile_columns,
    .depth_step = TileProduct<ModelledTiles>::depth_step,
    .best_depth_step = tile_depth,
    .prefers_equal_distances = true,
    .multiply = TileProduct<ModelledTiles>::multiply,
    .pack = pack_pairs_of_model<false>,
    .pack_transposed = pack_pairs_of_model<true>,
    .round =
        [](const float* from, std::int64_t count, BFloat16* to) {
          for (std::int64_t i = 0; i < count; ++i) to[i] = narrowed(from[i]);
        },
    .round_transposed =
        [](const RoundedTranspose& matrix) {
          for (std::int64_t j = 0; j < matrix.rows; ++j) {
            for (std::int64_t k = 0; k < matrix.columns; ++k)
              matrix.to[j * matrix.to_step + k / matrix.run * matrix.run_step + k % matrix.run] =
                  narrowed(matrix.from[k * matrix.from_step + j]);
          }
        }};

}  // namespace pando::cpu
