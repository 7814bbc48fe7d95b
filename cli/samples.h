// SPDX-License-Identifier: Apache-2.0
// The samples that a command works on: images, or rows of a table.
#pragma once
#include <pando/datasets/datasets.h>

#include "cli/options.h"

namespace pando::cli {

// What is known about the samples of a data set.
struct SampleKind {
  // "mnist", or the folder or file.
  std::string dataset;
  std::int64_t train = 0, test = 0;
  // Of a sample: [height, width, channels], where one channel is grey and three are colours; or [columns].
  Shape shape = {};
  std::vector<std::string> class_names = {};
  // For rows of a table: the names of its columns, and that of the column that says the class.
  std::vector<std::string> columns = {};
  std::string label = {};

  std::int64_t classes() const { return static_cast<std::int64_t>(class_names.size()); }
  bool is_table() const { return !columns.empty(); }
  // "image" or "row".
  const char* noun() const { return is_table() ? "row" : "image"; }
};

// Images are uint8 [n, height, width, channels], rows float32 [n, columns].
struct Samples {
  SampleKind kind;
  datasets::Split train, test;
  // "FILE: why" for each that could not be read.
  std::vector<std::string> skipped = {};
};

// Which samples a command line asks for.
struct SampleChoice {
  std::string dataset;
  // At most that many of each split, unless it is 0.
  std::int64_t limit = 0;
  // {height, width} for the user's own images; zeros leave the choice to load_own.
  std::array<std::int64_t, 2> image_size = {0, 0};
  // The column of the user's own table that says the class; empty means the last.
  std::string label = {};
  bool skip_bad = false;
  bool quiet = false;
};
// From --dataset, --samples, --image-size, --label, --skip-bad and --quiet, as far as the command has them. Throws
// UsageError.
SampleChoice sample_choice(const Arguments& arguments);

// By name, or the user's own. Says on the standard error stream what was done to them and which were left out. Throws
// UsageError naming the data sets that there are, and Error naming the files that cannot be read, unless they may be
// left out.
Samples load_samples(const SampleChoice& choice);
// The same without the samples, which are not read unless they are the user's own.
SampleKind describe_samples(const SampleChoice& choice);
// To test a model that was trained on samples of the kind `trained`: the user's own images are brought to its size,
// their classes get its numbers, and all of them are used unless a part of them is set aside for tests.
Samples load_to_test(const SampleChoice& choice, const SampleKind& trained);

}  // namespace pando::cli
