// SPDX-License-Identifier: Apache-2.0
// What a Transform does.
#pragma once
#include <pando/data/transforms.h>

#include "base/random_stream.h"

namespace pando::torchvision::transforms {

// The random numbers of a call: each image has its key, each random transform its stream.
class Draws {
 public:
  explicit Draws(const std::vector<std::uint64_t>& keys) : keys_(keys) {}
  // The numbers of every image, in order, for one more transform.
  std::vector<RandomStream> next();

 private:
  const std::vector<std::uint64_t>& keys_;
  std::uint32_t stream_ = 0;
};

class TransformBody {
 public:
  virtual ~TransformBody() = default;
  // As torchvision prints it.
  virtual std::string text() const = 0;
  virtual bool is_random() const { return false; }
  // Does not change `images`.
  virtual Array apply(const Array& images, Draws& draws) const = 0;
};

// Images as planes of pixels: one plane of interleaved channels for uint8, one for each channel for float32.
struct ImageLayout {
  std::int64_t images = 0, planes = 1, height = 0, width = 0;
  // Elements of a pixel.
  std::int64_t channels = 1;
};
// Throws Error beginning with `who` for arrays that are not images.
ImageLayout layout_of(const std::string& who, const Array& images);
// The shape of such images with another height and width.
Shape shape_of_size(const Array& images, std::int64_t height, std::int64_t width);

// "float32[2, 3]".
std::string array_text(const Array& array);

}  // namespace pando::torchvision::transforms
