// SPDX-License-Identifier: Apache-2.0
// torchvision.transforms: what is done to the images of a data set when they are fetched.
#pragma once
#include <pando/base/array.h>

#include <array>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace pando::torchvision::transforms {

class Draws;
class TransformBody;

// Works on images as they are stored, uint8 [h, w] or [h, w, c], and on tensors as ToTensor makes them, float32 [c, h,
// w]. A handle, immutable and cheap to copy. Calls throw Error if the images are of another kind.
class PANDO_API Transform {
 public:
  // Leaves images as they are.
  Transform() = default;
  explicit Transform(std::shared_ptr<const TransformBody> body) : body_(std::move(body)) {}

  // One image. Random transforms draw from next_random_key().
  Array operator()(const Array& image) const;
  // Many images along axis 0. Random transforms depend only on the key of each image; no keys are needed without them.
  Array batch(const Array& images, const std::vector<std::uint64_t>& keys) const;
  bool is_random() const;

  // As torchvision prints it.
  friend PANDO_API std::string to_string(const Transform& transform);
  friend PANDO_API std::ostream& operator<<(std::ostream& stream, const Transform& transform);

 private:
  friend class ComposeBody;
  Array apply(const Array& images, Draws& draws) const;

  std::shared_ptr<const TransformBody> body_;
};

// Applies the transforms one after the other.
struct PANDO_API Compose : Transform {
  explicit Compose(const std::vector<Transform>& transforms);
};

// Turns an image into float32 [c, h, w] in [0, 1].
struct PANDO_API ToTensor : Transform {
  ToTensor();
};

// (tensor - mean) / std, with a mean and an std for each channel, or one for all.
struct PANDO_API Normalize : Transform {
  Normalize(const std::vector<double>& mean, const std::vector<double>& std);
};

struct RandomCropOptions {
  // Pixels that are added on each side before cropping.
  std::int64_t padding = 0;
  // The stored value of these pixels for "constant".
  double fill = 0;
  // "constant", "edge", "reflect" (without the pixels of the edge) or "symmetric" (with them).
  std::string padding_mode = "constant";
};
// Cuts a part of {height, width}, or of one size for both, from a random place in the image.
struct PANDO_API RandomCrop : Transform {
  explicit RandomCrop(std::int64_t size, const RandomCropOptions& options = {});
  explicit RandomCrop(const std::array<std::int64_t, 2>& size, const RandomCropOptions& options = {});
};

// Mirrors an image with probability p.
struct PANDO_API RandomHorizontalFlip : Transform {
  explicit RandomHorizontalFlip(double p = 0.5);
};

// Resizes to {height, width}: bilinear between the centres of pixels, without antialiasing.
struct PANDO_API Resize : Transform {
  explicit Resize(const std::array<std::int64_t, 2>& size);
};

}  // namespace pando::torchvision::transforms
