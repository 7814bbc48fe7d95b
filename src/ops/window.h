// SPDX-License-Identifier: Apache-2.0
// The geometry of convolution and pooling: how a window moves over rows (axis 0) and columns (axis 1).
#pragma once
#include <pando/ops/ops.h>

#include <array>

#include "ops/infer.h"

namespace pando {

struct Window {
  std::array<std::int64_t, 2> kernel = {1, 1};
  std::array<std::int64_t, 2> strides = {1, 1};
  std::array<std::int64_t, 2> dilations = {1, 1};
  // Rows above, rows below, columns left, columns right.
  std::array<std::int64_t, 4> padding = {};

  std::int64_t before(std::size_t axis) const { return padding[2 * axis]; }
  std::int64_t after(std::size_t axis) const { return padding[2 * axis + 1]; }
  // The places from the first to the last that the kernel reads, those between them included.
  std::int64_t reach(std::size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  std::int64_t area() const { return kernel[0] * kernel[1]; }
  bool fits(std::size_t axis, std::int64_t size) const { return size + before(axis) + after(axis) >= reach(axis); }
  // How often the window fits along an input of that size; only if it fits at all.
  std::int64_t output_size(std::size_t axis, std::int64_t size) const {
    return (size + before(axis) + after(axis) - reach(axis)) / strides[axis] + 1;
  }
};

// No height, width, stride, dilation or padding is larger, so that the arithmetic above cannot overflow.
inline constexpr std::int64_t largest_extent = 0x7fffffff;
// Whether the sizes of a window made from a user's options stay within that limit.
bool within_extents(const Window& window);

// The window of a convolution's attributes and of its filter [height, width, ...].
Window conv_window(const Attributes& attributes, const Shape& filter);
// The window of a pooling's attributes; `prefix` is "pool_" for conv2d_max_pool.
Window pool_window(const Attributes& attributes, const std::string& prefix = "");
// The type in which the places of a window's largest elements are stored.
DType positions_dtype(const Window& window);

// The same windows while types are inferred: they throw through OpCall::fail if an attribute is out of range.
Window checked_conv_window(const OpCall& call, const Shape& filter);
Window checked_pool_window(const OpCall& call, const std::string& prefix = "");
// [batch, rows, columns, channels] of the window's results over x [batch, height, width, ...].
Shape window_shape(const OpCall& call, const Window& window, const Shape& x, std::int64_t channels);
// `like` with the height and width of the attribute "input_size", the input whose gradient is made.
Shape input_shape(const OpCall& call, const Shape& like, std::int64_t channels);

// Turns `padding` into sizes, those given if it is explicit. What the shape rule would refuse gives no
// padding: the rule then says what is wrong.
std::array<std::int64_t, 4> resolve_padding(ops::Padding padding, const std::array<std::int64_t, 4>& sizes,
                                            const Window& window, const std::array<std::int64_t, 2>& input);

}  // namespace pando
