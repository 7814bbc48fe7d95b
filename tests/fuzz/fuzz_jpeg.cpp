// SPDX-License-Identifier: Apache-2.0
// JPEG files: what a fuzzer makes up is read as it is, and as the scan of an image whose header is right.
#include <cstring>
#include <string>

#include "data/formats/image_file.h"
#include "tests/data/jpeg_bytes.h"
#include "tests/fuzz/fuzz.h"

namespace {

// The first bytes choose the size and the channels, the others follow the header.
std::string with_header(std::span<const std::byte> bytes) {
  const auto number = [&](std::size_t i) { return std::to_integer<int>(bytes[i]); };
  const std::string head =
      pando::jpeg_file({.width = 1 + number(0), .height = 1 + number(1), .channels = number(2) % 2 == 0 ? 1 : 3});
  // Without the padding and the end of the image.
  return head.substr(0, head.size() - 2) +
         std::string(reinterpret_cast<const char*>(bytes.data()) + 3, bytes.size() - 3) + "\xff\xd9";
}

void check(const std::string& name, std::span<const std::byte> bytes) {
  const pando::ByteStore store(name, bytes);
  const pando::Array image = pando::data::read_jpeg(store);
  const pando::Shape announced = pando::surely([&] { return pando::data::image_shape(store); });
  if (image.shape() != announced) throw std::logic_error("the header announces another image");
}

}  // namespace

void pando::read_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() > 3) {
    const std::string made = with_header(bytes);
    try {
      check("made", std::as_bytes(std::span(made)));
    } catch (const Error&) {
    }
  }
  check("image", bytes);
}
