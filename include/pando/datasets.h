// Data sets: MNIST and Fashion-MNIST from files, and digits drawn by a generator.
#pragma once
#include <pando/array.h>

#include <string>

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
  // the cache directory ($XDG_CACHE_HOME/pando/NAME, or ~/.cache/pando/NAME) and where Debian's package puts them, and
  // else downloaded into the cache directory, with a progress bar on the standard error stream, from public mirrors or
  // from $PANDO_MIRROR/NAME.
  std::string directory = {};
};

// "mnist", "fashion_mnist" (60,000 and 10,000 images, from files) or "synthetic_digits" (as many, drawn). Every file's
// SHA-256 is checked. Throws Error if a file is missing or is another one, naming it, the places and the remedy.
PANDO_API Splits load(const std::string& name, const LoadOptions& options = {});

// Whether load(name) finds the files without a download, so that a program can fall back to synthetic_digits. Throws
// Error for an unknown name, and for a folder that has some of the files only.
PANDO_API bool available(const std::string& name);

// Images of handwritten-like digits, the same on every machine; image i does not depend on the numbers of images.
PANDO_API Splits synthetic_digits(int train, int test, std::uint64_t seed = 0);

}  // namespace pando::datasets
