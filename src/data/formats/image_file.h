// SPDX-License-Identifier: Apache-2.0
// PNG and JPEG files that are open already, or only in memory, and what is known about an image before its pixels are
// read.
#pragma once
#include <pando/data/images.h>

#include "io/byte_store.h"

namespace pando::data {

// As read_jpeg(path) and read_image(path).
Array read_jpeg(const ByteStore& store);
Array read_image(const ByteStore& store);

// The shape that read_image() would give, from the header alone. Throws Error as it does if the header is wrong.
Shape image_shape(const ByteStore& store);

}  // namespace pando::data
