// SPDX-License-Identifier: Apache-2.0
// The transforms that move pixels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "data/transforms/transforms.h"

namespace pando::torchvision::transforms {

namespace {

constexpr const char* padding_modes[] = {"constant", "edge", "reflect", "symmetric"};

void check_size(const std::string& who, const std::array<std::int64_t, 2>& size) {
  if (size[0] < 1 || size[1] < 1)
    throw Error(fmt::format("{}: the size is {} x {}; both must be at least 1", who, size[0], size[1]));
}

// Where pixel i of an axis of `size` pixels comes from, which may lie outside; -1 if from nowhere.
std::int64_t source_of(std::int64_t i, std::int64_t size, const std::string& mode) {
  if (i >= 0 && i < size) return i;
  if (mode == "edge") return std::clamp<std::int64_t>(i, 0, size - 1);
  if (mode == "reflect") return i < 0 ? -i : 2 * (size - 1) - i;
  if (mode == "symmetric") return i < 0 ? -i - 1 : 2 * size - 1 - i;
  return -1;
}

// Pixels of a row that come from one place, one after the other, or from nowhere.
struct Run {
  std::int64_t source = 0, length = 0;
};

class RandomCropBody : public TransformBody {
 public:
  RandomCropBody(const std::array<std::int64_t, 2>& size, const RandomCropOptions& options)
      : height_(size[0]), width_(size[1]), options_(options) {
    check_size("RandomCrop", size);
    if (options.padding < 0)
      throw Error(fmt::format("RandomCrop: the padding is {}; it must not be negative", options.padding));
    const std::vector<std::string> known(std::begin(padding_modes), std::end(padding_modes));
    if (std::find(known.begin(), known.end(), options.padding_mode) == known.end())
      throw Error("RandomCrop: " + unknown_name("padding_mode", options.padding_mode, known));
  }

  std::string text() const override {
    return fmt::format("RandomCrop(size=({}, {}), padding={})", height_, width_,
                       options_.padding == 0 ? "None" : fmt::format("{}", options_.padding));
  }
  bool is_random() const override { return true; }
  Array apply(const Array& images, Draws& draws) const override {
    const ImageLayout layout = layout_of("RandomCrop", images);
    check_fit(images, layout);
    Array result = Array::uninitialised(images.dtype(), shape_of_size(images, height_, width_));
    std::vector<RandomStream> streams = draws.next();
    for (std::int64_t i = 0; i < layout.images; ++i)
      if (images.dtype() == DType::uint8)
        crop(layout, images.data<std::uint8_t>(), i, streams, result.mutable_data<std::uint8_t>());
      else crop(layout, images.data<float>(), i, streams, result.mutable_data<float>());
    return result;
  }

 private:
  void check_fit(const Array& images, const ImageLayout& layout) const {
    const std::int64_t padding = options_.padding, shortest = std::min(layout.height, layout.width);
    if (layout.height + 2 * padding < height_ || layout.width + 2 * padding < width_)
      throw Error(
          fmt::format("RandomCrop: {} x {} is larger than the images, which are {} x {} with a padding of {}; "
                      "take a smaller size or more padding",
                      height_, width_, layout.height, layout.width, padding));
    const std::int64_t most = options_.padding_mode == "reflect" ? shortest - 1 : shortest;
    if ((options_.padding_mode == "reflect" || options_.padding_mode == "symmetric") && padding > most)
      throw Error(fmt::format("RandomCrop: the padding is {}, but '{}' finds only {} pixels to repeat in {}", padding,
                              options_.padding_mode, most, array_text(images)));
  }

  // The runs of a row whose first pixel is `left`.
  std::vector<Run> runs(std::int64_t left, std::int64_t size) const {
    std::vector<Run> result;
    for (std::int64_t x = 0; x < width_; ++x) {
      const std::int64_t source = source_of(left + x, size, options_.padding_mode);
      const bool follows = !result.empty() && (source < 0 ? result.back().source < 0
                                                          : result.back().source >= 0 &&
                                                                source == result.back().source + result.back().length);
      if (follows) ++result.back().length;
      else result.push_back({source, 1});
    }
    return result;
  }

  template <class T>
  void crop(const ImageLayout& layout, const T* in, std::int64_t image, std::vector<RandomStream>& streams,
            T* out) const {
    RandomStream& random = streams[static_cast<std::size_t>(image)];
    const std::int64_t padding = options_.padding, channels = layout.channels;
    const auto draw = [&](std::int64_t size, std::int64_t wanted) {
      return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(size + 2 * padding - wanted + 1))) -
             padding;
    };
    const std::int64_t top = draw(layout.height, height_), left = draw(layout.width, width_);
    const std::vector<Run> row_runs = runs(left, layout.width);
    in += image * layout.planes * layout.height * layout.width * channels;
    out += image * layout.planes * height_ * width_ * channels;
    for (std::int64_t plane = 0; plane < layout.planes; ++plane, in += layout.height * layout.width * channels)
      for (std::int64_t y = 0; y < height_; ++y) {
        const std::int64_t row = source_of(top + y, layout.height, options_.padding_mode);
        for (const Run& run : row_runs) {
          const std::int64_t elements = run.length * channels;
          if (row < 0 || run.source < 0) std::fill_n(out, elements, static_cast<T>(options_.fill));
          else std::copy_n(in + (row * layout.width + run.source) * channels, elements, out);
          out += elements;
        }
      }
  }

  std::int64_t height_, width_;
  RandomCropOptions options_;
};

class RandomHorizontalFlipBody : public TransformBody {
 public:
  explicit RandomHorizontalFlipBody(double p) : p_(p) {
    if (!(p >= 0 && p <= 1))
      throw Error(fmt::format("RandomHorizontalFlip: p is {}; a probability is from 0 to 1", float_text(p)));
  }

  std::string text() const override { return fmt::format("RandomHorizontalFlip(p={})", float_text(p_)); }
  bool is_random() const override { return true; }
  Array apply(const Array& images, Draws& draws) const override {
    const ImageLayout layout = layout_of("RandomHorizontalFlip", images);
    Array result = images.clone();
    std::vector<RandomStream> streams = draws.next();
    for (std::int64_t i = 0; i < layout.images; ++i)
      if (streams[static_cast<std::size_t>(i)].uniform() < p_) {
        if (images.dtype() == DType::uint8) flip(layout, i, result.mutable_data<std::uint8_t>());
        else flip(layout, i, result.mutable_data<float>());
      }
    return result;
  }

 private:
  template <class T>
  static void flip(const ImageLayout& layout, std::int64_t image, T* pixels) {
    const std::int64_t row = layout.width * layout.channels, rows = layout.planes * layout.height;
    pixels += image * rows * row;
    for (std::int64_t y = 0; y < rows; ++y, pixels += row) {
      std::reverse(pixels, pixels + row);
      // The channels of each pixel are in their order again.
      for (std::int64_t x = 0; layout.channels > 1 && x < row; x += layout.channels)
        std::reverse(pixels + x, pixels + x + layout.channels);
    }
  }

  double p_;
};

// Two neighbours of an axis and how much of the second there is between them.
struct Between {
  std::int64_t first = 0, second = 0;
  float part = 0;
};

// As in PyTorch with align_corners = False, in single precision.
std::vector<Between> axis_of(std::int64_t from, std::int64_t to) {
  std::vector<Between> axis;
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    const float place = std::max(0.0f, scale * (static_cast<float>(i) + 0.5f) - 0.5f);
    const std::int64_t first = std::min(static_cast<std::int64_t>(place), from - 1);
    axis.push_back({first, std::min(first + 1, from - 1), place - static_cast<float>(first)});
  }
  return axis;
}

void store(float value, float& out) { out = value; }
void store(float value, std::uint8_t& out) { out = static_cast<std::uint8_t>(std::nearbyint(value)); }

class ResizeBody : public TransformBody {
 public:
  explicit ResizeBody(const std::array<std::int64_t, 2>& size) : height_(size[0]), width_(size[1]) {
    check_size("Resize", size);
  }

  std::string text() const override {
    return fmt::format("Resize(size=({}, {}), interpolation=bilinear, max_size=None, antialias=False)", height_,
                       width_);
  }
  Array apply(const Array& images, Draws&) const override {
    const ImageLayout layout = layout_of("Resize", images);
    if (layout.height == 0 || layout.width == 0)
      throw Error(fmt::format("Resize: the images are {} and have no pixels", array_text(images)));
    Array result = Array::uninitialised(images.dtype(), shape_of_size(images, height_, width_));
    if (images.dtype() == DType::uint8)
      resize(layout, images.data<std::uint8_t>(), result.mutable_data<std::uint8_t>());
    else resize(layout, images.data<float>(), result.mutable_data<float>());
    return result;
  }

 private:
  template <class T>
  void resize(const ImageLayout& layout, const T* in, T* out) const {
    const std::vector<Between> rows = axis_of(layout.height, height_), columns = axis_of(layout.width, width_);
    const std::int64_t channels = layout.channels, row = layout.width * channels;
    for (std::int64_t plane = 0; plane < layout.images * layout.planes; ++plane, in += layout.height * row)
      for (const Between& y : rows) {
        const T *above = in + y.first * row, *below = in + y.second * row;
        for (const Between& x : columns)
          for (std::int64_t c = 0; c < channels; ++c) {
            const auto mixed = [&](const T* line) {
              return (1 - x.part) * static_cast<float>(line[x.first * channels + c]) +
                     x.part * static_cast<float>(line[x.second * channels + c]);
            };
            store((1 - y.part) * mixed(above) + y.part * mixed(below), *out++);
          }
      }
  }

  std::int64_t height_, width_;
};

}  // namespace

RandomCrop::RandomCrop(std::int64_t size, const RandomCropOptions& options)
    : RandomCrop(std::array<std::int64_t, 2>{size, size}, options) {}
RandomCrop::RandomCrop(const std::array<std::int64_t, 2>& size, const RandomCropOptions& options)
    : Transform(std::make_shared<RandomCropBody>(size, options)) {}
RandomHorizontalFlip::RandomHorizontalFlip(double p) : Transform(std::make_shared<RandomHorizontalFlipBody>(p)) {}
Resize::Resize(const std::array<std::int64_t, 2>& size) : Transform(std::make_shared<ResizeBody>(size)) {}

}  // namespace pando::torchvision::transforms
