// SPDX-License-Identifier: Apache-2.0
// A grid of images, each under its label.
#include <pando/report/plot.h>

#include <gtest/gtest.h>

#include <cmath>

#include "report/pages/data_uri.h"
#include "tests/message.h"

namespace pando::plot {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// What stands between the tags of the texts, in order.
std::vector<std::string> titles(const Picture& picture) {
  const std::string svg = picture.svg();
  std::vector<std::string> found;
  for (std::size_t at = svg.find("<text"); at != std::string::npos; at = svg.find("<text", at + 1)) {
    const std::size_t first = svg.find('>', at) + 1;
    found.push_back(svg.substr(first, svg.find('<', first) - first));
  }
  return found;
}

bool shows(const Picture& picture, const std::vector<std::uint8_t>& pixels, std::int64_t columns) {
  const auto rows = static_cast<std::int64_t>(pixels.size()) / 3 / columns;
  return count(picture.svg(), png_data_uri({.columns = columns, .rows = rows, .pixels = pixels})) == 1;
}

TEST(ImageGrid, DrawsTheFirstImagesWithTheirLabels) {
  const Array images(DType::uint8, {20, 28, 28});
  std::vector<std::uint8_t> labels;
  for (std::uint8_t i = 0; i < 20; ++i) labels.push_back(i % 10);
  const Picture picture = image_grid(images, Array::of(labels, {20}), {.count = 15, .columns = 5});
  EXPECT_EQ(count(picture.svg(), "<image "), 15u);
  EXPECT_EQ(titles(picture),
            (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "0", "1", "2", "3", "4"}));
  EXPECT_EQ(count(image_grid(images, Array::of(labels, {20}), {.count = 100}).svg(), "<image "), 20u);
}

TEST(ImageGrid, TakesLabelsOfAnyKind) {
  const Array images(DType::uint8, {2, 4, 4});
  const auto drawn = [&](const Array& labels, const std::vector<std::string>& names = {}) {
    return titles(image_grid(images, labels, {.names = names}));
  };
  using Titles = std::vector<std::string>;
  EXPECT_EQ(drawn(Array::of<std::int64_t>({3, 1}, {2})), (Titles{"3", "1"}));
  EXPECT_EQ(drawn(Array::of<float>({3, 0.5}, {2})), (Titles{"3", "0.5"}));
  EXPECT_EQ(drawn(Array::of<float>({3, 1}, {2, 1})), (Titles{"3", "1"}));
  EXPECT_EQ(drawn(Array::of<float>({0, 0, 1, 1, 0, 0}, {2, 3})), (Titles{"2", "0"}));
  EXPECT_EQ(drawn(Array::of<std::int32_t>({1, 0}, {2}), {"T-shirt", "Trouser"}), (Titles{"Trouser", "T-shirt"}));
  EXPECT_EQ(drawn(Array()), Titles{});
}

TEST(ImageGrid, CutsTitlesSoThatTheyDoNotOverlap) {
  const Array images(DType::uint8, {2, 28, 28});
  const std::string name = "a name that is much longer than any image of the grid is wide";
  const Picture picture = image_grid(images, Array::of<std::int32_t>({0, 0}, {2}), {.names = {name}});
  for (const std::string& title : titles(picture)) EXPECT_EQ(title, "a name that is much lon\u2026");
}

TEST(ImageGrid, ScalesPixelsByTheirRange) {
  const auto grey = [](std::uint8_t a, std::uint8_t b) { return std::vector<std::uint8_t>{a, a, a, b, b, b}; };
  const auto drawn = [](const Array& images) { return image_grid(images, Array()); };
  EXPECT_TRUE(shows(drawn(Array::of<std::uint8_t>({0, 128}, {1, 1, 2})), grey(0, 128), 2));
  EXPECT_TRUE(shows(drawn(Array::of<std::int32_t>({1, 255}, {1, 1, 2})), grey(1, 255), 2));
  EXPECT_TRUE(shows(drawn(Array::of<float>({0.25f, 0.5f}, {1, 1, 2})), grey(64, 128), 2));
  EXPECT_TRUE(shows(drawn(Array::of<float>({51, 255}, {1, 1, 2, 1})), grey(51, 255), 2));
  EXPECT_TRUE(shows(drawn(Array::of<double>({-1, 1}, {1, 1, 2})), grey(0, 255), 2));
  EXPECT_TRUE(shows(drawn(Array::of<double>({NAN, 1}, {1, 1, 2})), grey(0, 255), 2));
  EXPECT_TRUE(shows(drawn(Array::of<bool>({false, true}, {1, 1, 2})), grey(0, 255), 2));
  EXPECT_TRUE(shows(drawn(Array::of<std::uint8_t>({1, 2, 3, 4, 5, 6}, {1, 1, 2, 3})), {1, 2, 3, 4, 5, 6}, 2));
}

TEST(ImageGrid, SaysWhatDoesNotFit) {
  const Array images(DType::uint8, {4, 28, 28});
  const Array labels(DType::uint8, {4});
  EXPECT_EQ(message([&] {
              image_grid(Array(DType::uint8, {4, 784}), labels);
            }),
            "image_grid: images of the shape [4, 784] cannot be drawn; give [n, height, width], [n, height, width, 1] "
            "or [n, height, width, 3], at least one");
  EXPECT_EQ(message([&] {
              image_grid(Array(DType::uint8, {0, 28, 28}), Array());
            }),
            "image_grid: images of the shape [0, 28, 28] cannot be drawn; give [n, height, width], [n, height, width, "
            "1] or [n, height, width, 3], at least one");
  EXPECT_EQ(message([&] { image_grid(images, Array(DType::uint8, {3})); }),
            "image_grid: labels of the shape [3] do not belong to 4 images; give [4], or one-hot [4, classes]");
  EXPECT_EQ(message([&] { image_grid(images, labels, {.columns = 0}); }),
            "image_grid: count 15 in columns 0 draws nothing; both must be at least 1");
  EXPECT_EQ(message([&] {
              image_grid(images, Array::of<float>({0, 1, 2, 0}, {4}), {.names = {"cat", "dog"}});
            }),
            "image_grid: there is no name for the label 2; 2 names were given");
}

}  // namespace
}  // namespace pando::plot
