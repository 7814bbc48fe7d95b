// SPDX-License-Identifier: Apache-2.0
// JPEG images, decoded by libjpeg-turbo. This is the only place that knows it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pando {

// Whether Pando was built with libjpeg-turbo.
bool can_read_jpeg();

struct JpegImage {
  std::int64_t width = 0, height = 0;
  // 1 for grey, 3 for red, green, blue.
  std::int64_t channels = 0;
  // Rows of pixels, without gaps; empty if only the header was read.
  std::vector<std::uint8_t> pixels = {};
  // Why the image could not be read, "has 0 x 3 pixels"; empty if it could.
  std::string problem = {};
};

// Never throws because of what the bytes are. Memory is bounded by their number, whatever the header announces.
JpegImage read_jpeg_header(std::span<const std::byte> bytes);
JpegImage decode_jpeg(std::span<const std::byte> bytes);

}  // namespace pando
