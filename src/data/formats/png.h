// SPDX-License-Identifier: Apache-2.0
// PNG files that are open already, or only in memory.
#pragma once
#include <pando/data/images.h>

#include "io/byte_store.h"

namespace pando::data {

// As read_png(path).
Array read_png(const ByteStore& store);
// The shape of that image. Throws Error if the file is not whole; only its pixels are not looked at.
Shape png_shape(const ByteStore& store);

}  // namespace pando::data
