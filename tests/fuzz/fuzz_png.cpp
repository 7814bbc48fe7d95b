// SPDX-License-Identifier: Apache-2.0
// PNG files: what a fuzzer makes up gets the checksums of its chunks, or becomes the rows of an image.
#include <algorithm>
#include <string>

#include "io/byte_order.h"
#include "data/formats/png.h"
#include "tests/data/png_bytes.h"
#include "tests/fuzz/fuzz.h"

namespace {

// The same chunks, each with its own checksum: few inputs would have the right one.
std::string with_checksums(std::string file) {
  for (std::size_t at = pando::png_signature.size(); file.size() - at >= 12;) {
    const std::uint64_t size = pando::big_endian(std::as_bytes(std::span(file).subspan(at, 4)));
    if (size > file.size() - at - 12) break;
    const auto body = std::as_bytes(std::span(file).subspan(at + 4, size + 4));
    file.replace(at + 8 + size, 4, pando::big_endian_32(pando::crc32(body)));
    at += 12 + size;
  }
  return file;
}

// The first bytes choose the kind, the size and the palette, the others are the rows.
std::string as_image(const std::string& bytes) {
  const auto at = [&](std::size_t i) { return i < bytes.size() ? static_cast<std::uint8_t>(bytes[i]) : 0; };
  const std::size_t colours = std::min<std::size_t>(at(4) % 8 * 3, bytes.size() < 5 ? 0 : bytes.size() - 5);
  return pando::png_file({.width = at(0) % 40u,
                          .height = at(1) % 40u,
                          .bits = 1 << at(2) % 5,
                          .kind = at(3) % 7,
                          .interlaced = at(4) >= 128,
                          .rows = bytes.substr(std::min<std::size_t>(bytes.size(), 5 + colours)),
                          .palette = bytes.size() < 5 ? "" : bytes.substr(5, colours)});
}

void read(const std::string& file) { pando::data::read_png(pando::ByteStore("input", std::as_bytes(std::span(file)))); }

}  // namespace

void pando::read_bytes(std::span<const std::byte> bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  read(text.starts_with(png_signature) ? with_checksums(text) : as_image(text));
}
