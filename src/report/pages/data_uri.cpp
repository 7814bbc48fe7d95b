// SPDX-License-Identifier: Apache-2.0
#include "report/pages/data_uri.h"

#include <algorithm>

namespace pando::plot {

namespace {

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

std::uint32_t adler32(std::string_view bytes) {
  std::uint32_t a = 1, b = 0;
  for (const char byte : bytes) {
    a = (a + static_cast<unsigned char>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

std::string chunk(const std::string& type, const std::string& bytes) {
  const std::string checked = type + bytes;
  return big_endian(static_cast<std::uint32_t>(bytes.size())) + checked + big_endian(crc32(checked));
}

// A zlib stream of blocks that are stored as they are.
std::string stored(std::string_view bytes) {
  constexpr std::size_t largest_block = 65535;
  std::string stream = "\x78\x01";
  for (std::size_t at = 0; at < bytes.size(); at += largest_block) {
    const std::string_view block = bytes.substr(at, largest_block);
    stream += at + block.size() == bytes.size() ? '\1' : '\0';
    for (const std::size_t size : {block.size(), ~block.size()}) {
      stream += static_cast<char>(size & 0xff);
      stream += static_cast<char>(size >> 8 & 0xff);
    }
    stream += block;
  }
  return stream + big_endian(adler32(bytes));
}

std::string png_bytes(const Raster& raster) {
  const std::string eight_bits_rgb = {8, 2, 0, 0, 0};
  const std::size_t row_bytes = static_cast<std::size_t>(raster.columns) * 3;
  std::string rows;
  for (std::size_t at = 0; at < raster.pixels.size(); at += row_bytes) {
    // Each row begins with its filter: none.
    rows += '\0';
    rows.append(reinterpret_cast<const char*>(raster.pixels.data()) + at, row_bytes);
  }
  return "\x89PNG\r\n\x1a\n" +
         chunk("IHDR", big_endian(static_cast<std::uint32_t>(raster.columns)) +
                           big_endian(static_cast<std::uint32_t>(raster.rows)) + eight_bits_rgb) +
         chunk("IDAT", stored(rows)) + chunk("IEND", "");
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t given = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < given ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i) text += i <= given ? alphabet[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

}  // namespace

std::string png_data_uri(const Raster& raster) { return "data:image/png;base64," + base64(png_bytes(raster)); }

}  // namespace pando::plot
