// SPDX-License-Identifier: Apache-2.0
// Factors of products: where the elements of a matrix lie in memory. Some matrices are stored, others are only implied
// by a convolution. A product sums a(row, depth) * b(column, depth) over depth; rows of a and columns of b are `lines`
// of the factor. A factor works out a line and a depth separately, so that a thread does each once, and then joins both
// into an offset. The offset is negative where the element is a zero of the padding. in_fours() says whether four
// neighbours, from a multiple of four on, can be read at once.
//
// Plain functions of numbers: tests/cuda checks them on the host.
#pragma once
#include "backends/cuda/kernels/divisor.h"
#include "base/host_device.h"

namespace pando::cuda {

// Where the matrices of a batch start: the offset of each by its index along the batch's axes.
struct BatchStarts {
  static constexpr int most_axes = 6;
  int axes = 0;
  Divisor sizes[most_axes];
  std::int64_t strides[most_axes] = {}, first = 0;

  // The starts of `count` matrices that are `stride` apart.
  static BatchStarts along(std::int32_t count, std::int64_t stride) {
    BatchStarts starts;
    starts.axes = 1;
    starts.sizes[0] = Divisor(count);
    starts.strides[0] = stride;
    return starts;
  }

  PANDO_HOST_DEVICE std::int64_t operator()(std::int32_t batch) const {
    std::int64_t start = first;
    for (int axis = axes - 1; axis >= 0; --axis) {
      std::int32_t index = batch;
      batch = sizes[axis].divide(index);
      start += index * strides[axis];
    }
    return start;
  }
};

// A stored matrix. `by_depth`: neighbours along the depth are neighbours in memory, and lines are `step` apart;
// otherwise lines are neighbours and depths `step` apart.
template <bool by_depth>
struct StoredFactor {
  static constexpr bool contiguous_depth = by_depth;
  using Line = std::int64_t;
  using Depth = std::int64_t;
  std::int64_t step = 0;
  BatchStarts starts;

  bool in_fours(std::int32_t lines, std::int32_t depths) const {
    bool fours = step % 4 == 0 && starts.first % 4 == 0 && (by_depth ? depths : lines) % 4 == 0;
    for (int axis = 0; axis < starts.axes; ++axis) fours = fours && starts.strides[axis] % 4 == 0;
    return fours;
  }
  PANDO_HOST_DEVICE std::int64_t start(std::int32_t batch) const { return starts(batch); }
  PANDO_HOST_DEVICE Line line(std::int32_t index) const { return by_depth ? index * step : index; }
  PANDO_HOST_DEVICE Depth depth(std::int32_t index) const { return by_depth ? index : index * step; }
  PANDO_HOST_DEVICE std::int64_t offset(Line line, Depth depth) const { return line + depth; }
};

// The geometry of a convolution of images [batch, height, width, channels] into [batch, rows, columns, filters] by a
// filter [kernel rows, kernel columns, channels of a group, filters].
struct ConvolutionGeometry {
  std::int32_t height = 0, width = 0, channels = 0;
  std::int32_t rows = 0, columns = 0, filters = 0;
  std::int32_t strides[2] = {1, 1}, dilations[2] = {1, 1}, before[2] = {0, 0};
  std::int32_t kernel[2] = {1, 1};
  std::int32_t groups = 1;

  PANDO_HOST_DEVICE std::int32_t group_channels() const { return channels / groups; }
  PANDO_HOST_DEVICE std::int32_t group_filters() const { return filters / groups; }
};

// Where the filters, and the channels, of each group start.
inline BatchStarts filter_starts(const ConvolutionGeometry& geometry) {
  return BatchStarts::along(geometry.groups, geometry.group_filters());
}
inline BatchStarts channel_starts(const ConvolutionGeometry& geometry) {
  return BatchStarts::along(geometry.groups, geometry.group_channels());
}

// A matrix [depth, groups, lines]: the filter by its taps, and the gradient of the result by its pixels.
inline StoredFactor<false> by_groups(const ConvolutionGeometry& geometry) {
  return {geometry.filters, filter_starts(geometry)};
}

// A tap of the filter and a channel of those that it reads, from an index [kernel row, kernel column, channel].
struct Tap {
  std::int32_t row, column, channel;
};

PANDO_HOST_DEVICE inline Tap tap_at(const Divisor& channels, const Divisor& kernel_columns, std::int32_t index) {
  const std::int32_t tap = channels.divide(index);
  std::int32_t column = tap;
  const std::int32_t row = kernel_columns.divide(column);
  return {row, column, index};
}

// A pixel of a batch of images: where its image starts, and its place in it.
struct Pixel {
  std::int64_t image;
  std::int32_t row, column;
};

PANDO_HOST_DEVICE inline Pixel pixel_at(const Divisor& rows, const Divisor& columns, std::int32_t index) {
  const std::int32_t image_row = columns.divide(index);
  std::int32_t row = image_row;
  const std::int32_t image = rows.divide(row);
  return {image, row, index};
}

// What the taps of a convolution read: element (pixel of the result, tap and channel of the group). Lines are pixels,
// and depths taps; the other way round with `taps_are_lines`, as the gradient of the filter wants it.
template <bool taps_are_lines>
class ConvolutionSource {
 public:
  static constexpr bool contiguous_depth = !taps_are_lines;

  explicit ConvolutionSource(const ConvolutionGeometry& geometry)
      : geometry_(geometry),
        rows_(geometry.rows),
        columns_(geometry.columns),
        channels_(geometry.group_channels()),
        kernel_columns_(geometry.kernel[1]) {}

  bool in_fours(std::int32_t, std::int32_t) const { return geometry_.group_channels() % 4 == 0; }

  // The first row and column that the pixel's window meets, and the element where its image begins.
  struct Window {
    std::int64_t image;
    std::int32_t row, column;
  };
  // Rows and columns from there, and the channel.
  struct Reach {
    std::int32_t row, column, channel;
  };
  template <bool first, class A, class B>
  struct Choice {
    using type = A;
  };
  template <class A, class B>
  struct Choice<false, A, B> {
    using type = B;
  };
  using Line = typename Choice<taps_are_lines, Reach, Window>::type;
  using Depth = typename Choice<taps_are_lines, Window, Reach>::type;

  PANDO_HOST_DEVICE std::int64_t start(std::int32_t group) const {
    return static_cast<std::int64_t>(group) * geometry_.group_channels();
  }
  PANDO_HOST_DEVICE Line line(std::int32_t index) const {
    if constexpr (taps_are_lines) return reach(index);
    else return window(index);
  }
  PANDO_HOST_DEVICE Depth depth(std::int32_t index) const {
    if constexpr (taps_are_lines) return window(index);
    else return reach(index);
  }
  PANDO_HOST_DEVICE std::int64_t offset(const Line& line, const Depth& depth) const {
    if constexpr (taps_are_lines) return place(depth, line);
    else return place(line, depth);
  }

 protected:
  PANDO_HOST_DEVICE Window window_at(const Pixel& pixel) const {
    const std::int64_t image_size = static_cast<std::int64_t>(geometry_.height) * geometry_.width * geometry_.channels;
    return {pixel.image * image_size, pixel.row * geometry_.strides[0] - geometry_.before[0],
            pixel.column * geometry_.strides[1] - geometry_.before[1]};
  }

 private:
  PANDO_HOST_DEVICE Window window(std::int32_t index) const { return window_at(pixel_at(rows_, columns_, index)); }
  PANDO_HOST_DEVICE Reach reach(std::int32_t index) const {
    const Tap tap = tap_at(channels_, kernel_columns_, index);
    return {tap.row * geometry_.dilations[0], tap.column * geometry_.dilations[1], tap.channel};
  }
  PANDO_HOST_DEVICE std::int64_t place(const Window& window, const Reach& reach) const {
    const std::int32_t row = window.row + reach.row, column = window.column + reach.column;
    const bool inside = row >= 0 && row < geometry_.height && column >= 0 && column < geometry_.width;
    const std::int64_t pixel = static_cast<std::int64_t>(row) * geometry_.width + column;
    return inside ? window.image + pixel * geometry_.channels + reach.channel : -1;
  }

  ConvolutionGeometry geometry_;
  Divisor rows_, columns_, channels_, kernel_columns_;
};

// What meets a pixel of the images in the gradient of their convolution: element (pixel of the images, tap and filter
// of the group) of the gradient of the result. Where the stride steps over the pixel, there is no such element.
class GradientSource {
 public:
  static constexpr bool contiguous_depth = true;

  explicit GradientSource(const ConvolutionGeometry& geometry)
      : geometry_(geometry),
        height_(geometry.height),
        width_(geometry.width),
        filters_(geometry.group_filters()),
        kernel_columns_(geometry.kernel[1]),
        row_stride_(geometry.strides[0]),
        column_stride_(geometry.strides[1]) {}

  bool in_fours(std::int32_t, std::int32_t) const { return geometry_.group_filters() % 4 == 0; }

  struct Line {
    std::int64_t image;
    std::int32_t row, column;
  };
  struct Depth {
    std::int32_t row, column, filter;
  };

  PANDO_HOST_DEVICE std::int64_t start(std::int32_t group) const {
    return static_cast<std::int64_t>(group) * geometry_.group_filters();
  }
  PANDO_HOST_DEVICE Line line(std::int32_t index) const {
    const Pixel pixel = pixel_at(height_, width_, index);
    const std::int64_t image_size = static_cast<std::int64_t>(geometry_.rows) * geometry_.columns * geometry_.filters;
    return {pixel.image * image_size, pixel.row + geometry_.before[0], pixel.column + geometry_.before[1]};
  }
  PANDO_HOST_DEVICE Depth depth(std::int32_t index) const {
    const Tap tap = tap_at(filters_, kernel_columns_, index);
    return {tap.row * geometry_.dilations[0], tap.column * geometry_.dilations[1], tap.channel};
  }
  PANDO_HOST_DEVICE std::int64_t offset(const Line& line, const Depth& depth) const {
    std::int32_t row = line.row - depth.row, column = line.column - depth.column;
    if (row < 0 || column < 0) return -1;
    const std::int32_t result_row = row_stride_.divide(row), result_column = column_stride_.divide(column);
    const bool inside = row == 0 && column == 0 && result_row < geometry_.rows && result_column < geometry_.columns;
    const std::int64_t pixel = static_cast<std::int64_t>(result_row) * geometry_.columns + result_column;
    return inside ? line.image + pixel * geometry_.filters + depth.filter : -1;
  }

 private:
  ConvolutionGeometry geometry_;
  Divisor height_, width_, filters_, kernel_columns_, row_stride_, column_stride_;
};

// The filter as that gradient reads it: element (channel of the group, tap and filter of the group).
class TransposedFilter {
 public:
  static constexpr bool contiguous_depth = true;

  explicit TransposedFilter(const ConvolutionGeometry& geometry)
      : group_channels_(geometry.group_channels()),
        group_filters_(geometry.group_filters()),
        row_(geometry.filters),
        filters_(group_filters_) {}

  bool in_fours(std::int32_t, std::int32_t) const { return group_filters_ % 4 == 0; }

  using Line = std::int64_t;
  using Depth = std::int64_t;

  PANDO_HOST_DEVICE std::int64_t start(std::int32_t group) const {
    return static_cast<std::int64_t>(group) * group_filters_;
  }
  PANDO_HOST_DEVICE Line line(std::int32_t channel) const { return channel * row_; }
  PANDO_HOST_DEVICE Depth depth(std::int32_t index) const {
    const std::int32_t tap = filters_.divide(index);
    return static_cast<std::int64_t>(tap) * group_channels_ * row_ + index;
  }
  PANDO_HOST_DEVICE std::int64_t offset(Line line, Depth depth) const { return line + depth; }

 private:
  std::int32_t group_channels_, group_filters_;
  std::int64_t row_;
  Divisor filters_;
};

}  // namespace pando::cuda
