// Data sets: MNIST and Fashion-MNIST from files, and digits drawn by a generator.
#pragma once
#include <pando/array.h>

namespace pando::datasets {

// Images `x`, uint8 [n, 28, 28], and their labels `y`, uint8 [n], 0 to 9.
struct Split {
  Array x, y;
};

struct Splits {
  Split train, test;
};

// "mnist", "fashion_mnist" (60,000 and 10,000 images, from files) or "synthetic_digits" (as many, drawn). The files are
// looked for in $PANDO_DATA, in the cache directory and where Debian's package puts them. Throws Error if a file is
// missing or malformed, naming it, the places and the remedy.
PANDO_API Splits load(const std::string& name);

// Whether load(name) finds files, so that a program can fall back to synthetic_digits. Throws Error for an unknown
// name.
PANDO_API bool available(const std::string& name);

// Images of handwritten-like digits, the same on every machine; image i does not depend on the numbers of images.
PANDO_API Splits synthetic_digits(int train, int test, std::uint64_t seed = 0);

}  // namespace pando::datasets
