// SPDX-License-Identifier: Apache-2.0
// The images of an Array as pixels.
#pragma once
#include <pando/base/array.h>

#include "report/pictures/drawing.h"

namespace pando::plot {

// As numbers; `low` is drawn black and `high` white.
struct Images {
  Array values;
  std::int64_t count = 0, height = 0, width = 0, channels = 1;
  double low = 0, high = 1;
};

// Throws Error, which begins with `who`, unless they are [n, h, w], [n, h, w, 1] or [n, h, w, 3], and at least one.
void check_images(const std::string& who, const Array& images);

// The first `count`, or all if there are fewer. Throws as check_images() does.
Images images_of(const std::string& who, const Array& images, std::int64_t count);

// Red, green and blue of image `index`.
std::vector<std::uint8_t> pixels_of(const Images& images, std::int64_t index);

// Image `index`, made smaller by a whole factor if a side has more than `longest_side` pixels.
Raster thumbnail_of(const Images& images, std::int64_t index, std::int64_t longest_side);

}  // namespace pando::plot
