// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 by an instruction that multiplies tiles. `Tiles` is AMX, or a model of it that runs on any
// machine:
//   begin(), end()              come before and after everything else
//   load<tile>(from, stride)    reads a tile of 16 rows of 64 bytes, `stride` bytes apart
//   load_once<tile>(...)        the same for a tile that need not stay in the first-level cache
//   store<tile>(to, stride)     writes a tile
//   multiply<sum, a, b>()       adds the product of tiles a, 16 rows x 32 elements, and b, 16 columns, to 16 x 16 sums
// b has pairs of rows side by side, as mixed_pairs.h lays out panels.
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
  // The pieces of a sum follow each other without gaps, so only the last one may not fill a tile.
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
        if (product.b_segments != nullptr) part.b_segments = product.b_segments + segment;
        part.b = product.b + ((product.b_segments != nullptr ? 0 : segment * depth) + k) * product.panel;
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
  // Longer sums are added up in parts, so that 16 rows of a stay in the second-level cache. The parts are the same for
  // any block.
  static constexpr std::int64_t most_depth = 2048;
  // From a row of a copy to the next: an odd number of cache lines, so that rows do not share a few sets of the cache.
  static constexpr std::int64_t row_step = most_depth + tile_depth;
  static constexpr auto element = std::int64_t{sizeof(BFloat16)};

  static std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  // Rows [begin, end), at most a tile of them, and the row that the tile begins with.
  struct TileRows {
    std::int64_t begin, end, first;
    // Where they are in a, `step` elements apart, or the copy, which has the segments one after the other. A last step
    // that is not a whole one is always copied.
    const BFloat16* from;
    std::int64_t step;
    bool in_place;
    const BFloat16* copy;
    // Elements from a row of c to the next, if c has all rows of the tile, at equal distances.
    std::int64_t c_step;

    const BFloat16* at(const Product<float, BFloat16>& part, std::int64_t segment) const {
      return from + (in_place ? part.segments[segment] : segment * part.depth);
    }
  };

  static void multiply_part(const Product<float, BFloat16>& part) {
    // The element type leaves the array uninitialised. If the last block has fewer rows, old values in the other rows
    // are multiplied too, but their sums are not used.
    alignas(64) std::uint16_t memory[block_rows * row_step];
    auto* const copy = reinterpret_cast<BFloat16*>(memory);
    for (std::int64_t row = 0; row < part.rows; row += block_rows) {
      const TileRows upper = place(part, row, copy), lower = place(part, row + tile_rows, copy + tile_rows * row_step);
      const BFloat16* b = part.b;
      for (std::int64_t column = 0; column < part.columns; column += part.panel, b += part.b_panel) {
        const bool wide = part.panel > tile_columns && part.columns - column > tile_columns;
        if (lower.begin < lower.end) {
          (wide ? multiply_block<2, 2> : multiply_block<2, 1>)(part, column, upper, lower, b);
        } else {
          (wide ? multiply_block<1, 2> : multiply_block<1, 1>)(part, column, upper, lower, b);
        }
      }
    }
  }

  // Whether the segments are copied and multiplied as one long segment: no step may cross their ends otherwise.
  static bool joins(const Product<float, BFloat16>& part) {
    return part.segment_count != 1 && part.depth % tile_depth != 0;
  }

  // The distance of 16 rows; 0 unless they lie at equal distances.
  static std::int64_t distance(const std::int64_t* rows) {
    const std::int64_t step = rows[1] - rows[0];
    bool equal = step > 0;
    for (int i = 2; i < tile_rows; ++i) equal &= rows[i] - rows[i - 1] == step;
    return equal ? step : 0;
  }

  // Up to 16 rows from `begin` on. The last ones are the end of a whole tile, if they follow others at equal distances.
  static TileRows place(const Product<float, BFloat16>& part, std::int64_t begin, BFloat16* copy) {
    const std::int64_t end = smaller(begin + tile_rows, part.rows);
    TileRows rows = {begin, end, begin, copy, row_step, false, copy, 0};
    if (begin >= end) return rows;
    const std::int64_t first = part.rows < tile_rows ? begin : smaller(begin, part.rows - tile_rows);
    const std::int64_t step =
        part.rows < tile_rows || part.depth == 0 || joins(part) ? 0 : distance(part.a_rows + first);
    if (step > 0) {
      rows.first = first;
      rows.from = part.a + part.a_rows[first];
      rows.step = step;
      rows.in_place = true;
    }
    const std::int64_t whole = rows.in_place ? part.depth / tile_depth * tile_depth : 0;
    if (!rows.in_place || whole < part.depth) put_in_order(part, rows.first, whole, copy);
    if (rows.first == begin && end - begin == tile_rows) rows.c_step = distance(part.c_rows + begin);
    return rows;
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

  // Tiles 0 to 3 are sums. Tiles 4 and 5 are rows of a, which stay for the next columns of b. Tiles 6 and 7 are columns
  // of b, which make room for others before the next rows of a.
  template <int row_tiles, int column_tiles>
  static inline __attribute__((always_inline)) void add_step(const BFloat16* upper, std::int64_t upper_stride,
                                                             const BFloat16* lower, std::int64_t lower_stride,
                                                             const BFloat16* b, std::int64_t b_stride) {
    Tiles::template load_once<6>(b, b_stride);
    Tiles::template load<4>(upper, upper_stride);
    Tiles::template multiply<0, 4, 6>();
    if constexpr (column_tiles == 2) {
      Tiles::template load_once<7>(b + 2 * tile_columns, b_stride);
      Tiles::template multiply<1, 4, 7>();
    }
    if constexpr (row_tiles == 2) {
      Tiles::template load<5>(lower, lower_stride);
      Tiles::template multiply<2, 5, 6>();
      if constexpr (column_tiles == 2) Tiles::template multiply<3, 5, 7>();
    }
  }

  template <int row_tiles, int column_tiles>
  static void multiply_block(const Product<float, BFloat16>& part, std::int64_t column, const TileRows& upper,
                             const TileRows& lower, const BFloat16* b) {
    begin_sums<0, column_tiles>(part, column, upper);
    if constexpr (row_tiles == 2) begin_sums<2, column_tiles>(part, column, lower);
    const std::int64_t upper_stride = upper.step * element, lower_stride = lower.step * element;
    const std::int64_t panel = part.panel, b_stride = 2 * panel * element;
    const std::int64_t segments = joins(part) ? 1 : part.segment_count;
    const std::int64_t depth = joins(part) ? part.segment_count * part.depth : part.depth;
    const std::int64_t whole = depth / tile_depth * tile_depth;
    const BFloat16* const panel_begin = b;
    for (std::int64_t s = 0; s < segments; ++s) {
      if (part.b_segments != nullptr) b = panel_begin + part.b_segments[s];
      const BFloat16 *const upper_row = upper.at(part, s), *const lower_row = lower.at(part, s);
      for (std::int64_t k = 0; k < whole; k += tile_depth, b += tile_depth * panel)
        add_step<row_tiles, column_tiles>(upper_row + k, upper_stride, lower_row + k, lower_stride, b, b_stride);
    }
    if (whole < depth) {
      // The memory after the panel may contain NaN.
      alignas(64) std::uint16_t last[tile_depth * panel_vectors * tile_columns] = {};
      __builtin_memcpy(last, b, static_cast<std::size_t>((depth - whole) * panel) * sizeof(BFloat16));
      add_step<row_tiles, column_tiles>(upper.copy + whole, row_step * element, lower.copy + whole, row_step * element,
                                        reinterpret_cast<const BFloat16*>(last), b_stride);
    }
    write_sums<0, column_tiles>(part, column, upper);
    if constexpr (row_tiles == 2) write_sums<2, column_tiles>(part, column, lower);
  }

  // Whether sums go on in the tiles: they do if they are added as they are. Sums that are scaled first are added to the
  // results at the end; meanwhile the results come from memory.
  static bool goes_on(const Product<float, BFloat16>& part) { return part.accumulate && part.scale == 1; }

  static bool has_all(const Product<float, BFloat16>& part, std::int64_t column, const TileRows& rows, int width) {
    return rows.c_step > 0 && part.columns - column >= width;
  }

  // The tile `sum` and, with two columns of tiles, the next one.
  template <int sum, int column_tiles>
  static void begin_sums(const Product<float, BFloat16>& part, std::int64_t column, const TileRows& rows) {
    constexpr int width = column_tiles * tile_columns;
    if (!goes_on(part)) {
      Tiles::template zero<sum>();
      Tiles::template zero<sum + 1>();
      if (part.accumulate) fetch_results<column_tiles>(part, column, rows);
    } else if (has_all(part, column, rows, width)) {
      const float* const from = part.c + part.c_rows[rows.begin] + column;
      Tiles::template load<sum>(from, rows.c_step * std::int64_t{sizeof(float)});
      if constexpr (column_tiles == 2)
        Tiles::template load<sum + 1>(from + tile_columns, rows.c_step * std::int64_t{sizeof(float)});
    } else {
      Sums<width> sums = {};
      for_each_row<width>(part, column, rows, sums, [](float* in_tile, float* result, std::int64_t columns) {
        for (std::int64_t j = 0; j < columns; ++j) in_tile[j] = result[j];
      });
      Tiles::template load<sum>(sums.of, sums.row_bytes);
      if constexpr (column_tiles == 2) Tiles::template load<sum + 1>(sums.of + tile_columns, sums.row_bytes);
    }
  }

  template <int sum, int column_tiles>
  static void write_sums(const Product<float, BFloat16>& part, std::int64_t column, const TileRows& rows) {
    constexpr int width = column_tiles * tile_columns;
    const bool adds = part.accumulate && !goes_on(part);
    if (!adds && has_all(part, column, rows, width)) {
      float* const to = part.c + part.c_rows[rows.begin] + column;
      Tiles::template store<sum>(to, rows.c_step * std::int64_t{sizeof(float)});
      if constexpr (column_tiles == 2)
        Tiles::template store<sum + 1>(to + tile_columns, rows.c_step * std::int64_t{sizeof(float)});
      return;
    }
    Sums<width> sums;
    Tiles::template store<sum>(sums.of, sums.row_bytes);
    if constexpr (column_tiles == 2) Tiles::template store<sum + 1>(sums.of + tile_columns, sums.row_bytes);
    const float scale = part.scale;
    if (adds) {
      for_each_row<width>(part, column, rows, sums, [scale](float* in_tile, float* result, std::int64_t columns) {
        for (std::int64_t j = 0; j < columns; ++j) result[j] += scale * in_tile[j];
      });
    } else {
      for_each_row<width>(part, column, rows, sums, [](float* in_tile, float* result, std::int64_t columns) {
        for (std::int64_t j = 0; j < columns; ++j) result[j] = in_tile[j];
      });
    }
  }

  template <int column_tiles>
  static void fetch_results(const Product<float, BFloat16>& part, std::int64_t column, const TileRows& rows) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const float* const result = part.c + (part.c_rows[row] < 0 ? 0 : part.c_rows[row]) + column;
      __builtin_prefetch(result, 1);
      if constexpr (column_tiles == 2) __builtin_prefetch(result + tile_columns, 1);
    }
  }

  // Tiles of sums side by side in memory.
  template <int width>
  struct Sums {
    static constexpr std::int64_t row_bytes = width * std::int64_t{sizeof(float)};
    alignas(64) float of[tile_rows * width];
  };

  // Calls copy(in_tile, result, columns) for each row that has a result; the compiler knows the number of columns if
  // it is the usual one.
  template <int width, class Copy>
  static inline __attribute__((always_inline)) void for_each_row(const Product<float, BFloat16>& part,
                                                                 std::int64_t column, const TileRows& rows,
                                                                 Sums<width>& sums, const Copy& copy) {
    const std::int64_t columns = smaller(width, part.columns - column);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      if (part.c_rows[row] < 0) continue;
      float* const in_tile = sums.of + (row - rows.first) * width;
      float* __restrict const result = part.c + part.c_rows[row] + column;
      columns == width ? copy(in_tile, result, width) : copy(in_tile, result, columns);
    }
  }
};

PANDO_KERNEL_END
}  // namespace pando::cpu
