// The images that a command works on.
#pragma once
#include <pando/datasets/datasets.h>

#include "cli/options.h"

namespace pando::cli {

// What is known about the images of a data set.
struct ImageKind {
  // "mnist", or the folder.
  std::string dataset;
  std::int64_t train = 0, test = 0;
  // [height, width, channels]; one channel is grey, three are colours.
  Shape image = {};
  std::vector<std::string> class_names = {};

  std::int64_t classes() const { return static_cast<std::int64_t>(class_names.size()); }
};

// Images are uint8 [n, height, width, channels].
struct Samples {
  ImageKind kind;
  datasets::Split train, test;
};

// By name or from a folder; at most `limit` images of each split unless it is 0. Says on the standard error stream
// where the test images of a folder come from. Throws Error naming the data sets that there are.
Samples load_samples(const std::string& dataset, std::int64_t limit);
// The same without the images, which are not read unless the data set is a folder.
ImageKind describe_samples(const std::string& dataset, std::int64_t limit);

}  // namespace pando::cli
