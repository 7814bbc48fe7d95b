// SPDX-License-Identifier: Apache-2.0
#include <pando/datasets/datasets.h>

#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "datasets/dataset_files.h"
#include "datasets/load_dataset.h"
#include "datasets/synthetic_digits.h"

namespace pando::datasets {

namespace {

constexpr const char* drawn = "synthetic_digits";
constexpr int train_count = 60000, test_count = 10000;

const DatasetDescription& described(const std::string& name) {
  std::vector<std::string> known;
  for (const DatasetDescription& dataset : dataset_list()) {
    if (dataset.name == name) return dataset;
    known.push_back(dataset.name);
  }
  known.push_back(drawn);
  throw Error(unknown_name("data set", name, known));
}

}  // namespace

Splits load(const std::string& name, const LoadOptions& options) {
  if (name != drawn) return load_dataset(described(name), options);
  if (!options.directory.empty())
    throw Error(fmt::format("{} is drawn and has no files; leave the directory '{}' out", name, options.directory));
  return synthetic_digits(train_count, test_count);
}

bool available(const std::string& name) { return name == drawn || find_dataset(described(name)).has_value(); }

std::vector<Description> list() {
  std::vector<Description> all;
  for (const DatasetDescription& dataset : dataset_list()) {
    const std::optional<DatasetPaths> paths = find_dataset(dataset);
    all.push_back({.name = dataset.name,
                   .train = train_count,
                   .test = test_count,
                   .image = {digit_image_size, digit_image_size},
                   .class_names = dataset.class_names,
                   .folder = paths ? std::filesystem::path(paths->front()).parent_path().string() : ""});
  }
  all.push_back({.name = drawn,
                 .train = train_count,
                 .test = test_count,
                 .image = {digit_image_size, digit_image_size},
                 .class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
                 .is_drawn = true});
  return all;
}

Splits synthetic_digits(int train, int test, std::uint64_t seed) {
  if (train < 0 || test < 0)
    throw Error(
        fmt::format("synthetic_digits: {} and {} images are asked for; the numbers must not be negative", train, test));
  return {draw_digits(train, seed, DigitSequence::train), draw_digits(test, seed, DigitSequence::test)};
}

}  // namespace pando::datasets
