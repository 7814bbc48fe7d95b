// SPDX-License-Identifier: Apache-2.0
// Pictures are saved as PNG and SVG files.
#include <pando/report/plot.h>

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "report/pages/data_uri.h"
#include "report/pictures/drawing.h"
#include "tests/data/temporary_folder.h"
#include "tests/message.h"

namespace pando::plot {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Picture small_picture() {
  Drawing drawing{.width = 40, .height = 20.5};
  drawing.add(Polyline{.points = {{0, 0}, {40, 20}}, .color = {255, 0, 16}, .width = 2, .dashed = true});
  drawing.add(Dot{.center = {10, 10}, .radius = 3, .color = {0, 0, 255}});
  drawing.add(Label{.at = {20, 12}, .text = "a < b & c\n\xff", .size = 11, .anchor = Anchor::middle, .bold = true});
  return Picture(std::move(drawing));
}

TEST(Picture, IsAnSvgFileThatNeedsNothingElse) {
  EXPECT_EQ(small_picture().svg(),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"20.5\" viewBox=\"0 0 40 20.5\" "
            "font-family=\"sans-serif\">\n"
            "<rect width=\"40\" height=\"20.5\" fill=\"#ffffff\"/>\n"
            "<polyline points=\"0,0 40,20\" fill=\"none\" stroke=\"#ff0010\" stroke-width=\"2\" "
            "stroke-linejoin=\"round\" stroke-dasharray=\"6 4\"/>\n"
            "<circle cx=\"10\" cy=\"10\" r=\"3\" fill=\"#0000ff\"/>\n"
            "<text x=\"20\" y=\"12\" font-size=\"11\" text-anchor=\"middle\" fill=\"#000000\" "
            "font-weight=\"bold\">a &lt; b &amp; c ?</text>\n"
            "</svg>\n");
}

TEST(Picture, HoldsPixelsAsAPngInsideTheSvg) {
  const Raster raster{.columns = 2, .rows = 1, .pixels = {255, 0, 0, 0, 0, 255}};
  EXPECT_EQ(png_data_uri(raster),
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAAEklEQVR4AQEHAPj/"
            "AP8AAAAA/wcAAf9VNrrHAAAAAElFTkSuQmCC");
}

TEST(Picture, IsSavedByTheEndingOfItsPath) {
  const TemporaryFolder folder;
  const Picture picture = small_picture();
  for (const std::string name : {"/a.svg", "/a.SVG"}) {
    picture.save(folder.path() + name);
    EXPECT_EQ(bytes_of(folder.path() + name), picture.svg());
  }
#ifdef PANDO_WITH_CAIRO
  picture.save(folder.path() + "/a.png");
  const std::string png = bytes_of(folder.path() + "/a.png");
  EXPECT_TRUE(png.starts_with("\x89PNG\r\n\x1a\n"));
  // Two pixels for one: 80 x 41.
  EXPECT_EQ(png.substr(16, 8), std::string("\0\0\0\x50\0\0\0\x29", 8));
#else
  EXPECT_EQ(message([&] { picture.save(folder.path() + "/a.png"); }),
            "Picture::save: this Pando was built without cairo and draws no PNG; save it as .svg, or build with "
            "libcairo2-dev");
#endif
  EXPECT_EQ(message([&] { picture.save("digits.jpg"); }),
            "Picture::save: 'digits.jpg' is neither a PNG nor an SVG file; give a name that ends in .png or .svg");
}

TEST(Picture, ReplacesAFileAsAWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.svg", "an older picture");
  small_picture().save(path);
  EXPECT_EQ(bytes_of(path), small_picture().svg());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);

  const std::string missing = folder.path() + "/missing/a.svg";
  EXPECT_EQ(message([&] { small_picture().save(missing); }),
            missing + ": cannot be written: No such file or directory; check its folder and permissions");
}

TEST(Picture, RefusesWhatIsTooLargeForAPng) {
#ifndef PANDO_WITH_CAIRO
  GTEST_SKIP() << "built without cairo";
#else
  const TemporaryFolder folder;
  EXPECT_EQ(message([&] { Picture(Drawing{.width = 100000, .height = 10}).save(folder.path() + "/a.png"); }),
            "Picture::save: cairo cannot draw this PNG: invalid value (typically too big) for the size of the input "
            "(surface, pattern, "
            "etc.); draw less or save it as .svg");
#endif
}

TEST(Picture, MeasuresItsText) {
  EXPECT_DOUBLE_EQ(text_width("Ii", 10), 2.9 + 2.8);
  EXPECT_DOUBLE_EQ(text_width("\u00e4", 10), 6.5);
  EXPECT_EQ(fitted_text("Trouser", 10, 100), "Trouser");
  EXPECT_EQ(fitted_text("Ankle boot of leather", 10, 60), "Ankle boo\u2026");
  EXPECT_EQ(fitted_text("\u00e4\u00e4\u00e4\u00e4", 10, 25), "\u00e4\u00e4\u2026");
}

}  // namespace
}  // namespace pando::plot
