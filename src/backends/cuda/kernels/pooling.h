// SPDX-License-Identifier: Apache-2.0
// Pooling: where the windows over images [images, rows, columns, channels] lie. Plain functions of numbers: tests/cuda
// checks them on the host. Axis 0 is that of the rows.
#pragma once
#include "backends/cuda/kernels/divisor.h"
#include "base/host_device.h"

namespace pando::cuda {

struct PooledPlace {
  std::int32_t image, row, column, channel;
};

// [first, last), and where the window would start without a border.
struct WindowRange {
  std::int32_t first, last, start;
};

// All elements are counted in 32 bits.
struct Pooling {
  std::int32_t images = 0, channels = 0;
  // The rows and columns of the images and of the pooled images.
  std::int32_t sizes[2] = {}, pooled[2] = {};
  std::int32_t kernel[2] = {}, strides[2] = {}, before[2] = {}, after[2] = {};
  // By the numbers above; made by prepare().
  Divisor by_channels, by_sizes[2], by_pooled[2], by_strides[2];

  void prepare() {
    by_channels = Divisor(channels);
    for (int axis = 0; axis < 2; ++axis) {
      by_sizes[axis] = Divisor(sizes[axis]);
      by_pooled[axis] = Divisor(pooled[axis]);
      by_strides[axis] = Divisor(strides[axis]);
    }
  }

  PANDO_HOST_DEVICE std::int32_t image_elements() const { return sizes[0] * sizes[1] * channels; }
  PANDO_HOST_DEVICE std::int32_t result_elements() const { return pooled[0] * pooled[1] * channels; }
  PANDO_HOST_DEVICE std::int32_t elements() const { return images * image_elements(); }
  PANDO_HOST_DEVICE std::int32_t results() const { return images * result_elements(); }

  // Element `index` of the pooled images, and of the images.
  PANDO_HOST_DEVICE PooledPlace result(std::int32_t index) const { return place(index, by_pooled); }
  PANDO_HOST_DEVICE PooledPlace element(std::int32_t index) const { return place(index, by_sizes); }

  PANDO_HOST_DEVICE std::int32_t start(int axis, std::int32_t window) const {
    return window * strides[axis] - before[axis];
  }
  // The places of the image in a window.
  PANDO_HOST_DEVICE WindowRange window(int axis, std::int32_t index) const {
    const std::int32_t begin = start(axis, index), end = begin + kernel[axis];
    return {begin < 0 ? 0 : begin, end < sizes[axis] ? end : sizes[axis], begin};
  }
  // The windows that a place of the image lies in.
  PANDO_HOST_DEVICE WindowRange windows_over(int axis, std::int32_t index) const {
    const std::int32_t padded = index + before[axis];
    const std::int32_t first = padded < kernel[axis] ? 0 : by_strides[axis].quotient(padded - kernel[axis]) + 1;
    const std::int32_t last = by_strides[axis].quotient(padded) + 1;
    return {first, last < pooled[axis] ? last : pooled[axis], 0};
  }
  // What the sum over a window is divided by.
  PANDO_HOST_DEVICE std::int32_t places(std::int32_t row, std::int32_t column, bool count_padding) const {
    return places_along(0, row, count_padding) * places_along(1, column, count_padding);
  }

 private:
  PANDO_HOST_DEVICE PooledPlace place(std::int32_t index, const Divisor* extent) const {
    std::int32_t column = by_channels.divide(index);
    std::int32_t row = extent[1].divide(column);
    const std::int32_t image = extent[0].divide(row);
    return {image, row, column, index};
  }
  PANDO_HOST_DEVICE std::int32_t places_along(int axis, std::int32_t index, bool count_padding) const {
    const std::int32_t first = count_padding ? -before[axis] : 0;
    const std::int32_t last = sizes[axis] + (count_padding ? after[axis] : 0);
    const std::int32_t begin = start(axis, index), end = begin + kernel[axis];
    return (end < last ? end : last) - (begin > first ? begin : first);
  }
};

}  // namespace pando::cuda
