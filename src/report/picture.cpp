#include <pando/plot.h>

#include <fmt/format.h>

#include <filesystem>

#include "report/cairo_png.h"
#include "report/replace_file.h"
#include "report/svg.h"

namespace pando::plot {

Picture::Picture(Drawing drawing) : drawing_(std::make_shared<const Drawing>(std::move(drawing))) {}

std::string Picture::svg() const { return svg_text(*drawing_); }

void Picture::save(const std::string& path) const {
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (ending == ".svg") return replace_file("Picture::save", path, svg());
  if (ending == ".png") return replace_file("Picture::save", path, png_of(*drawing_));
  throw Error(
      fmt::format("Picture::save: '{}' is neither a PNG nor an SVG file; let its name end in .png or .svg", path));
}

}  // namespace pando::plot
