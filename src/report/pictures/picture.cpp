// SPDX-License-Identifier: Apache-2.0
#include <pando/report/plot.h>

#include <fmt/format.h>

#include <filesystem>

#include "report/pictures/cairo_png.h"
#include "io/file_writer.h"
#include "report/pictures/svg.h"

namespace pando::plot {

Picture::Picture(Drawing drawing) : drawing_(std::make_shared<const Drawing>(std::move(drawing))) {}

std::string Picture::svg() const { return svg_text(*drawing_); }

void Picture::save(const std::string& path) const {
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (ending == ".svg") return write_file(path, svg());
  if (ending == ".png") return write_file(path, png_of(*drawing_));
  throw Error(
      fmt::format("Picture::save: '{}' is neither a PNG nor an SVG file; give a name that ends in .png or .svg", path));
}

}  // namespace pando::plot
