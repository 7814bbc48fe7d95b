// SPDX-License-Identifier: Apache-2.0
#include "datasets/image_files.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>

#include "base/text.h"
#include "io/byte_store.h"

namespace pando {

namespace {

namespace filesystem = std::filesystem;

// Also formats that cannot be read: an image must not be left out without a word because of its format.
constexpr std::array<std::string_view, 12> image_endings = {".png",  ".jpg", ".jpeg", ".jpe",  ".jfif", ".gif",
                                                            ".webp", ".bmp", ".tif",  ".tiff", ".heic", ".avif"};

bool is_image_name(const std::string& name) {
  std::string ending = filesystem::path(name).extension().string();
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return std::find(image_endings.begin(), image_endings.end(), ending) != image_endings.end();
}

// Adds the paths of the names to the list.
void append_paths(std::vector<std::string>& paths, const std::string& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) paths.push_back(fmt::format("{}/{}", folder, name));
}

// The images of a class; there must be at least one.
std::vector<std::string> images_of_class(const std::string& path, std::vector<std::string>& others) {
  std::vector<std::string> images, rest;
  for (const std::string& name : names_in(path, false)) (is_image_name(name) ? images : rest).push_back(name);
  if (images.empty())
    throw_file_error(path, rest.empty() ? "has no images" : fmt::format("has no images, but {}", rest.front()),
                     "put the PNG or JPEG images of a class into it, or remove it");
  append_paths(others, path, rest);
  append_paths(others, path, names_in(path, true));
  return images;
}

}  // namespace

std::vector<std::string> names_in(const std::string& path, bool folders) {
  std::vector<std::string> names;
  std::error_code error;
  for (filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with('.') && entry->is_directory(ignored) == folders) names.push_back(name);
  }
  if (error) throw_file_error(path, fmt::format("cannot be read: {}", error.message()), "check its permissions");
  std::sort(names.begin(), names.end());
  return names;
}

ImageFiles find_images(const std::string& path, const std::vector<std::string>& classes) {
  ImageFiles found;
  append_paths(found.others, path, names_in(path, false));
  std::map<std::pair<std::size_t, std::size_t>, ImageFile> by_place;
  for (const std::string& name : names_in(path, true)) {
    const auto known = std::find(classes.begin(), classes.end(), name);
    if (known == classes.end()) throw Error(fmt::format("{}: {}", path, unknown_name("class", name, classes)));
    const auto label = static_cast<std::size_t>(known - classes.begin());
    const std::vector<std::string> images = images_of_class(fmt::format("{}/{}", path, name), found.others);
    for (std::size_t i = 0; i < images.size(); ++i)
      by_place[{i, label}] = {fmt::format("{}/{}/{}", path, name, images[i]), static_cast<std::int32_t>(label)};
  }
  for (auto& [place, file] : by_place) found.images.push_back(std::move(file));
  return found;
}

std::vector<std::string> find_classes(const std::string& path) {
  const std::vector<std::string> classes = names_in(path, true);
  if (classes.size() < 2)
    throw_file_error(
        path, fmt::format("has {} class folder{}", classes.size(), classes.size() == 1 ? "" : "s"),
        "give a folder that holds a folder of PNG or JPEG images for each of two or more classes, or train "
        "and test folders that do, or the IDX files of MNIST's format, or train.csv and test.csv");
  return classes;
}

}  // namespace pando
