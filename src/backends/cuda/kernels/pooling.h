// SPDX-License-Identifier: Apache-2.0
// Pooling: where the windows over images [images, rows, columns, channels] lie. Plain functions of numbers: tests/cuda
// checks them on the host. Axis 0 is that of the rows.
#pragma once
#include <cstdint>

#include "base/host_device.h"

namespace pando::cuda {

struct PooledPlace {
  std::int64_t image, row, column, channel;
};

// [first, last), and where the window would start without a border.
struct WindowRange {
  std::int64_t first, last, start;
};

struct Pooling {
  std::int64_t images = 0, channels = 0;
  // Of the images and of the pooled images.
  std::int64_t sizes[2] = {}, pooled[2] = {};
  std::int64_t kernel[2] = {}, strides[2] = {}, before[2] = {}, after[2] = {};

  PANDO_HOST_DEVICE std::int64_t image_elements() const { return sizes[0] * sizes[1] * channels; }
  PANDO_HOST_DEVICE std::int64_t result_elements() const { return pooled[0] * pooled[1] * channels; }
  PANDO_HOST_DEVICE std::int64_t elements() const { return images * image_elements(); }
  PANDO_HOST_DEVICE std::int64_t results() const { return images * result_elements(); }

  // Element `index` of the pooled images, and of the images.
  PANDO_HOST_DEVICE PooledPlace result(std::int64_t index) const { return place(index, pooled); }
  PANDO_HOST_DEVICE PooledPlace element(std::int64_t index) const { return place(index, sizes); }

  PANDO_HOST_DEVICE std::int64_t start(int axis, std::int64_t window) const {
    return window * strides[axis] - before[axis];
  }
  // The places of the image in a window.
  PANDO_HOST_DEVICE WindowRange window(int axis, std::int64_t index) const {
    const std::int64_t begin = start(axis, index), end = begin + kernel[axis];
    return {begin < 0 ? 0 : begin, end < sizes[axis] ? end : sizes[axis], begin};
  }
  // The windows that a place of the image lies in.
  PANDO_HOST_DEVICE WindowRange windows_over(int axis, std::int64_t index) const {
    const std::int64_t padded = index + before[axis];
    const std::int64_t first = padded < kernel[axis] ? 0 : (padded - kernel[axis]) / strides[axis] + 1;
    const std::int64_t last = padded / strides[axis] + 1;
    return {first, last < pooled[axis] ? last : pooled[axis], 0};
  }
  // What the sum over a window is divided by.
  PANDO_HOST_DEVICE std::int64_t places(std::int64_t row, std::int64_t column, bool count_padding) const {
    return places_along(0, row, count_padding) * places_along(1, column, count_padding);
  }

 private:
  PANDO_HOST_DEVICE PooledPlace place(std::int64_t index, const std::int64_t* extent) const {
    const std::int64_t channel = index % channels;
    index /= channels;
    const std::int64_t column = index % extent[1];
    index /= extent[1];
    return {index / extent[0], index % extent[0], column, channel};
  }
  PANDO_HOST_DEVICE std::int64_t places_along(int axis, std::int64_t index, bool count_padding) const {
    const std::int64_t first = count_padding ? -before[axis] : 0;
    const std::int64_t last = sizes[axis] + (count_padding ? after[axis] : 0);
    const std::int64_t begin = start(axis, index), end = begin + kernel[axis];
    return (end < last ? end : last) - (begin > first ? begin : first);
  }
};

}  // namespace pando::cuda
