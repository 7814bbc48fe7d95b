// SPDX-License-Identifier: Apache-2.0
// A drawing: shapes and text on a white page, which svg.cpp and cairo_png.cpp render in the same way. Lengths are CSS
// pixels, from the upper left corner.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pando::plot {

struct Color {
  std::uint8_t red = 0, green = 0, blue = 0;
};

struct Point {
  double x = 0, y = 0;
};

struct Polyline {
  std::vector<Point> points = {};
  Color color = {};
  double width = 1;
  bool dashed = false;
};

struct Dot {
  Point center = {};
  double radius = 3;
  Color color = {};
};

enum class Anchor { start, middle, end };

struct Label {
  // On the base line.
  Point at = {};
  std::string text = {};
  double size = 12;
  Anchor anchor = Anchor::start;
  Color color = {};
  bool bold = false;
};

// Pixels, red, green and blue in turn, drawn as squares with sharp edges.
struct Raster {
  Point corner = {};
  double width = 0, height = 0;
  std::int64_t columns = 0, rows = 0;
  std::vector<std::uint8_t> pixels = {};
};

using Mark = std::variant<Polyline, Dot, Label, Raster>;

struct Drawing {
  double width = 0, height = 0;
  // Later ones cover earlier ones.
  std::vector<Mark> marks = {};

  void add(Mark mark);
};

// How much wider bold letters are.
constexpr double bold_stretch = 1.12;

// The greatest width of a text, by the widths of DejaVu Sans: other sans-serif fonts are narrower.
double text_width(std::string_view text, double size, bool bold = false);

// The text, or as much of its front as fits into `width` with an ellipsis.
std::string fitted_text(std::string_view text, double size, double width);

// What both renderers can show: valid UTF-8 without control characters; other bytes become question marks.
std::string readable_text(std::string_view text);

}  // namespace pando::plot
