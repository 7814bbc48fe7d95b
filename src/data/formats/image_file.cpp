// SPDX-License-Identifier: Apache-2.0
#include "data/formats/image_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/machine/usable_memory.h"
#include "data/formats/png.h"
#include "io/jpeg.h"

namespace pando::data {

namespace {

enum class ImageFormat { png, jpeg };

struct ImageSignature {
  std::size_t offset;
  std::string_view bytes, name;
};
// Formats that are recognised, so that messages can name them.
constexpr ImageSignature other_formats[] = {{0, "GIF8", "a GIF"},  {0, "BM", "a BMP"},    {0, "II*", "a TIFF"},
                                            {0, "MM", "a TIFF"},   {8, "WEBP", "a WebP"}, {4, "ftyp", "a HEIC or AVIF"},
                                            {0, "<svg", "an SVG"}, {0, "<?xml", "an SVG"}};

ImageFormat format_of(const ByteStore& store) {
  std::array<char, 16> begin = {};
  store.read(0, std::as_writable_bytes(std::span(begin)));
  const std::string_view text(begin.data(), begin.size());
  if (text.starts_with("\x89PNG")) return ImageFormat::png;
  if (text.starts_with("\xff\xd8")) return ImageFormat::jpeg;
  for (const ImageSignature& other : other_formats)
    if (text.substr(other.offset).starts_with(other.bytes))
      store.fail(fmt::format("is {} image", other.name), "convert it to PNG or JPEG");
  store.fail("is not a PNG or JPEG image", "convert it to one of them");
}

std::vector<std::byte> all_bytes(const ByteStore& store) {
  if (store.size() > memory_for_a_file())
    store.fail(fmt::format("has {} bytes, too many for this machine", store.size()), "make it smaller");
  std::vector<std::byte> bytes(static_cast<std::size_t>(store.size()));
  bytes.resize(store.read(0, bytes));
  return bytes;
}

JpegImage checked(const ByteStore& store, JpegImage image) {
  if (image.problem.empty()) return image;
  store.fail(image.problem, can_read_jpeg() ? "save it again as PNG or JPEG"
                                            : "build Pando with libjpeg62-turbo-dev, or convert it to PNG");
}

}  // namespace

Array read_jpeg(const ByteStore& store) {
  const JpegImage image = checked(store, decode_jpeg(all_bytes(store)));
  return Array::of(image.pixels, {image.height, image.width, image.channels});
}

Array read_image(const ByteStore& store) {
  return format_of(store) == ImageFormat::png ? read_png(store) : read_jpeg(store);
}

Shape image_shape(const ByteStore& store) {
  if (format_of(store) == ImageFormat::png) return png_shape(store);
  const JpegImage image = checked(store, read_jpeg_header(all_bytes(store)));
  return {image.height, image.width, image.channels};
}

Array read_jpeg(const std::string& path) { return read_jpeg(ByteStore(path)); }

Array read_image(const std::string& path) { return read_image(ByteStore(path)); }

}  // namespace pando::data
