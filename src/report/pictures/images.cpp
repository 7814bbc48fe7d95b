// SPDX-License-Identifier: Apache-2.0
#include "report/pictures/images.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pando::plot {

namespace {

bool is_real(DType dtype) { return is_floating(dtype) || dtype == DType::bfloat16; }

void find_range(Images& images, DType dtype) {
  if (!is_real(dtype) && dtype != DType::boolean) images.high = 255;
  const double* values = images.values.data<double>();
  for (std::int64_t i = 0; i < images.values.elements(); ++i) {
    if (!std::isfinite(values[i])) continue;
    images.low = std::min(images.low, values[i]);
    images.high = std::max(images.high, values[i]);
  }
}

}  // namespace

void check_images(const std::string& who, const Array& images) {
  const Shape& shape = images.shape();
  const bool fits = shape.rank() == 3 || (shape.rank() == 4 && (shape[3] == 1 || shape[3] == 3));
  if (!fits || shape.elements() == 0)
    throw Error(
        fmt::format("{}: images of the shape {} cannot be drawn; give [n, height, width], "
                    "[n, height, width, 1] or [n, height, width, 3], at least one",
                    who, to_string(shape)));
}

Images images_of(const std::string& who, const Array& images, std::int64_t count) {
  check_images(who, images);
  const Shape& shape = images.shape();
  Images drawn{.values = {},
               .count = std::min(count, shape[0]),
               .height = shape[1],
               .width = shape[2],
               .channels = shape.rank() == 4 ? shape[3] : 1};
  drawn.values = images.slice(0, drawn.count).astype(DType::float64);
  find_range(drawn, images.dtype());
  return drawn;
}

std::vector<std::uint8_t> pixels_of(const Images& images, std::int64_t index) {
  const std::int64_t size = images.height * images.width;
  const double* values = images.values.data<double>() + index * size * images.channels;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(size) * 3);
  for (std::int64_t i = 0; i < size * 3; ++i) {
    const double value = values[images.channels == 3 ? i : i / 3];
    const double part = (value - images.low) / (images.high - images.low);
    // A value that is not a number is black.
    pixels[static_cast<std::size_t>(i)] =
        part > 0 ? static_cast<std::uint8_t>(std::lround(255 * std::min(part, 1.0))) : std::uint8_t{0};
  }
  return pixels;
}

Raster thumbnail_of(const Images& images, std::int64_t index, std::int64_t longest_side) {
  const std::int64_t factor = (std::max(images.height, images.width) + longest_side - 1) / longest_side;
  const std::vector<std::uint8_t> pixels = pixels_of(images, index);
  Raster raster{.columns = (images.width + factor - 1) / factor, .rows = (images.height + factor - 1) / factor};
  for (std::int64_t row = 0; row < raster.rows; ++row)
    for (std::int64_t column = 0; column < raster.columns; ++column)
      for (std::int64_t color = 0; color < 3; ++color) {
        // The mean of the pixels that become this one; fewer at the right and lower edges.
        std::int64_t sum = 0, count = 0;
        for (std::int64_t y = row * factor; y < std::min((row + 1) * factor, images.height); ++y)
          for (std::int64_t x = column * factor; x < std::min((column + 1) * factor, images.width); ++x) {
            sum += pixels[static_cast<std::size_t>((y * images.width + x) * 3 + color)];
            ++count;
          }
        raster.pixels.push_back(static_cast<std::uint8_t>(sum / count));
      }
  return raster;
}

}  // namespace pando::plot
