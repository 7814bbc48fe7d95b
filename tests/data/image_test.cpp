// SPDX-License-Identifier: Apache-2.0
// Images from JPEG files and in other sizes, with the refusals word for word.
#include <pando/data/images.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "io/jpeg.h"
#include "tests/data/jpeg_bytes.h"
#include "tests/data/png_bytes.h"
#include "tests/data/temporary_folder.h"
#include "tests/message.h"

namespace pando {
namespace {

class Images : public testing::Test {
 protected:
  Array read(const std::string& bytes) { return data::read_image(folder.write("image", bytes)); }
  std::string refusal(const std::string& bytes) {
    const std::string path = folder.write("image", bytes);
    const std::string text = message([&] { data::read_image(path); });
    return text.substr(std::min(text.size(), path.size()));
  }
  static std::vector<int> pixels(const Array& image) {
    return {image.data<std::uint8_t>(), image.data<std::uint8_t>() + image.elements()};
  }
  static Array image(const Shape& shape, const std::vector<std::uint8_t>& values) { return Array::of(values, shape); }

  TemporaryFolder folder;
};

#ifdef PANDO_WITH_JPEG

TEST_F(Images, AreReadFromJpegFilesExactlyWhereTheyAreFlat) {
  const Array grey = read(jpeg_file({.width = 10, .height = 9, .blocks = {0, 255, 128, 17}}));
  EXPECT_EQ(grey.shape(), (Shape{9, 10, 1}));
  const auto at = [&](int row, int column) { return grey.data<std::uint8_t>()[row * 10 + column]; };
  EXPECT_EQ((std::vector<int>{at(0, 0), at(7, 7), at(0, 8), at(8, 0), at(8, 9)}),
            (std::vector<int>{0, 0, 255, 128, 17}));
  const Array colours = read(jpeg_file({.width = 1, .height = 2, .channels = 3, .blocks = {10, 200, 30}}));
  EXPECT_EQ(colours.shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(pixels(colours), (std::vector<int>{10, 200, 30, 10, 200, 30}));
}

TEST_F(Images, AreRefusedIfTheJpegFileIsNotWhole) {
  const std::string whole = jpeg_file({.width = 16, .height = 16, .blocks = {1, 2, 3, 4}});
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 4)),
            ": is not a whole JPEG image (\"Premature end of JPEG file\"); save it again as PNG or JPEG");
  EXPECT_EQ(refusal(whole.substr(0, 30)),
            ": is not a whole JPEG image (\"Premature end of JPEG file\"); save it again as PNG or JPEG");
  // No length of it is read, or breaks anything.
  for (std::size_t size = 2; size < whole.size() - 2; ++size) EXPECT_NE(refusal(whole.substr(0, size)), "");
}

TEST_F(Images, AreRefusedIfTheJpegFileAnnouncesMoreThanItHolds) {
  const std::string bytes = jpeg_file({.width = 8000, .height = 8000, .blocks = {1}});
  EXPECT_EQ(refusal(bytes),
            fmt::format(": announces 8000 x 8000 pixels, more than its {} bytes can hold; save it again "
                        "as PNG or JPEG",
                        bytes.size()));
  EXPECT_EQ(refusal(jpeg_file({.width = 65000, .height = 65000, .blocks = {1}})),
            ": has 65000 x 65000 pixels; 1 to 67108864 are read; save it again as PNG or JPEG");
  EXPECT_EQ(refusal(jpeg_file({.channels = 4, .blocks = {1, 2, 3, 4}})),
            ": has the four colours of printers (CMYK), not red, green, blue; save it again as PNG or JPEG");
}

#else

TEST_F(Images, InJpegFilesNeedLibjpeg) {
  EXPECT_EQ(refusal(jpeg_file({.blocks = {1}})),
            ": is a JPEG image, and this Pando was built without libjpeg; build Pando with libjpeg62-turbo-dev, or "
            "convert it to PNG");
}

#endif

TEST_F(Images, OfOtherFormatsAreNamed) {
  EXPECT_EQ(refusal(""), ": is not a PNG or JPEG image; convert it to one of them");
  for (const auto& [begin, name] : {std::pair<std::string, std::string>{"GIF89a", "a GIF"},
                                    {"BM1234", "a BMP"},
                                    {"II*\x1f", "a TIFF"},
                                    {"RIFF0000WEBP", "a WebP"},
                                    {std::string("\0\0\0\x18", 4) + "ftypheic", "a HEIC or AVIF"},
                                    {"<svg xmlns", "an SVG"}})
    EXPECT_EQ(refusal(begin), ": is " + name + " image; convert it to PNG or JPEG");
}

TEST_F(Images, KeepTheirMeanWhenTheyBecomeSmaller) {
  // A pattern as fine as pixels becomes grey, and does not turn into another pattern.
  std::vector<std::uint8_t> board;
  for (int i = 0; i < 64 * 64; ++i) board.push_back((i / 64 + i) % 2 == 0 ? 0 : 200);
  for (int value : pixels(data::resize_image(image({64, 64, 1}, board), 7, 9))) EXPECT_NEAR(value, 100, 3);
}

TEST_F(Images, AreInterpolatedWhenTheyBecomeLarger) {
  EXPECT_EQ(pixels(data::resize_image(image({1, 2, 1}, {0, 100}), 1, 4)), (std::vector<int>{0, 25, 75, 100}));
  EXPECT_EQ(pixels(data::resize_image(image({1, 1, 3}, {1, 2, 3}), 2, 1)), (std::vector<int>{1, 2, 3, 1, 2, 3}));
  const Array same = image({2, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(data::resize_image(same, 2, 1).raw(), same.raw());
  EXPECT_EQ(message([&] { data::resize_image(same, 0, 3); }),
            "resize_image: the size is 0 x 3; both must be at least 1");
  EXPECT_EQ(message([] {
              data::resize_image(Array(DType::float32, {2, 2, 1}), 3, 3);
            }),
            "resize_image: the image is float32[2, 2, 1]; give uint8[height, width, channels] with 1 to 4 channels");
}

TEST_F(Images, BecomeGreyByTheirBrightness) {
  EXPECT_EQ(pixels(data::with_channels(image({1, 2, 3}, {255, 0, 0, 10, 10, 10}), 1)), (std::vector<int>{76, 10}));
  EXPECT_EQ(pixels(data::with_channels(image({1, 1, 4}, {1, 2, 3, 9}), 3)), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(pixels(data::with_channels(image({1, 1, 2}, {7, 0}), 3)), (std::vector<int>{7, 7, 7}));
  EXPECT_EQ(message([] {
              data::with_channels(Array(DType::uint8, {1, 1, 1}), 2);
            }),
            "with_channels: 2 channels are asked for; an image has 1 or 3");
}

}  // namespace
}  // namespace pando
