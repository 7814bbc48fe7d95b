// SPDX-License-Identifier: Apache-2.0
// Folders of images, each line of the input an entry: "a/b" is a folder, "a/1.png 3x2" a grey image, "a/1.png 3x2c" one
// in colours, "a -> b" a link, "a |" a pipe, and what else follows a name are the bytes of a file.
#include <pando/datasets/datasets.h>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/data/png_bytes.h"
#include "tests/data/temporary_folder.h"
#include "tests/fuzz/fuzz.h"

namespace {

namespace filesystem = std::filesystem;

// Whether a name stays in the folder that it is in.
bool is_inside(const std::string& name) {
  const filesystem::path path(name);
  if (name.empty() || name.find('\0') != std::string::npos || path.has_root_path()) return false;
  return std::none_of(path.begin(), path.end(), [](const filesystem::path& part) { return part == ".."; });
}

// The file that "3x2" or "3x2c" describes, or these bytes themselves.
std::string contents(const std::string& text) {
  const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  if (text.size() < 3 || text.size() > 4 || !digit(0) || text[1] != 'x' || !digit(2)) return text;
  const std::uint32_t width = static_cast<std::uint32_t>(text[0] - '0'),
                      height = static_cast<std::uint32_t>(text[2] - '0');
  const bool colours = text.size() == 4;
  return pando::png_file({.width = width,
                          .height = height,
                          .kind = colours ? 2 : 0,
                          .rows = std::string(height * (1 + width * (colours ? 3 : 1)), '\0')});
}

// Names that cannot be made, because they are too long or in a file, are left out.
void make(const filesystem::path& folder, const std::string& line) {
  const std::string name = line.substr(0, line.find(' ')), rest = line.substr(std::min(line.size(), name.size() + 1));
  if (!is_inside(name)) return;
  const filesystem::path path = folder / name;
  std::error_code ignored;
  if (rest.empty()) {
    filesystem::create_directories(path, ignored);
    return;
  }
  filesystem::create_directories(path.parent_path(), ignored);
  if (rest.starts_with("-> ") && is_inside(rest.substr(3))) filesystem::create_symlink(rest.substr(3), path, ignored);
  else if (rest == "|") mkfifo(path.c_str(), 0600);
  else if (!filesystem::is_fifo(path, ignored))  // Writing to a pipe waits for its reader.
    std::ofstream(path, std::ios::binary) << contents(rest);
}

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

void check(const pando::datasets::Split& split, std::size_t classes) {
  const pando::Shape &x = split.x.shape(), &y = split.y.shape();
  require(x.rank() >= 3 && y == pando::Shape{x[0]}, "a label for each image");
  const pando::Array labels = split.y.astype(pando::DType::int32);
  for (std::int64_t i = 0; i < labels.elements(); ++i)
    require(labels.data<std::int32_t>()[i] >= 0 && labels.data<std::int32_t>()[i] < static_cast<std::int64_t>(classes),
            "each label is of a class");
}

}  // namespace

void pando::read_bytes(std::span<const std::byte> bytes) {
  const TemporaryFolder folder;
  std::istringstream lines(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  for (std::string line; std::getline(lines, line);) make(folder.path(), line);
  const datasets::OwnData images = datasets::load_own(folder.path(), {.skip_bad = true});
  check(images.train, images.class_names.size());
  check(images.test, images.class_names.size());
  const Shape &train = images.train.x.shape(), &test = images.test.x.shape();
  require(train.part(1, train.rank()) == test.part(1, test.rank()), "images of one size");
}
