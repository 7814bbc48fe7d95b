// Data sets: MNIST and Fashion-MNIST from files, digits drawn by a generator, and folders of the user's images.
#pragma once
#include <pando/base/array.h>

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

// The user's images, uint8 [n, h, w] (grey) or [n, h, w, 3], and their labels, uint8 or int32.
struct Directory {
  Split train, test;
  std::vector<std::string> class_names;
  // True if there was no test folder: every fifth image of each class is then a test image.
  bool test_was_split_off = false;
};
// A folder that holds a folder of PNG images for each class, or two such folders, train and test; or the four IDX files
// under MNIST's names. Classes are numbered in the order of their names; an alpha channel is left out. Throws Error,
// naming the file and the remedy, if there are no images or they differ in size.
PANDO_API Directory load_directory(const std::string& path);

// Images of handwritten-like digits, the same on every machine; image i does not depend on how many images are asked
// for.
PANDO_API Splits synthetic_digits(int train, int test, std::uint64_t seed = 0);

}  // namespace pando::datasets
