// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling of volumes, made of those of images: a filter's places along the depth become channels, and
// pooling goes over heights and widths first, then over depths. Ties go to the first element, as in images.
#include <pando/ops/ops.h>

#include <fmt/format.h>

#include <algorithm>

#include "ops/build.h"
#include "ops/steps.h"
#include "ops/window.h"

namespace pando::ops {

namespace {

using Three = std::array<std::int64_t, 3>;
using Six = std::array<std::int64_t, 6>;

constexpr std::string_view volume_axes = "[batch, depth, height, width, channels]";
constexpr std::string_view filter_axes = "[depth, height, width, channels / groups, filters]";
constexpr int depth_axis = 1;

std::array<std::int64_t, 2> in_images(const Three& values) { return {values[1], values[2]}; }
std::array<std::int64_t, 4> in_images(const Six& padding) { return {padding[2], padding[3], padding[4], padding[5]}; }

void check_rank(Value value, std::string_view op, std::string_view what, std::string_view axes) {
  if (value.shape().rank() != 5)
    throw Error(fmt::format("{}: {} has the shape {} but must have 5 axes, {}; reshape it", op, what,
                            to_string(value.shape()), axes));
}

// How a window moves along the depth, as axis 0 of a Window; the shape rules of images check the others.
Window depth_window(std::string_view op, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                    Padding padding, const Six& sizes, std::int64_t depth) {
  Window window = {.kernel = {kernel, 1}, .strides = {stride, 1}, .dilations = {dilation, 1}};
  window.padding = resolve_padding(padding, {sizes[0], sizes[1], 0, 0}, window, {depth, 1});
  if (!within_extents(window) || depth > largest_extent)
    throw Error(
        fmt::format("{}: along the depth {} the window is {}, the stride {}, the dilation {} and the padding {} and "
                    "{}; the padding "
                    "must be at least 0, the others at least 1, and none above {}",
                    op, depth, kernel, stride, dilation, window.before(0), window.after(0), largest_extent));
  return window;
}

void check_fit(std::string_view op, const Window& window, std::int64_t depth) {
  if (!window.fits(0, depth))
    throw Error(
        fmt::format("{}: a window of {} with dilation {} does not fit the depth {} with padding {} and {}; use "
                    "a smaller window, a larger input or more padding",
                    op, window.kernel[0], window.dilations[0], depth, window.before(0), window.after(0)));
}

// The images of all volumes, those of one after the other.
Value as_images(Value x) {
  const Shape shape = x.shape();
  return reshape(x, {shape[0] * shape[1], shape[2], shape[3], shape[4]});
}

// The filter of images whose channels are those of all places along the depth, place by place within each group.
Value filter_of_images(Value filter) {
  const Shape shape = filter.shape();
  return reshape(transpose(filter, {1, 2, 0, 3, 4}), {shape[1], shape[2], shape[0] * shape[3], shape[4]});
}

ConvOptions image_options(const Conv3dOptions& options) {
  return {.strides = in_images(options.strides),
          .dilations = in_images(options.dilations),
          .padding = options.padding,
          .padding_sizes = in_images(options.padding_sizes),
          .groups = options.groups};
}

void check_conv(std::string_view op, Value x, Value filter, std::string_view axes, const Conv3dOptions& options) {
  check_rank(x, op, "the input", volume_axes);
  check_rank(filter, op, "the filter", axes);
  if (options.groups < 1 || options.groups > largest_extent)
    throw Error(
        fmt::format("{}: groups is {} but must be at least 1 and not above {}", op, options.groups, largest_extent));
}

}  // namespace

Value conv3d(Value x, Value filter, const Conv3dOptions& options) {
  check_conv("conv3d", x, filter, filter_axes, options);
  const Shape shape = x.shape(), kernel = filter.shape();
  if (kernel[3] > largest_extent || kernel[3] * options.groups != shape[4])
    throw Error(
        fmt::format("conv3d: the input {} has {} channels but the filter {} reads {} in {} group(s); make filter "
                    "axis 3 the channels divided by the groups",
                    to_string(shape), shape[4], to_string(kernel), kernel[3], options.groups));
  const Window depth = depth_window("conv3d", kernel[0], options.strides[0], options.dilations[0], options.padding,
                                    options.padding_sizes, shape[1]);
  check_fit("conv3d", depth, shape[1]);
  const std::int64_t count = depth.output_size(0, shape[1]), images = shape[0] * count;
  const Value padded = pad_axis(x, depth_axis, depth.before(0), depth.after(0));
  std::vector<Value> places;
  for (std::int64_t place = 0; place < kernel[0]; ++place)
    places.push_back(reshape(take_steps(padded, depth_axis, place * options.dilations[0], options.strides[0], count),
                             {images, shape[2], shape[3], options.groups, kernel[3]}));
  const Value joined = reshape(concat(places, -1), {images, shape[2], shape[3], kernel[0] * shape[4]});
  const Value y = conv2d(joined, filter_of_images(filter), image_options(options));
  return reshape(y, {shape[0], count, y.shape()[1], y.shape()[2], kernel[4]});
}

Value conv3d_transpose(Value x, Value filter, const Conv3dOptions& options, Three output_size) {
  check_conv("conv3d_transpose", x, filter, "[depth, height, width, filters / groups, channels]", options);
  const Shape shape = x.shape(), kernel = filter.shape();
  const std::int64_t stride = options.strides[0], dilation = options.dilations[0];
  const bool is_same = options.padding == Padding::same;
  // The padding depends on the size of the result, and without one the size on the padding.
  Window depth = depth_window("conv3d_transpose", kernel[0], stride, dilation, options.padding, options.padding_sizes,
                              output_size[0] > 0 ? output_size[0] : shape[1]);
  std::int64_t size = output_size[0];
  if (size == 0 && is_same) size = shape[1] * stride;
  else if (size == 0) size = (shape[1] - 1) * stride + depth.reach(0) - depth.before(0) - depth.after(0);
  if (is_same)
    depth = depth_window("conv3d_transpose", kernel[0], stride, dilation, options.padding, options.padding_sizes, size);
  if (size < 1 || !depth.fits(0, size) || depth.output_size(0, size) != shape[1])
    throw Error(
        fmt::format("conv3d_transpose: conv3d with these options does not map the depth {} to the {} of the "
                    "input {}; correct the output size",
                    size, shape[1], to_string(shape)));
  const Value y =
      conv2d_transpose(as_images(x), filter_of_images(filter), image_options(options), in_images(output_size));
  const std::int64_t height = y.shape()[1], width = y.shape()[2], filters = kernel[3] * options.groups;
  const Value places = reshape(y, {shape[0], shape[1], height * width * options.groups, kernel[0], kernel[3]});
  const std::int64_t padded_size = size + depth.before(0) + depth.after(0);
  Value sum;
  for (std::int64_t place = 0; place < kernel[0]; ++place) {
    const Value part = reshape(take_steps(places, 3, place, 1, 1), {shape[0], shape[1], height, width, filters});
    const Value put = put_at_steps(part, depth_axis, place * dilation, stride, padded_size);
    sum = sum ? add(sum, put) : put;
  }
  return take_steps(sum, depth_axis, depth.before(0), 1, size);
}

namespace {

struct Pooling {
  Window depth;
  PoolOptions images;
};

Pooling pooling_of(std::string_view op, Value x, const Pool3dOptions& options) {
  check_rank(x, op, "the input", volume_axes);
  const std::int64_t stride = options.strides[0] == 0 ? options.window[0] : options.strides[0];
  const Pooling pooling = {.depth = depth_window(op, options.window[0], stride, options.dilations[0], options.padding,
                                                 options.padding_sizes, x.shape()[1]),
                           .images = {.window = in_images(options.window),
                                      .strides = in_images(options.strides),
                                      .dilations = in_images(options.dilations),
                                      .padding = options.padding,
                                      .padding_sizes = in_images(options.padding_sizes),
                                      .count_padding = options.count_padding}};
  check_fit(op, pooling.depth, x.shape()[1]);
  return pooling;
}

// The depth as the height of images, and all of an image as their width.
Value pool_depth(Value x, const Window& depth, bool count_padding, Value (*pool)(Value, const PoolOptions&)) {
  const Shape shape = x.shape();
  if (depth.kernel[0] == 1 && depth.strides[0] == 1 && depth.before(0) == 0 && depth.after(0) == 0) return x;
  const Value pooled =
      pool(reshape(x, {shape[0], shape[1], shape[2] * shape[3], shape[4]}), {.window = depth.kernel,
                                                                             .strides = depth.strides,
                                                                             .dilations = depth.dilations,
                                                                             .padding = Padding::explicit_sizes,
                                                                             .padding_sizes = depth.padding,
                                                                             .count_padding = count_padding});
  return reshape(pooled, {shape[0], pooled.shape()[1], shape[2], shape[3], shape[4]});
}

Value pool_volumes(Value x, const Pooling& pooling, Value (*pool)(Value, const PoolOptions&)) {
  const Value planes = pool(as_images(x), pooling.images);
  const Shape shape = x.shape();
  const Value volumes = reshape(planes, {shape[0], shape[1], planes.shape()[1], planes.shape()[2], shape[4]});
  return pool_depth(volumes, pooling.depth, pooling.images.count_padding, pool);
}

}  // namespace

Value max_pool3d(Value x, const Pool3dOptions& options) {
  return pool_volumes(x, pooling_of("max_pool3d", x, options), max_pool);
}

Value average_pool3d(Value x, const Pool3dOptions& options) {
  return pool_volumes(x, pooling_of("average_pool3d", x, options), average_pool);
}

}  // namespace pando::ops
