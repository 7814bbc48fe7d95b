// SPDX-License-Identifier: Apache-2.0
// Data sets: MNIST and Fashion-MNIST from files, digits drawn by a generator, and the user's own images and tables.
#pragma once
#include <pando/base/array.h>
#include <pando/base/function.h>

#include <array>
#include <string>
#include <vector>

namespace pando::datasets {

// Images `x`, uint8 [n, 28, 28], and their labels `y`, uint8 [n], 0 to 9.
struct Split {
  Array x, y;
};

struct Splits {
  Split train, test;
};

struct LoadOptions {
  // The folder that holds the four files, plain or gzipped. If it is empty they are looked for in $PANDO_DATA/NAME, in
  // the cache directory ($XDG_CACHE_HOME/pando/NAME, or ~/.cache/pando/NAME) and where Debian's package puts them. If
  // they are in none of these, they are downloaded into the cache directory from public mirrors or from
  // $PANDO_MIRROR/NAME, with a progress bar on the standard error stream.
  std::string directory = {};
};

// "mnist", "fashion_mnist" (60,000 and 10,000 images, from files) or "synthetic_digits" (as many, drawn). Every file's
// SHA-256 is checked. Throws Error if a file is missing or has the wrong checksum, naming the file, the places and the
// remedy.
PANDO_API Splits load(const std::string& name, const LoadOptions& options = {});

// Whether load(name) finds the files without a download, so that a program can fall back to synthetic_digits. Throws
// Error for an unknown name, and for a folder that has only some of the files.
PANDO_API bool available(const std::string& name);

// What is known about a data set without reading it.
struct Description {
  std::string name;
  std::int64_t train = 0, test = 0;
  // [28, 28].
  Shape image = {};
  // Label 0 first.
  std::vector<std::string> class_names = {};
  // The folder that its files are in; empty if they are not on this machine, or if the data set is drawn.
  std::string folder = {};
  bool is_drawn = false;
};
// All data sets that load() knows. Throws as available() does.
PANDO_API std::vector<Description> list();

// The user's own data: images, uint8 [n, h, w] (grey) or [n, h, w, 3], or rows of a table, float32 [n, columns]; and
// their labels, uint8 or int32.
struct OwnData {
  Split train, test;
  std::vector<std::string> class_names;
  // True if there were no separate test samples: every fifth sample of each class is then a test sample.
  bool test_was_split_off = false;
  // For a table: the names of its columns except the column of labels, and the name of that column.
  std::vector<std::string> columns = {};
  std::string label = {};
  // How many images were brought to another size.
  std::int64_t resized = 0;
  // Sentences about what was done to the data: images that were resized, files that are not images.
  std::vector<std::string> notices = {};
  // "FILE: why" for each image or row that could not be read; empty unless OwnDataOptions::skip_bad is set.
  std::vector<std::string> skipped = {};
};

struct OwnDataOptions {
  // The {height, width} that all images are brought to. With zeros, images of one size of at most 256 x 256 stay as
  // they are; others get the median height and width, at most 64 of each.
  std::array<std::int64_t, 2> image_size = {0, 0};
  // 1 makes all images grey, 3 coloured; with 0 they are grey if all are grey.
  std::int64_t channels = 0;
  // The column of a table that holds the labels; empty means the last one.
  std::string label = {};
  // Leaves out images and rows that cannot be read, and lists them, instead of throwing Error at the first.
  bool skip_bad = false;
  // What happens if there are no separate test samples: true splits some off, false takes all samples for the test and
  // none to train on.
  bool split_off_test = true;
  // Called after each image, with the number of images that were read and of all images; never by two threads at once.
  // It must not throw.
  Function<void(std::int64_t read, std::int64_t all)> progress = {};
};

// `path` is a folder that holds a folder of PNG and JPEG images for each class, or two such folders, train and test; or
// the four IDX files under MNIST's names; or a CSV file with a column of labels, or a folder of train.csv and test.csv.
// Classes are numbered in the order of their names; alpha is dropped. Throws Error, naming the file and the remedy, if
// there are no samples or they cannot be used.
PANDO_API OwnData load_own(const std::string& path, const OwnDataOptions& options = {});

// Images of handwritten-like digits, the same on every machine; image i does not depend on how many images are asked
// for.
PANDO_API Splits synthetic_digits(int train, int test, std::uint64_t seed = 0);

}  // namespace pando::datasets
