// SPDX-License-Identifier: Apache-2.0
// Pooling: the largest or the mean element of each window.
#include <pando/ops/ops.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ops/build.h"
#include "ops/checks.h"
#include "ops/steps.h"
#include "ops/window.h"

namespace pando {

namespace {

constexpr std::string_view image_axes = "[batch, height, width, channels]";

void require_images(const OpCall& call) {
  require_floating(call, 0);
  require_rank(call, 0, 4, image_axes);
}

Shape pooled_shape(const OpCall& call, const Window& window, const Shape& x) {
  if (x[1] < 1 || x[2] < 1)
    call.fail(fmt::format("the input {} has no rows or no columns; pool a larger one", to_string(x)));
  return window_shape(call, window, x, x[3]);
}

// The shape of the pooled input, whose gradient is made of input 0, the gradient of the result.
Shape unpooled_shape(const OpCall& call, const Window& window) {
  const Shape& dy = call.shape(0);
  const Shape x = input_shape(call, dy, dy[3]);
  const Shape expected = pooled_shape(call, window, x);
  if (dy != expected)
    call.fail(fmt::format("the gradient {} is not of the shape {} that pooling makes of {}; correct 'input_size'",
                          to_string(dy), to_string(expected), to_string(x)));
  return x;
}

std::vector<Type> infer_max_pool(const OpCall& call) {
  require_images(call);
  const Window window = checked_pool_window(call);
  const Shape shape = pooled_shape(call, window, call.shape(0));
  return {{call.dtype(0), shape}, {positions_dtype(window), shape}};
}

std::vector<Type> infer_max_pool_gradient(const OpCall& call) {
  require_images(call);
  const Window window = checked_pool_window(call);
  require_dtype(call, 1, {positions_dtype(window)});
  require_shape(call, 1, call.shape(0), "a position for each element of the gradient");
  return {{call.dtype(0), unpooled_shape(call, window)}};
}

std::vector<Type> infer_average_pool(const OpCall& call) {
  require_images(call);
  return {{call.dtype(0), pooled_shape(call, checked_pool_window(call), call.shape(0))}};
}

std::vector<Type> infer_average_pool_gradient(const OpCall& call) {
  require_images(call);
  return {{call.dtype(0), unpooled_shape(call, checked_pool_window(call))}};
}

Attributes geometry(const Attributes& from) {
  return {{"window", from.integers("window")},
          {"strides", from.integers("strides")},
          {"padding", from.integers("padding")}};
}

Integers input_size(const Shape& x) { return {x[1], x[2]}; }

std::vector<Value> max_pool_gradients(const GradientCall& call) {
  Attributes attributes = geometry(call.node.attributes);
  attributes.set("input_size", input_size(call.inputs[0].shape()));
  return {build(definitions::max_pool_gradient, {call.gradients[0], call.outputs[1]}, std::move(attributes))};
}

std::vector<Value> average_pool_gradients(const GradientCall& call) {
  Attributes attributes = geometry(call.node.attributes);
  attributes.set("count_padding", call.node.attributes.flag("count_padding"));
  attributes.set("input_size", input_size(call.inputs[0].shape()));
  return {build(definitions::average_pool_gradient, {call.gradients[0]}, std::move(attributes))};
}

// Spreading is linear, so its gradient gathers as average_pool does.
std::vector<Value> average_pool_gradient_gradients(const GradientCall& call) {
  Attributes attributes = geometry(call.node.attributes);
  attributes.set("count_padding", call.node.attributes.flag("count_padding"));
  return {build(definitions::average_pool, {call.gradients[0]}, std::move(attributes))};
}

std::vector<AttributeDefinition> pool_attributes(std::initializer_list<AttributeDefinition> more) {
  std::vector<AttributeDefinition> attributes = {
      {"window", Integers{2, 2}}, {"strides", Integers{2, 2}}, {"padding", Integers{0, 0, 0, 0}}};
  attributes.insert(attributes.end(), more);
  return attributes;
}

}  // namespace

namespace definitions {

const OpDefinition max_pool = {
    .id = Op::max_pool,
    .name = "max_pool",
    .doc = "the largest element of each window, and its place within the window, the first if several are equal",
    .attributes = pool_attributes({}),
    .infer = infer_max_pool,
    .gradient = max_pool_gradients};
const OpDefinition max_pool_gradient = {.id = Op::max_pool_gradient,
                                        .name = "max_pool_gradient",
                                        .doc = "the gradient of max_pool, from that of its result and the positions",
                                        .attributes = pool_attributes({{"input_size", Integers{0, 0}}}),
                                        .min_inputs = 2,
                                        .infer = infer_max_pool_gradient};
const OpDefinition average_pool = {.id = Op::average_pool,
                                   .name = "average_pool",
                                   .doc = "the mean of each window; padded places count only if count_padding is set",
                                   .attributes = pool_attributes({{"count_padding", false}}),
                                   .infer = infer_average_pool,
                                   .gradient = average_pool_gradients};
const OpDefinition average_pool_gradient = {
    .id = Op::average_pool_gradient,
    .name = "average_pool_gradient",
    .doc = "the gradient of average_pool, from that of its result",
    .attributes = pool_attributes({{"count_padding", false}, {"input_size", Integers{0, 0}}}),
    .infer = infer_average_pool_gradient,
    .gradient = average_pool_gradient_gradients};

}  // namespace definitions

namespace ops {

namespace {

void check_images(Value x, std::string_view op) {
  if (x.shape().rank() != 4)
    throw Error(fmt::format("{}: the input has the shape {} but must have 4 axes, {}; reshape it", op,
                            to_string(x.shape()), image_axes));
}

Window window_of(Value x, const PoolOptions& options) {
  Window window = {.kernel = options.window, .strides = options.strides, .dilations = options.dilations};
  for (std::size_t axis : {0, 1})
    if (window.strides[axis] == 0) window.strides[axis] = window.kernel[axis];
  // A wrong rank gives meaningless sizes here; the shape rule refuses it with the layer's name.
  const Shape image = x.shape();
  window.padding = resolve_padding(options.padding, options.padding_sizes, window, {image[1], image[2]});
  return window;
}

Attributes attributes_of(const Window& window) {
  return {{"window", integers(window.kernel)},
          {"strides", integers(window.strides)},
          {"padding", integers(window.padding)}};
}

// Along the rows, then along the columns: of equal elements the first one wins, as in max_pool.
Value dilated_max_pool(Value x, const Window& window) {
  check_images(x, "max_pool");
  Value result = x;
  for (std::size_t axis : {1, 0}) {
    const Window along = {.kernel = {window.kernel[axis], 1},
                          .strides = {window.strides[axis], 1},
                          .dilations = {window.dilations[axis], 1},
                          .padding = {window.before(axis), window.after(axis), 0, 0}};
    const int image_axis = static_cast<int>(axis) + 1;
    const std::int64_t size = x.shape()[image_axis];
    const bool is_padding_small = std::max(along.before(0), along.after(0)) < along.kernel[0];
    if (!within_extents(along) || size > largest_extent || !is_padding_small || !along.fits(0, size))
      throw Error(
          fmt::format("max_pool: along axis {} of the input {} the window is {}, the stride {}, the dilation {} "
                      "and the padding {} and {}; the padding must be smaller than the window, the window with "
                      "its dilation fit the padded input, and all others be at least 1",
                      image_axis, to_string(x.shape()), along.kernel[0], along.strides[0], along.dilations[0],
                      along.before(0), along.after(0)));
    result = max_along(result, image_axis, along);
  }
  return result;
}

constexpr std::array<std::int64_t, 2> no_dilations = {1, 1};

}  // namespace

Value max_pool(Value x, const PoolOptions& options) {
  const Window window = window_of(x, options);
  if (options.dilations != no_dilations) return dilated_max_pool(x, window);
  return x.graph().add(definitions::max_pool, {x}, attributes_of(window)).front();
}

Value average_pool(Value x, const PoolOptions& options) {
  if (options.dilations != no_dilations)
    throw Error(fmt::format("average_pool: the dilations are {} but must be 1 and 1; only max_pool takes others",
                            fmt::join(options.dilations, " and ")));
  Attributes attributes = attributes_of(window_of(x, options));
  attributes.set("count_padding", options.count_padding);
  return build(definitions::average_pool, {x}, std::move(attributes));
}

Value global_max_pool(Value x) {
  check_images(x, "global_max_pool");
  return reduce_max(x, {.axes = {1, 2}});
}

Value global_average_pool(Value x) {
  check_images(x, "global_average_pool");
  return reduce_mean(x, {.axes = {1, 2}});
}

}  // namespace ops

}  // namespace pando
