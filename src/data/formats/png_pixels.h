// SPDX-License-Identifier: Apache-2.0
// The pixels of a PNG image, once they are inflated.
#pragma once
#include <pando/base/array.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pando {

// What the header of a PNG file says, checked.
struct PngHeader {
  std::int64_t width = 0, height = 0;
  // The bits of a sample: 1, 2, 4, 8 or 16.
  int bits = 8;
  // Samples of a pixel as it is stored: 1 to 4; 1 for the number of a colour.
  int samples = 1;
  bool has_palette = false;
  bool interlaced = false;
};

// A part of the image that is stored as separate rows: all of it, or one of the seven of an interlaced image.
struct PngPass {
  std::int64_t first_row = 0, first_column = 0, row_step = 1, column_step = 1;
  std::int64_t rows = 0, columns = 0;
};

// The passes that have pixels, in the order in which they are stored.
std::vector<PngPass> png_passes(const PngHeader& header);
// The bytes of the rows of all passes, each with the byte of its filter.
std::uint64_t png_bytes(const PngHeader& header);

// Undoes the filters, in place. Returns false if there is a filter that PNG does not have.
bool undo_png_filters(const PngHeader& header, std::span<std::byte> bytes);

// The image of unfiltered bytes: uint8 [height, width, channels]. `palette` holds red, green and blue of each colour;
// one that it lacks is black.
Array png_image(const PngHeader& header, std::span<const std::byte> bytes, std::span<const std::byte> palette);

}  // namespace pando
