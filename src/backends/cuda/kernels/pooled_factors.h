// SPDX-License-Identifier: Apache-2.0
// Factors of convolutions that are pooled. Forwards, the pixels of a window of 2 by 2 are neighbouring lines, so that a
// thread has them all. Backwards, the gradient of the convolution is read from that of the pooled images and the
// positions of the largest elements: it is never stored.
//
// Plain functions of numbers: tests/cuda checks them on the host.
#pragma once
#include "backends/cuda/kernels/factors.h"
#include "backends/cuda/kernels/pooling.h"

namespace pando::cuda {

// The images as a convolution reads them; lines are pixels of its result in the order [image, pooled row, pooled
// column, place in the window].
class PooledSource : public ConvolutionSource<false> {
 public:
  PooledSource(const ConvolutionGeometry& geometry, std::int32_t pooled_rows, std::int32_t pooled_columns)
      : ConvolutionSource<false>(geometry), pooled_rows_(pooled_rows), pooled_columns_(pooled_columns) {}

  PANDO_HOST_DEVICE Line line(std::int32_t index) const {
    const Pixel window = pixel_at(pooled_rows_, pooled_columns_, index / 4);
    return window_at({window.image, 2 * window.row + index % 4 / 2, 2 * window.column + index % 2});
  }

 private:
  Divisor pooled_rows_, pooled_columns_;
};

// An element of the gradient of a convolution: that of the pooled images at `offset` if the position there is
// `position`, else zero. Offsets are negative outside all windows.
struct PooledElement {
  std::int64_t offset;
  std::int32_t position;
};

// From pixels of the convolution to windows that do not overlap.
class PooledPixels {
 public:
  PooledPixels(const Pooling& pooling, std::int32_t filters) : filters_(filters) {
    for (int axis = 0; axis < 2; ++axis) {
      strides_[axis] = Divisor(pooling.strides[axis]);
      kernel_[axis] = pooling.kernel[axis];
      before_[axis] = pooling.before[axis];
      pooled_[axis] = pooling.pooled[axis];
    }
  }

  PANDO_HOST_DEVICE std::int64_t image_elements() const {
    return static_cast<std::int64_t>(pooled_[0]) * pooled_[1] * filters_;
  }
  // For the first filter, in the image that starts at `image`.
  PANDO_HOST_DEVICE PooledElement at(std::int64_t image, std::int32_t row, std::int32_t column) const {
    row += before_[0];
    column += before_[1];
    const std::int32_t window_row = strides_[0].divide(row), window_column = strides_[1].divide(column);
    const bool inside =
        row < kernel_[0] && column < kernel_[1] && window_row < pooled_[0] && window_column < pooled_[1];
    const std::int64_t window = static_cast<std::int64_t>(window_row) * pooled_[1] + window_column;
    return {inside ? image + window * filters_ : -1, row * kernel_[1] + column};
  }

 private:
  Divisor strides_[2];
  std::int32_t kernel_[2], before_[2], pooled_[2], filters_;
};

// The same as GradientSource, for a convolution of stride 1 in one group.
class PooledGradientSource {
 public:
  static constexpr bool contiguous_depth = true;
  const std::uint8_t* positions = nullptr;

  PooledGradientSource(const ConvolutionGeometry& geometry, const Pooling& pooling)
      : pixels_(pooling, geometry.filters),
        rows_(geometry.rows),
        columns_(geometry.columns),
        before_{geometry.before[0], geometry.before[1]},
        height_(geometry.height),
        width_(geometry.width),
        filters_(geometry.filters),
        kernel_columns_(geometry.kernel[1]) {}

  bool in_fours(std::int32_t, std::int32_t) const { return filters_.value() % 4 == 0; }

  using Line = Pixel;
  using Depth = Tap;

  PANDO_HOST_DEVICE std::int64_t start(std::int32_t) const { return 0; }
  PANDO_HOST_DEVICE Line line(std::int32_t index) const {
    const Pixel pixel = pixel_at(height_, width_, index);
    return {pixel.image * pixels_.image_elements(), pixel.row + before_[0], pixel.column + before_[1]};
  }
  PANDO_HOST_DEVICE Depth depth(std::int32_t index) const { return tap_at(filters_, kernel_columns_, index); }
  PANDO_HOST_DEVICE PooledElement element(const Line& line, const Depth& depth) const {
    const std::int32_t row = line.row - depth.row, column = line.column - depth.column;
    if (row < 0 || column < 0 || row >= rows_ || column >= columns_) return {-1, 0};
    PooledElement element = pixels_.at(line.image, row, column);
    if (element.offset >= 0) element.offset += depth.channel;
    return element;
  }

 private:
  PooledPixels pixels_;
  std::int32_t rows_, columns_, before_[2];
  Divisor height_, width_, filters_, kernel_columns_;
};

// The gradient of the convolution by its pixels, for the gradient of the filter: element (filter, pixel).
class PooledGradientMatrix {
 public:
  static constexpr bool contiguous_depth = false;
  const std::uint8_t* positions = nullptr;

  PooledGradientMatrix(const ConvolutionGeometry& geometry, const Pooling& pooling)
      : pixels_(pooling, geometry.filters), rows_(geometry.rows), columns_(geometry.columns) {}

  bool in_fours(std::int32_t lines, std::int32_t) const { return lines % 4 == 0; }

  using Line = std::int32_t;
  using Depth = PooledElement;

  PANDO_HOST_DEVICE std::int64_t start(std::int32_t) const { return 0; }
  PANDO_HOST_DEVICE Line line(std::int32_t filter) const { return filter; }
  PANDO_HOST_DEVICE Depth depth(std::int32_t index) const {
    const Pixel pixel = pixel_at(rows_, columns_, index);
    return pixels_.at(pixel.image * pixels_.image_elements(), pixel.row, pixel.column);
  }
  PANDO_HOST_DEVICE PooledElement element(Line filter, const Depth& depth) const {
    return {depth.offset >= 0 ? depth.offset + filter : -1, depth.position};
  }

 private:
  PooledPixels pixels_;
  Divisor rows_, columns_;
};

}  // namespace pando::cuda
