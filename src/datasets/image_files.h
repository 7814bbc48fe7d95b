// SPDX-License-Identifier: Apache-2.0
// The files of a folder of images: which there are, and of which class each is.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pando {

struct ImageFile {
  std::string path;
  std::int32_t label = 0;
};

struct ImageFiles {
  // The first image of each class, then the second of each, so that the first few cover all classes.
  std::vector<ImageFile> images = {};
  // Files and folders that are not images of a class.
  std::vector<std::string> others = {};
};

// The folders in `path`, in the order of their names: the classes. Throws Error unless there are two.
std::vector<std::string> find_classes(const std::string& path);
// The images in the class folders of `path`. Throws Error for a folder that is not one of the classes, and for a class
// without images.
ImageFiles find_images(const std::string& path, const std::vector<std::string>& classes);

// The names in a folder in sorted order, without hidden ones: of its folders, or of everything else in it.
std::vector<std::string> names_in(const std::string& path, bool folders);

}  // namespace pando
