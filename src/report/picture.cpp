#include <pando/plot.h>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "report/cairo_png.h"
#include "report/svg.h"

namespace pando::plot {

namespace {

// Whoever looks at the path meanwhile sees the old file or the new one, never a part.
void replace_file(const std::string& path, const std::string& bytes) {
  const std::string part = fmt::format("{}.{}.part", path, getpid());
  const auto fail = [&] {
    const std::string reason = std::strerror(errno);
    std::remove(part.c_str());
    throw Error(fmt::format("Picture::save: cannot write '{}': {}; save it in another folder", path, reason));
  };
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (file == nullptr) fail();
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed || std::rename(part.c_str(), path.c_str()) != 0) fail();
}

}  // namespace

Picture::Picture(Drawing drawing) : drawing_(std::make_shared<const Drawing>(std::move(drawing))) {}

std::string Picture::svg() const { return svg_text(*drawing_); }

void Picture::save(const std::string& path) const {
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (ending == ".svg") return replace_file(path, svg());
  if (ending == ".png") return replace_file(path, png_of(*drawing_));
  throw Error(
      fmt::format("Picture::save: '{}' is neither a PNG nor an SVG file; let its name end in .png or .svg", path));
}

}  // namespace pando::plot
