// SPDX-License-Identifier: Apache-2.0
// Transform, and those of its kinds that leave pixels where they are.
#include "data/transforms/transforms.h"

#include <pando/base/array_functions.h>
#include <pando/base/random.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "base/text.h"

namespace pando::torchvision::transforms {

class ComposeBody : public TransformBody {
 public:
  explicit ComposeBody(const std::vector<Transform>& transforms) : transforms_(transforms) {}

  std::string text() const override {
    std::string text = "Compose(";
    for (const Transform& transform : transforms_) text += "\n    " + to_string(transform);
    return text + "\n)";
  }
  bool is_random() const override {
    return std::any_of(transforms_.begin(), transforms_.end(), [](const Transform& t) { return t.is_random(); });
  }
  Array apply(const Array& images, Draws& draws) const override {
    Array result = images;
    for (const Transform& transform : transforms_) result = transform.apply(result, draws);
    return result;
  }

 private:
  std::vector<Transform> transforms_;
};

namespace {

class ToTensorBody : public TransformBody {
 public:
  ToTensorBody() {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<float>(i) / 255.0f;
  }

  std::string text() const override { return "ToTensor()"; }
  Array apply(const Array& images, Draws&) const override {
    if (images.dtype() != DType::uint8)
      throw Error(fmt::format("ToTensor: the images are {}; give uint8 [n, h, w] or [n, h, w, c]", array_text(images)));
    const auto [count, planes, height, width, channels] = layout_of("ToTensor", images);
    Array result = Array::uninitialised(DType::float32, {count, channels, height, width});
    const std::uint8_t* in = images.data<std::uint8_t>();
    float* out = result.mutable_data<float>();
    const std::int64_t pixels = height * width;
    for (std::int64_t image = 0; image < count; ++image, in += pixels * channels)
      for (std::int64_t channel = 0; channel < channels; ++channel)
        for (std::int64_t i = 0; i < pixels; ++i) *out++ = values_[in[i * channels + channel]];
    return result;
  }

 private:
  std::array<float, 256> values_;
};

// "(0.1307,)"
std::string tuple_text(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(float_text(value));
  return "(" + join(texts, ", ") + (values.size() == 1 ? ",)" : ")");
}

class NormalizeBody : public TransformBody {
 public:
  NormalizeBody(const std::vector<double>& mean, const std::vector<double>& std) : mean_(mean), std_(std) {
    if (mean.empty() || mean.size() != std.size())
      throw Error(fmt::format("Normalize: mean has {} values and std {}; give one of each for every channel",
                              mean.size(), std.size()));
    for (std::size_t i = 0; i < std.size(); ++i)
      if (std[i] == 0) throw Error(fmt::format("Normalize: std[{}] is 0, and nothing can be divided by it", i));
  }

  std::string text() const override {
    return fmt::format("Normalize(mean={}, std={})", tuple_text(mean_), tuple_text(std_));
  }
  Array apply(const Array& images, Draws&) const override {
    if (images.dtype() != DType::float32)
      throw Error(fmt::format("Normalize: the images are {}; call ToTensor first", array_text(images)));
    const ImageLayout layout = layout_of("Normalize", images);
    const std::int64_t values = static_cast<std::int64_t>(mean_.size());
    if (values != 1 && values != layout.planes)
      throw Error(
          fmt::format("Normalize: there are {} means for images of {}; give one for each channel, {}, or one for all",
                      values, array_text(images), layout.planes));
    Array result = Array::uninitialised(DType::float32, images.shape());
    const float* in = images.data<float>();
    float* out = result.mutable_data<float>();
    const std::int64_t pixels = layout.height * layout.width;
    for (std::int64_t plane = 0; plane < layout.images * layout.planes; ++plane, in += pixels, out += pixels) {
      const std::size_t channel = static_cast<std::size_t>(plane % values);
      const float mean = static_cast<float>(mean_[channel]), std = static_cast<float>(std_[channel]);
      for (std::int64_t i = 0; i < pixels; ++i) out[i] = (in[i] - mean) / std;
    }
    return result;
  }

 private:
  std::vector<double> mean_, std_;
};

}  // namespace

std::vector<RandomStream> Draws::next() {
  std::vector<RandomStream> streams;
  streams.reserve(keys_.size());
  for (const std::uint64_t key : keys_) streams.emplace_back(key, stream_);
  ++stream_;
  return streams;
}

std::string array_text(const Array& array) {
  return fmt::format("{}{}", name(array.dtype()), to_string(array.shape()));
}

ImageLayout layout_of(const std::string& who, const Array& images) {
  const Shape& shape = images.shape();
  if (images.dtype() == DType::uint8 && (shape.rank() == 3 || shape.rank() == 4))
    return {shape[0], 1, shape[1], shape[2], shape.rank() == 4 ? shape[3] : 1};
  if (images.dtype() == DType::float32 && shape.rank() == 4) return {shape[0], shape[1], shape[2], shape[3], 1};
  throw Error(fmt::format("{}: the images are {}; give uint8 [n, h, w] or [n, h, w, c], or float32 [n, c, h, w]", who,
                          array_text(images)));
}

Shape shape_of_size(const Array& images, std::int64_t height, std::int64_t width) {
  Shape shape = images.shape();
  const int row = images.dtype() == DType::uint8 ? 1 : 2;
  shape[row] = height;
  shape[row + 1] = width;
  return shape;
}

Array Transform::operator()(const Array& image) const {
  const int rank = image.shape().rank();
  const bool is_stored = image.dtype() == DType::uint8 && (rank == 2 || rank == 3);
  if (!is_stored && !(image.dtype() == DType::float32 && rank == 3))
    throw Error(fmt::format("transforms: the image is {}; give uint8 [h, w] or [h, w, c], or float32 [c, h, w]",
                            array_text(image)));
  std::vector<std::uint64_t> keys;
  if (is_random()) keys.push_back(next_random_key());
  return squeeze(batch(expand_dims(image, 0), keys), 0);
}

Array Transform::batch(const Array& images, const std::vector<std::uint64_t>& keys) const {
  const std::int64_t count = images.shape().rank() > 0 ? images.shape()[0] : 0;
  if (is_random() && static_cast<std::int64_t>(keys.size()) != count)
    throw Error(fmt::format("transforms: there are {} images and {} keys; give each image one", count, keys.size()));
  Draws draws(keys);
  return apply(images, draws);
}

Array Transform::apply(const Array& images, Draws& draws) const { return body_ ? body_->apply(images, draws) : images; }

bool Transform::is_random() const { return body_ && body_->is_random(); }

std::string to_string(const Transform& transform) { return transform.body_ ? transform.body_->text() : "None"; }

std::ostream& operator<<(std::ostream& stream, const Transform& transform) { return stream << to_string(transform); }

Compose::Compose(const std::vector<Transform>& transforms) : Transform(std::make_shared<ComposeBody>(transforms)) {}
ToTensor::ToTensor() : Transform(std::make_shared<ToTensorBody>()) {}
Normalize::Normalize(const std::vector<double>& mean, const std::vector<double>& std)
    : Transform(std::make_shared<NormalizeBody>(mean, std)) {}

}  // namespace pando::torchvision::transforms
