// SPDX-License-Identifier: Apache-2.0
// Images: read from PNG and JPEG files, and brought to another size or to other channels.
#pragma once
#include <pando/base/array.h>

#include <string>

// Images are uint8 [height, width, channels]: grey (1 channel), grey and alpha (2), red, green, blue (3), and alpha
// (4). The functions that read files throw Error if a file is wrong, naming the file, the problem and the remedy.
namespace pando::data {

// Palettes become colours; 16-bit values keep their upper 8 bits; values of fewer than 8 bits are scaled to 0 to 255.
// Needs zlib.
PANDO_API Array read_png(const std::string& path);

// Grey or red, green, blue. Needs libjpeg-turbo.
PANDO_API Array read_jpeg(const std::string& path);

// A PNG or JPEG image: its first bytes decide, whatever the file is called.
PANDO_API Array read_image(const std::string& path);

// The image in another size. Where it becomes larger, it is interpolated (bilinear). Where it becomes smaller, each
// pixel is a weighted mean of all pixels that it covers. The same bytes on every machine. Throws Error for a size below
// 1.
PANDO_API Array resize_image(const Array& image, std::int64_t height, std::int64_t width);

// The image with 1 channel, its brightness, or with 3. Alpha is dropped. Throws Error for another number of channels.
PANDO_API Array with_channels(const Array& image, std::int64_t channels);

}  // namespace pando::data
