// SPDX-License-Identifier: Apache-2.0
#include <pando/data/files.h>
#include <pando/datasets/datasets.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/paths.h"
#include "io/byte_store.h"
#include "datasets/dataset_files.h"
#include "datasets/image_folder.h"
#include "datasets/table.h"

namespace pando::datasets {

namespace {

constexpr std::int32_t most_classes = 1 << 16;

// An array of one of the four IDX files, which has MNIST's name.
Array read_named(const std::string& path, const std::string& name) {
  const std::optional<std::string> file = find_file(path, name);
  if (!file)
    throw_file_error(path, fmt::format("has IDX files, but no {}, plain or .gz", name), "add it, under this name");
  return data::read_idx(*file);
}

Split read_idx_split(const std::string& path, const std::string& prefix) {
  const Split split = {read_named(path, prefix + "-images-idx3-ubyte"),
                       read_named(path, prefix + "-labels-idx1-ubyte")};
  const Shape &x = split.x.shape(), &y = split.y.shape();
  const bool are_images = split.x.dtype() == DType::uint8 && (x.rank() == 3 || (x.rank() == 4 && x[3] == 3));
  if (!are_images || x.elements() == 0)
    throw_file_error(path, fmt::format("the {} images are {} {}", prefix, name(split.x.dtype()), to_string(x)),
                     "give uint8 [n, height, width] or [n, height, width, 3]");
  if (y != Shape{x[0]} || (split.y.dtype() != DType::uint8 && split.y.dtype() != DType::int32))
    throw_file_error(
        path, fmt::format("the {} labels are {} {}, of {} images", prefix, name(split.y.dtype()), to_string(y), x[0]),
        "give one uint8 or int32 number per image");
  return split;
}

std::int64_t largest_label(const std::string& path, const Array& y) {
  const Array labels = y.astype(DType::int32);
  const std::int32_t* begin = labels.data<std::int32_t>();
  const auto [smallest, largest] = std::minmax_element(begin, begin + labels.elements());
  const std::int32_t wrong = *smallest < 0 ? *smallest : *largest;
  if (wrong < 0 || wrong >= most_classes)
    throw_file_error(path, fmt::format("has the label {}", wrong),
                     fmt::format("number the classes from 0, {} at most", most_classes));
  return *largest;
}

OwnData read_idx_folder(const std::string& path, const OwnDataOptions& options) {
  OwnData data{.train = read_idx_split(path, "train"), .test = read_idx_split(path, "t10k"), .class_names = {}};
  const Shape &train = data.train.x.shape(), &test = data.test.x.shape();
  if (train.part(1, train.rank()) != test.part(1, test.rank()))
    throw_file_error(path,
                     fmt::format("has images {} to train on, but {} to test with", to_string(train), to_string(test)),
                     "bring them to one size");
  const std::int64_t largest = std::max(largest_label(path, data.train.y), largest_label(path, data.test.y));
  for (std::int64_t i = 0; i <= largest; ++i) data.class_names.push_back(fmt::format("{}", i));
  for (Split* split : {&data.train, &data.test}) *split = fitted(*split, options);
  return data;
}

}  // namespace

OwnData load_own(const std::string& path, const OwnDataOptions& options) {
  if (is_file(path) && is_table_name(path)) return read_table(path, options);
  if (!is_folder(path))
    throw_file_error(path, "is not a folder or a CSV file",
                     "give a folder that holds a folder of PNG or JPEG images for each class, or a file NAME.csv");
  for (const char* prefix : {"train", "t10k"})
    if (find_file(path, fmt::format("{}-images-idx3-ubyte", prefix))) return read_idx_folder(path, options);
  const std::optional<std::string> train = find_file(path, "train.csv"), test = find_file(path, "test.csv");
  if (train && test) return read_tables(*train, *test, options);
  return read_image_folder(path, options);
}

}  // namespace pando::datasets
