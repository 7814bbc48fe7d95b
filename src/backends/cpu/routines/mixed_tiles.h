// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 by an instruction that multiplies tiles, for any `Tiles` that has it: AMX, or a model of it that
// runs on any machine. Tiles::load<tile>(from, stride) reads a tile of 16 rows of 64 bytes, `stride` bytes apart, and
// store<tile> writes one; multiply<sum, a, b>() adds a of 16 rows by 32 elements, times b of 16 columns, to 16 x 16
// sums. b has pairs of rows side by side, as mixed_pairs.h lays out panels. begin() comes before, end() after.
#pragma once
#include "backends/cpu/routines/matmul.h"
#include "base/host_device.h"

namespace pando::cpu {
PANDO_KERNEL_BEGIN

// Rows and columns of sums in a tile, and how many elements of the inner dimension it multiplies.
inline constexpr int tile_rows = 16, tile_columns = 16, tile_depth = 32;

template <class Tiles>
class TileProduct {
 public:
  // Four tiles of sums, two rows by two columns; the other four hold the factors.
  static constexpr int block_rows = 2 * tile_rows, panel_vectors = 2;
  // The pieces of a sum follow each other without gaps, so only its end may fill no tile.
  static constexpr int depth_step = 2;

  static void multiply(const Product<float, BFloat16>& product) {
    Tiles::begin();
    Product<float, BFloat16> part = product;
    if (!product.accumulate) part.scale = 1;
    const std::int64_t depth = product.segment_count > 0 ? product.depth : 0;
    const std::int64_t at_once = depth < most_depth && depth > 0 ? most_depth / depth : 1;
    std::int64_t segment = 0;
    do {  // once even without segments: the result is zero then
      part.segments = product.segments + segment;
      part.segment_count = smaller(at_once, product.segment_count - segment);
      std::int64_t k = 0;
      do {
        part.a = product.a + k;
        part.b = product.b + (segment * depth + k) * product.panel;
        part.depth = smaller(most_depth, depth - k);
        multiply_part(part);
        part.accumulate = true;
        k += most_depth;
      } while (k < depth);
      segment += at_once;
    } while (segment < product.segment_count);
    Tiles::end();
  }

 private:
  // Sums that are longer are added up in parts, the same ones for any block: 32 KiB of a.
  static constexpr std::int64_t most_depth = 512;
  // Between the rows of a block: an odd number of cache lines, so that they do not share a few sets of the cache.
  static constexpr std::int64_t row_step = most_depth + tile_depth;

  static std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  // 16 rows of a, `step` elements apart: where they are, or a copy with the segments one after the other. A last step
  // that is not a whole one is always copied.
  struct Rows {
    const BFloat16* first;
    std::int64_t step;
    bool in_place;
    const BFloat16* copy;

    const BFloat16* at(const Product<float, BFloat16>& part, std::int64_t segment) const {
      return first + (in_place ? part.segments[segment] : segment * part.depth);
    }
  };

  static void multiply_part(const Product<float, BFloat16>& part) {
    // The element type leaves the array uninitialised. If the last block has fewer rows, old values in the other rows
    // are multiplied too, but their sums are not used.
    alignas(64) std::uint16_t memory[block_rows * row_step];
    auto* const copy = reinterpret_cast<BFloat16*>(memory);
    for (std::int64_t row = 0; row < part.rows; row += block_rows) {
      const Rows upper = place(part, row, copy), lower = place(part, row + tile_rows, copy + tile_rows * row_step);
      const BFloat16* b = part.b;
      for (std::int64_t column = 0; column < part.columns; column += part.panel, b += part.b_panel) {
        const bool wide = part.panel > tile_columns && part.columns - column > tile_columns;
        if (part.rows - row > tile_rows) {
          (wide ? multiply_block<2, 2> : multiply_block<2, 1>)(part, row, column, upper, lower, b);
        } else {
          (wide ? multiply_block<1, 2> : multiply_block<1, 1>)(part, row, column, upper, lower, b);
        }
      }
    }
  }

  // Whether the segments are multiplied as one long one, of which there are copies: no step may cross their ends.
  static bool joins(const Product<float, BFloat16>& part) {
    return part.segment_count != 1 && part.depth % tile_depth != 0;
  }

  // Whether the 16 rows from `first` on exist and lie at equal distances.
  static bool are_equidistant(const Product<float, BFloat16>& part, std::int64_t first) {
    if (part.rows - first < tile_rows) return false;
    const std::int64_t* const rows = part.a_rows + first;
    const std::int64_t step = rows[1] - rows[0];
    bool result = step > 0;
    for (int i = 2; i < tile_rows; ++i) result &= rows[i] - rows[i - 1] == step;
    return result;
  }

  static Rows place(const Product<float, BFloat16>& part, std::int64_t first, BFloat16* copy) {
    if (part.depth == 0 || joins(part) || !are_equidistant(part, first)) {
      put_in_order(part, first, 0, copy);
      return {copy, row_step, false, copy};
    }
    const std::int64_t whole = part.depth / tile_depth * tile_depth;
    if (whole < part.depth) put_in_order(part, first, whole, copy);
    return {part.a + part.a_rows[first], part.a_rows[first + 1] - part.a_rows[first], true, copy};
  }

  // Copies each segment from its element `begin` on, one after the other, and zeros after the last.
  static void put_in_order(const Product<float, BFloat16>& part, std::int64_t first, std::int64_t begin, BFloat16* to) {
    constexpr std::size_t tile_bytes = tile_depth * sizeof(BFloat16);
    const std::int64_t count = smaller(tile_rows, part.rows - first);
    for (std::int64_t row = 0; row < count; ++row) {
      BFloat16* out = to + row * row_step;
      for (std::int64_t s = 0; s < part.segment_count; ++s, out += part.depth) {
        const BFloat16* const from = part.a + part.a_rows[first + row] + part.segments[s];
        std::int64_t k = begin;
        for (; k + tile_depth <= part.depth; k += tile_depth) __builtin_memcpy(out + k, from + k, tile_bytes);
        const auto left = static_cast<std::size_t>(part.depth - k);
        if (left > 0) __builtin_memcpy(out + k, from + k, left * sizeof(BFloat16));
      }
      __builtin_memset(static_cast<void*>(out), 0, tile_bytes);
    }
  }

  // Tiles 0 to 3 are sums, 4 and 5 rows of a, 6 and 7 columns of b.
  template <int row_tiles, int column_tiles>
  static inline __attribute__((always_inline)) void add_step(const BFloat16* upper, std::int64_t upper_stride,
                                                             const BFloat16* lower, std::int64_t lower_stride,
                                                             const BFloat16* b, std::int64_t panel) {
    const std::int64_t b_stride = 2 * panel * std::int64_t{sizeof(BFloat16)};
    Tiles::template load<6>(b, b_stride);
    Tiles::template load<4>(upper, upper_stride);
    Tiles::template multiply<0, 4, 6>();
    if constexpr (column_tiles == 2) {
      Tiles::template load<7>(b + 2 * tile_columns, b_stride);
      Tiles::template multiply<1, 4, 7>();
    }
    if constexpr (row_tiles == 2) {
      Tiles::template load<5>(lower, lower_stride);
      Tiles::template multiply<2, 5, 6>();
      if constexpr (column_tiles == 2) Tiles::template multiply<3, 5, 7>();
    }
  }

  template <int row_tiles, int column_tiles>
  static void multiply_block(const Product<float, BFloat16>& part, std::int64_t row, std::int64_t column,
                             const Rows& upper, const Rows& lower, const BFloat16* b) {
    Tiles::template zero<0>();
    Tiles::template zero<1>();
    Tiles::template zero<2>();
    Tiles::template zero<3>();
    constexpr auto element = std::int64_t{sizeof(BFloat16)};
    const std::int64_t upper_stride = upper.step * element, lower_stride = lower.step * element;
    const std::int64_t segments = joins(part) ? 1 : part.segment_count;
    const std::int64_t depth = joins(part) ? part.segment_count * part.depth : part.depth;
    const std::int64_t whole = depth / tile_depth * tile_depth;
    for (std::int64_t s = 0; s < segments; ++s, b += whole * part.panel) {
      const BFloat16 *const upper_row = upper.at(part, s), *const lower_row = lower.at(part, s);
      for (std::int64_t k = 0; k < whole; k += tile_depth) {
        add_step<row_tiles, column_tiles>(upper_row + k, upper_stride, lower_row + k, lower_stride, b + k * part.panel,
                                          part.panel);
      }
    }
    if (whole < depth) {
      // The memory after the panel may contain NaN.
      alignas(64) std::uint16_t last[tile_depth * panel_vectors * tile_columns] = {};
      __builtin_memcpy(last, b, static_cast<std::size_t>((depth - whole) * part.panel) * sizeof(BFloat16));
      add_step<row_tiles, column_tiles>(upper.copy + whole, row_step * element, lower.copy + whole, row_step * element,
                                        reinterpret_cast<const BFloat16*>(last), part.panel);
    }
    constexpr int width = column_tiles * tile_columns;
    constexpr std::int64_t stride = width * std::int64_t{sizeof(float)};
    alignas(64) float sums[row_tiles * tile_rows * width];
    Tiles::template store<0>(sums, stride);
    if constexpr (column_tiles == 2) Tiles::template store<1>(sums + tile_columns, stride);
    if constexpr (row_tiles == 2) Tiles::template store<2>(sums + tile_rows * width, stride);
    if constexpr (row_tiles == 2 && column_tiles == 2) {
      Tiles::template store<3>(sums + tile_rows * width + tile_columns, stride);
    }
    write_block<row_tiles * tile_rows, width>(part, row, column, sums);
  }

  template <int height, int width>
  static void write_block(const Product<float, BFloat16>& part, std::int64_t row, std::int64_t column,
                          const float* sums) {
    const std::int64_t rows = smaller(height, part.rows - row), columns = smaller(width, part.columns - column);
    for (std::int64_t i = 0; i < rows; ++i, sums += width) {
      float* const to = part.c + part.c_rows[row + i] + column;
      if (part.accumulate) {
        for (std::int64_t j = 0; j < columns; ++j) to[j] += part.scale * sums[j];
      } else {
        __builtin_memcpy(to, sums, static_cast<std::size_t>(columns) * sizeof(float));
      }
    }
  }
};

PANDO_KERNEL_END
}  // namespace pando::cpu
