// SPDX-License-Identifier: Apache-2.0
// Images in another size and with other channels. The arithmetic is that of whole numbers, so that an image has the
// same bytes on every machine: the weights of a pixel are numbers of 2^-14 whose sum is exactly 1.
#include <pando/data/images.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/element_types.h"

namespace pando::data {

namespace {

constexpr int weight_bits = 14;
constexpr std::int32_t whole_weight = 1 << weight_bits;

// The pixels of an axis that one pixel of the new axis is made of.
struct PixelSources {
  std::int64_t first = 0;
  std::vector<std::int32_t> weights;
};

// A triangle around the centre of the new pixel, as wide as two old or two new ones, whichever is wider.
PixelSources sources_of(std::int64_t pixel, std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(1.0, scale);
  const double centre = (static_cast<double>(pixel) + 0.5) * scale;
  const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(centre - reach + 0.5)));
  const auto end = std::min<std::int64_t>(from, static_cast<std::int64_t>(std::floor(centre + reach + 0.5)));
  const auto height = [&](std::int64_t i) {
    return std::max(0.0, 1.0 - std::abs(static_cast<double>(i) + 0.5 - centre) / reach);
  };
  double sum = 0;
  for (std::int64_t i = first; i < end; ++i) sum += height(i);
  PixelSources sources{.first = first, .weights = {}};
  std::int32_t left = whole_weight;
  for (std::int64_t i = first; i < end; ++i) {
    sources.weights.push_back(static_cast<std::int32_t>(std::lround(height(i) / sum * whole_weight)));
    left -= sources.weights.back();
  }
  // What rounding left over goes to the largest weight.
  *std::max_element(sources.weights.begin(), sources.weights.end()) += left;
  return sources;
}

// Rows of `from` groups of `group` bytes each become rows of `to` groups.
std::vector<std::uint8_t> resample(const std::uint8_t* in, std::int64_t rows, std::int64_t from, std::int64_t to,
                                   std::int64_t group) {
  std::vector<PixelSources> all;
  for (std::int64_t pixel = 0; pixel < to; ++pixel) all.push_back(sources_of(pixel, from, to));
  std::vector<std::uint8_t> result(static_cast<std::size_t>(rows * to * group));
  std::vector<std::int32_t> sums(static_cast<std::size_t>(group));
  std::uint8_t* out = result.data();
  // Row by row, as they lie in memory.
  for (std::int64_t row = 0; row < rows; ++row)
    for (const PixelSources& sources : all) {
      std::fill(sums.begin(), sums.end(), whole_weight / 2);
      const std::uint8_t* source = in + (row * from + sources.first) * group;
      for (const std::int32_t weight : sources.weights)
        for (std::int32_t& sum : sums) sum += weight * *source++;
      for (const std::int32_t sum : sums) *out++ = static_cast<std::uint8_t>(sum >> weight_bits);
    }
  return result;
}

void check_image(const char* who, const Array& image) {
  const bool is_image = image.dtype() == DType::uint8 && image.shape().rank() == 3 && image.shape()[2] >= 1 &&
                        image.shape()[2] <= 4 && image.elements() > 0;
  if (!is_image)
    throw Error(fmt::format("{}: the image is {}; give uint8[height, width, channels] with 1 to 4 channels", who,
                            type_text(image)));
}

}  // namespace

Array resize_image(const Array& image, std::int64_t height, std::int64_t width) {
  check_image("resize_image", image);
  if (height < 1 || width < 1)
    throw Error(fmt::format("resize_image: the size is {} x {}; both must be at least 1", height, width));
  const Shape& shape = image.shape();
  if (shape[0] == height && shape[1] == width) return image;
  const std::vector<std::uint8_t> narrow = resample(image.data<std::uint8_t>(), shape[0], shape[1], width, shape[2]);
  return Array::of(resample(narrow.data(), 1, shape[0], height, width * shape[2]), {height, width, shape[2]});
}

Array with_channels(const Array& image, std::int64_t channels) {
  check_image("with_channels", image);
  if (channels != 1 && channels != 3)
    throw Error(fmt::format("with_channels: {} channels are asked for; an image has 1 or 3", channels));
  const std::int64_t have = image.shape()[2];
  if (have == channels) return image;
  Array result = Array::uninitialised(DType::uint8, {image.shape()[0], image.shape()[1], channels});
  const std::uint8_t* in = image.data<std::uint8_t>();
  std::uint8_t* out = result.mutable_data<std::uint8_t>();
  for (std::int64_t i = 0; i < result.elements() / channels; ++i, in += have, out += channels)
    for (std::int64_t j = 0; j < channels; ++j)
      out[j] = have < 3        ? in[0]
               : channels == 3 ? in[j]
                               : static_cast<std::uint8_t>((299 * in[0] + 587 * in[1] + 114 * in[2]) / 1000);
  return result;
}

}  // namespace pando::data
