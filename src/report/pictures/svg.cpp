// SPDX-License-Identifier: Apache-2.0
#include "report/pictures/svg.h"

#include <fmt/format.h>

#include "report/pages/data_uri.h"
#include "report/pages/page.h"

namespace pando::plot {

namespace {

// Hundredths of a pixel, without trailing zeros.
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

struct SvgWriter {
  std::string text = {};

  void operator()(const Polyline& line) {
    std::string points;
    for (const Point& point : line.points)
      points += (points.empty() ? "" : " ") + number(point.x) + "," + number(point.y);
    text += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{}/>\n",
        points, hex(line.color), number(line.width), line.dashed ? " stroke-dasharray=\"6 4\"" : "");
  }
  void operator()(const Dot& dot) {
    text += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>\n", number(dot.center.x),
                        number(dot.center.y), number(dot.radius), hex(dot.color));
  }
  void operator()(const Label& label) {
    static constexpr const char* anchors[] = {"start", "middle", "end"};
    text +=
        fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\"{}>{}</text>\n",
                    number(label.at.x), number(label.at.y), number(label.size), anchors[static_cast<int>(label.anchor)],
                    hex(label.color), label.bold ? " font-weight=\"bold\"" : "", html_escaped(label.text));
  }
  void operator()(const Raster& raster) {
    text += fmt::format(
        "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" "
        "style=\"image-rendering:pixelated\" href=\"{}\"/>\n",
        number(raster.corner.x), number(raster.corner.y), number(raster.width), number(raster.height),
        png_data_uri(raster));
  }
};

std::string marks_text(const Drawing& drawing) {
  SvgWriter writer;
  for (const Mark& mark : drawing.marks) std::visit(writer, mark);
  return writer.text;
}

}  // namespace

std::string svg_text(const Drawing& drawing) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{2}</svg>\n",
      number(drawing.width), number(drawing.height), marks_text(drawing));
}

std::string svg_element(const Drawing& drawing, std::string_view description) {
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
      number(drawing.width), number(drawing.height), html_escaped(description), marks_text(drawing));
}

std::string hex(const Color& color) { return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue); }

}  // namespace pando::plot
