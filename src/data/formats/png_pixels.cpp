// SPDX-License-Identifier: Apache-2.0
#include "data/formats/png_pixels.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace pando {

namespace {

std::int64_t bytes_of_row(const PngHeader& header, std::int64_t columns) {
  return (columns * header.bits * header.samples + 7) / 8;
}

// The neighbour that is nearest to left + above - corner.
int paeth(int left, int above, int corner) {
  const int to_left = std::abs(above - corner), to_above = std::abs(left - corner);
  const int to_corner = std::abs(left + above - 2 * corner);
  if (to_left <= to_above && to_left <= to_corner) return left;
  return to_above <= to_corner ? above : corner;
}

// `above` is empty in the first row, where it counts as zeros; `pixel` is the number of bytes to the left neighbour.
bool undo_filter(std::byte filter, std::span<std::byte> row, std::span<const std::byte> above, std::size_t pixel) {
  const int kind = std::to_integer<int>(filter);
  if (kind > 4) return false;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const int left = i < pixel ? 0 : std::to_integer<int>(row[i - pixel]);
    const int up = above.empty() ? 0 : std::to_integer<int>(above[i]);
    const int corner = i < pixel || above.empty() ? 0 : std::to_integer<int>(above[i - pixel]);
    const std::array<int, 5> guesses = {0, left, up, (left + up) / 2, paeth(left, up, corner)};
    row[i] = static_cast<std::byte>(std::to_integer<int>(row[i]) + guesses[static_cast<std::size_t>(kind)]);
  }
  return true;
}

// Sample number `index` of a row.
int sample_of(std::span<const std::byte> row, std::int64_t index, int bits) {
  const auto at = [&](std::int64_t i) { return std::to_integer<int>(row[static_cast<std::size_t>(i)]); };
  // The first of 16 bits are the upper ones.
  if (bits >= 8) return at(index * bits / 8);
  const int shift = 8 - bits - static_cast<int>(index * bits % 8);
  return at(index * bits / 8) >> shift & ((1 << bits) - 1);
}

void write_pixel(const PngHeader& header, std::span<const std::byte> row, std::int64_t column,
                 std::span<const std::byte> palette, std::uint8_t* out) {
  if (header.has_palette) {
    const std::size_t colour = 3 * static_cast<std::size_t>(sample_of(row, column, header.bits));
    for (std::size_t i = 0; i < 3; ++i)
      out[i] = colour + i < palette.size() ? std::to_integer<std::uint8_t>(palette[colour + i]) : 0;
    return;
  }
  const int largest = header.bits < 8 ? (1 << header.bits) - 1 : 255;
  for (int i = 0; i < header.samples; ++i)
    out[i] = static_cast<std::uint8_t>(sample_of(row, column * header.samples + i, header.bits) * 255 / largest);
}

}  // namespace

std::vector<PngPass> png_passes(const PngHeader& header) {
  if (!header.interlaced) return {{.rows = header.height, .columns = header.width}};
  std::vector<PngPass> passes;
  for (PngPass pass :
       {PngPass{0, 0, 8, 8}, {0, 4, 8, 8}, {4, 0, 8, 4}, {0, 2, 4, 4}, {2, 0, 4, 2}, {0, 1, 2, 2}, {1, 0, 2, 1}}) {
    pass.rows = (header.height - pass.first_row + pass.row_step - 1) / pass.row_step;
    pass.columns = (header.width - pass.first_column + pass.column_step - 1) / pass.column_step;
    if (pass.rows > 0 && pass.columns > 0) passes.push_back(pass);
  }
  return passes;
}

std::uint64_t png_bytes(const PngHeader& header) {
  std::int64_t bytes = 0;
  for (const PngPass& pass : png_passes(header)) bytes += pass.rows * (1 + bytes_of_row(header, pass.columns));
  return static_cast<std::uint64_t>(bytes);
}

bool undo_png_filters(const PngHeader& header, std::span<std::byte> bytes) {
  const auto pixel = static_cast<std::size_t>(std::max(1, header.bits * header.samples / 8));
  for (const PngPass& pass : png_passes(header)) {
    const auto size = static_cast<std::size_t>(bytes_of_row(header, pass.columns));
    std::span<const std::byte> above;
    for (std::int64_t i = 0; i < pass.rows; ++i) {
      const std::span<std::byte> row = bytes.subspan(1, size);
      if (!undo_filter(bytes[0], row, above, pixel)) return false;
      above = row;
      bytes = bytes.subspan(1 + size);
    }
  }
  return true;
}

Array png_image(const PngHeader& header, std::span<const std::byte> bytes, std::span<const std::byte> palette) {
  const std::int64_t channels = header.has_palette ? 3 : header.samples;
  Array image = Array::uninitialised(DType::uint8, {header.height, header.width, channels});
  std::uint8_t* pixels = image.mutable_data<std::uint8_t>();
  for (const PngPass& pass : png_passes(header)) {
    const auto size = static_cast<std::size_t>(bytes_of_row(header, pass.columns));
    for (std::int64_t i = 0; i < pass.rows; ++i) {
      const std::span<const std::byte> row = bytes.subspan(1, size);
      std::uint8_t* out = pixels + (pass.first_row + i * pass.row_step) * header.width * channels;
      for (std::int64_t j = 0; j < pass.columns; ++j)
        write_pixel(header, row, j, palette, out + (pass.first_column + j * pass.column_step) * channels);
      bytes = bytes.subspan(1 + size);
    }
  }
  return image;
}

}  // namespace pando
