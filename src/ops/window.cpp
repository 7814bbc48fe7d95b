// SPDX-License-Identifier: Apache-2.0
#include "ops/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/checks.h"

namespace pando {

namespace {

template <std::size_t count>
std::array<std::int64_t, count> take(const Attributes& attributes, const std::string& key) {
  const Integers& values = attributes.integers(key);
  if (values.size() != count) throw InternalError(fmt::format("attribute '{}' has {} values", key, values.size()));
  std::array<std::int64_t, count> result{};
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

bool within(std::int64_t value, std::int64_t least) { return value >= least && value <= largest_extent; }

void check_extent(const OpCall& call, std::int64_t size) {
  if (size > largest_extent)
    call.fail(fmt::format("the size {} is over {}; use a smaller height and width", size, largest_extent));
}

}  // namespace

bool within_extents(const Window& window) {
  for (std::size_t axis : {0, 1})
    if (!within(window.kernel[axis], 1) || !within(window.strides[axis], 1) || !within(window.dilations[axis], 1))
      return false;
  return std::all_of(window.padding.begin(), window.padding.end(), [](std::int64_t size) { return within(size, 0); });
}

Window conv_window(const Attributes& attributes, const Shape& filter) {
  return {.kernel = {filter[0], filter[1]},
          .strides = take<2>(attributes, "strides"),
          .dilations = take<2>(attributes, "dilations"),
          .padding = take<4>(attributes, "padding")};
}

Window pool_window(const Attributes& attributes, const std::string& prefix) {
  return {.kernel = take<2>(attributes, prefix + "window"),
          .strides = take<2>(attributes, prefix + "strides"),
          .padding = take<4>(attributes, prefix + "padding")};
}

DType positions_dtype(const Window& window) { return window.area() <= 255 ? DType::uint8 : DType::int32; }

Window checked_conv_window(const OpCall& call, const Shape& filter) {
  list_attribute(call, "strides", 2, 1, largest_extent);
  list_attribute(call, "dilations", 2, 1, largest_extent);
  list_attribute(call, "padding", 4, 0, largest_extent);
  const Window window = conv_window(call.attributes, filter);
  for (std::int64_t size : window.kernel) {
    check_extent(call, size);
    if (size < 1)
      call.fail(fmt::format("the filter {} has no rows or no columns; give it at least 1 of each", to_string(filter)));
  }
  return window;
}

Window checked_pool_window(const OpCall& call, const std::string& prefix) {
  list_attribute(call, prefix + "window", 2, 1, largest_extent);
  list_attribute(call, prefix + "strides", 2, 1, largest_extent);
  list_attribute(call, prefix + "padding", 4, 0, largest_extent);
  const Window window = pool_window(call.attributes, prefix);
  // Otherwise a window could lie entirely in the padding and have no elements.
  for (std::size_t axis : {0, 1})
    if (std::max(window.before(axis), window.after(axis)) >= window.kernel[axis])
      call.fail(fmt::format("the padding [{}] must be smaller than the window {}; use less padding or a larger window",
                            fmt::join(window.padding, ", "), fmt::join(window.kernel, "x")));
  if (window.area() > largest_extent)
    call.fail(fmt::format("the window {} is too large; use a reduction", fmt::join(window.kernel, "x")));
  return window;
}

Shape window_shape(const OpCall& call, const Window& window, const Shape& x, std::int64_t channels) {
  std::array<std::int64_t, 2> result;
  for (std::size_t axis : {0, 1}) {
    const std::int64_t size = x[static_cast<int>(axis) + 1];
    check_extent(call, size);
    if (!window.fits(axis, size))
      call.fail(
          fmt::format("a window of {} with dilations {} does not fit the input {} with padding [{}]; use a "
                      "smaller window, a larger input or more padding",
                      fmt::join(window.kernel, "x"), fmt::join(window.dilations, "x"), to_string(x),
                      fmt::join(window.padding, ", ")));
    result[axis] = window.output_size(axis, size);
  }
  return {x[0], result[0], result[1], channels};
}

Shape input_shape(const OpCall& call, const Shape& like, std::int64_t channels) {
  const Integers& size = list_attribute(call, "input_size", 2, 0, largest_extent);
  return {like[0], size[0], size[1], channels};
}

std::array<std::int64_t, 4> resolve_padding(ops::Padding padding, const std::array<std::int64_t, 4>& sizes,
                                            const Window& window, const std::array<std::int64_t, 2>& input) {
  if (padding == ops::Padding::explicit_sizes) return sizes;
  if (padding == ops::Padding::valid) return {};
  std::array<std::int64_t, 4> result = {};
  if (!within_extents(window)) return result;
  for (std::size_t axis : {0, 1}) {
    if (!within(input[axis], 1)) return {};
    const std::int64_t steps = (input[axis] - 1) / window.strides[axis];
    const std::int64_t missing =
        std::max<std::int64_t>(steps * window.strides[axis] + window.reach(axis) - input[axis], 0);
    result[2 * axis] = missing / 2;
    result[2 * axis + 1] = missing - missing / 2;
  }
  return result;
}

}  // namespace pando
