// SPDX-License-Identifier: Apache-2.0
// PNG files byte by byte, written from the specification; their pixels are stored rather than compressed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "io/crc32.h"

namespace pando {

inline std::string big_endian_32(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

inline std::string png_chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  return big_endian_32(static_cast<std::uint32_t>(data.size())) + body +
         big_endian_32(crc32(std::as_bytes(std::span(body))));
}

// zlib's format, in blocks that are not compressed.
inline std::string zlib_stored(const std::string& bytes) {
  constexpr std::size_t most = 0xffff;
  std::string packed = "\x78\x01";
  std::uint32_t a = 1, b = 0;
  for (std::size_t at = 0; at == 0 || at < bytes.size(); at += most) {
    const std::string block = bytes.substr(at, most);
    packed += static_cast<char>(at + most >= bytes.size());
    for (std::size_t size : {block.size(), ~block.size()}) {
      packed += static_cast<char>(size);
      packed += static_cast<char>(size >> 8);
    }
    packed += block;
  }
  for (char c : bytes) {
    a = (a + static_cast<std::uint8_t>(c)) % 65521;
    b = (b + a) % 65521;
  }
  return packed + big_endian_32(b << 16 | a);
}

// What a file is made of; kind 0 is grey, 2 colours, 3 a palette, 4 grey and alpha, 6 colours and alpha.
struct PngParts {
  std::uint32_t width = 1, height = 1;
  int bits = 8, kind = 0;
  bool interlaced = false;
  // Rows, each after the byte of its filter.
  std::string rows = {};
  std::string palette = {};
};

inline const std::string png_signature = "\x89PNG\r\n\x1a\n";

inline std::string png_header(const PngParts& parts) {
  return big_endian_32(parts.width) + big_endian_32(parts.height) + static_cast<char>(parts.bits) +
         static_cast<char>(parts.kind) + std::string(2, '\0') + static_cast<char>(parts.interlaced);
}

inline std::string png_file(const PngParts& parts) {
  return png_signature + png_chunk("IHDR", png_header(parts)) +
         (parts.palette.empty() ? "" : png_chunk("PLTE", parts.palette)) + png_chunk("IDAT", zlib_stored(parts.rows)) +
         png_chunk("IEND", "");
}

// A grey image, without filters.
inline std::string grey_png(std::uint32_t width, std::uint32_t height, const std::string& pixels) {
  std::string rows;
  for (std::uint32_t i = 0; i < height; ++i) rows += '\0' + pixels.substr(i * width, width);
  return png_file({.width = width, .height = height, .rows = rows});
}

}  // namespace pando
