// SPDX-License-Identifier: Apache-2.0
// keras.datasets: auto [train, test] = keras::datasets::mnist::load_data();
#pragma once
#include <pando/datasets/datasets.h>

namespace pando::keras::datasets {

using LoadOptions = pando::datasets::LoadOptions;
// Images `x`, uint8 [n, 28, 28], and their labels `y`, uint8 [n].
using Split = pando::datasets::Split;
using Splits = pando::datasets::Splits;

namespace mnist {
// Gives 60,000 images to train on and 10,000 to test with, and throws as pando::datasets::load does.
inline Splits load_data(const LoadOptions& options = {}) { return pando::datasets::load("mnist", options); }
}  // namespace mnist

namespace fashion_mnist {
inline Splits load_data(const LoadOptions& options = {}) { return pando::datasets::load("fashion_mnist", options); }
}  // namespace fashion_mnist

// Drawn by a generator, so it needs no files.
namespace synthetic_digits {
inline Splits load_data(const LoadOptions& options = {}) { return pando::datasets::load("synthetic_digits", options); }
inline Splits load_data(int train, int test, std::uint64_t seed = 0) {
  return pando::datasets::synthetic_digits(train, test, seed);
}
}  // namespace synthetic_digits

}  // namespace pando::keras::datasets
