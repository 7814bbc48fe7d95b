// SPDX-License-Identifier: Apache-2.0
// What the ways to compute a correlation share: its axes and taps, the zeros around its images, and how its sums are
// split. conv2d is a correlation, and so is the gradient of its input. Each element of that gradient belongs to one of
// stride x stride phases, and a phase is a correlation of stride 1 with the taps that meet it.
#pragma once
#include "backends/cpu/kernels/product.h"
#include "ops/window.h"

namespace pando::cpu {

// How one axis of the result is made: element t * phases + p is a sum over taps[p] of source[t * step + offset].
struct CorrelationAxis {
  struct Tap {
    std::int64_t index;
    std::int64_t offset;
  };
  std::int64_t source = 0, result = 0;
  std::int64_t step = 1, phases = 1;
  // By phase, in the order of the offsets.
  std::vector<std::vector<Tap>> taps = {};

  static CorrelationAxis of_convolution(const Window& window, std::size_t axis, std::int64_t input,
                                        std::int64_t output);
  static CorrelationAxis of_input_gradient(const Window& window, std::size_t axis, std::int64_t input,
                                           std::int64_t output);
  std::int64_t steps(std::int64_t phase) const { return divide_up(result - phase, phases); }
  // Zeros before the source, and its size with the zeros on both sides that the taps reach.
  std::int64_t lead() const;
  std::int64_t padded() const;
  // Elements of the padded source that one step reads, from its first on.
  std::int64_t reach() const;
};

// Images with zeros around them, of which a few rows at a time are made in scratch memory.
struct PaddedImage {
  std::int64_t height, width, channels;
  std::int64_t lead_rows, lead_columns;
  std::int64_t padded_height, padded_width;

  bool is_padded() const { return padded_height != height || padded_width != width; }
  std::int64_t row_elements() const { return padded_width * channels; }
  // Makes rows [first, first + count) of the padded image; copy(from, count, to) copies elements.
  template <class T, class S>
  void copy_rows(const T* image, std::int64_t first, std::int64_t count, S* to, const auto& copy) const;
  template <class T>
  void copy_rows(const T* image, std::int64_t first, std::int64_t count, T* to) const;
};

// `transposed`: the filter's last axis is that of the source rather than of the result.
struct CorrelationSizes {
  CorrelationAxis rows, columns;
  std::int64_t source_channels, result_channels, groups;
  std::int64_t kernel_width;
  bool transposed;

  // The number of taps of all phases together.
  std::int64_t filter_taps() const;
};

// How the taps of a phase are summed. A segment is one run of the source: a row of taps if these lie side by side in it
// and are few, otherwise one tap. At most `at_once` segments are summed from zero; each such sum is then added to the
// result.
struct TapSegments {
  // Whether the taps of a row are one segment, and the products that a segment adds.
  bool joins = false;
  std::int64_t depth = 0;
  std::int64_t row_segments = 0, at_once = 1;
};
// For factors of type S.
template <class S>
TapSegments tap_segments(const CorrelationSizes& sizes, std::int64_t column_phase);
// How many whole images are multiplied by the filter together. It is one, unless images have few pixels and the filter
// is so large that it would come from memory for each of them.
std::int64_t images_at_once(const CorrelationSizes& sizes);
// The same, but at most `images`.
std::int64_t images_at_once(const CorrelationSizes& sizes, std::int64_t images);

// The taps of the row axis that meet real pixels at this step. If a row (of all images taken at once) has too few
// `pixels` to fill the block of registers, all taps: several rows are then computed together.
Range row_taps(const CorrelationSizes& sizes, std::int64_t row_phase, std::int64_t pixels, std::int64_t block_rows,
               std::int64_t step);

// The images that a correlation reads.
PaddedImage padded_source(const CorrelationSizes& sizes);

// The convolution of the call's first two inputs, x and the filter.
CorrelationSizes convolution_sizes(const KernelCall& call, const Window& window);
Shape convolved_shape(const KernelCall& call, const Window& window);
// The gradient `dx` of a convolution's input from that of its result.
CorrelationSizes input_gradient_sizes(const Shape& dy, const Shape& dx, const Window& window, std::int64_t groups);

}  // namespace pando::cpu
