// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution, its two gradients, and the forms made of them.
#include <pando/ops/ops.h>

#include <fmt/format.h>

#include "ops/build.h"
#include "ops/checks.h"
#include "ops/window.h"

namespace pando {

namespace {

constexpr std::string_view image_axes = "[batch, height, width, channels]";
constexpr std::string_view filter_axes = "[height, width, channels / groups, filters]";

void require_conv_inputs(const OpCall& call, std::string_view axes_of_second) {
  for (std::size_t i : {0, 1}) require_floating(call, i);
  require_equal_dtypes(call, 0, 1);
  require_rank(call, 0, 4, image_axes);
  require_rank(call, 1, 4, axes_of_second);
}

// The channels that a filter of `per_group` channels reads.
std::int64_t grouped_channels(const OpCall& call, std::int64_t per_group) {
  std::int64_t channels;
  if (__builtin_mul_overflow(per_group, integer_attribute(call, "groups", 1, largest_extent), &channels))
    call.fail(fmt::format("{} channels per group are too many; use smaller sizes", per_group));
  return channels;
}

// The shape that conv2d makes from x and the filter: one rule for the op and both its gradients.
Shape conv_shape(const OpCall& call, const Shape& x, const Shape& filter) {
  const Window window = checked_conv_window(call, filter);
  const std::int64_t channels = grouped_channels(call, filter[2]), groups = call.attributes.integer("groups");
  if (x[3] != channels)
    call.fail(
        fmt::format("the input {} has {} channels but the filter {} reads {} in {} group(s); make filter axis 2 "
                    "the channels divided by the groups",
                    to_string(x), x[3], to_string(filter), channels, groups));
  if (filter[3] % groups != 0)
    call.fail(fmt::format("the {} filters of {} do not divide into {} groups; use a multiple", filter[3],
                          to_string(filter), groups));
  return window_shape(call, window, x, filter[3]);
}

void require_conv_result(const OpCall& call, std::size_t input, const Shape& x, const Shape& filter) {
  const Shape expected = conv_shape(call, x, filter);
  if (call.shape(input) != expected)
    call.fail(fmt::format(
        "the gradient {} is not of the shape {} that conv2d makes of {} and the filter {}; correct the sizes",
        to_string(call.shape(input)), to_string(expected), to_string(x), to_string(filter)));
}

std::vector<Type> infer_conv2d(const OpCall& call) {
  require_conv_inputs(call, filter_axes);
  return epilogue_types(call, {call.dtype(0), conv_shape(call, call.shape(0), call.shape(1))}, 2);
}

std::vector<Type> infer_input_gradient(const OpCall& call) {
  require_conv_inputs(call, filter_axes);
  const Shape& filter = call.shape(1);
  const Shape x = input_shape(call, call.shape(0), grouped_channels(call, filter[2]));
  require_conv_result(call, 0, x, filter);
  return epilogue_types(call, {call.dtype(0), x}, 2);
}

std::vector<Type> infer_weight_gradient(const OpCall& call) {
  require_conv_inputs(call, image_axes);
  const Integers& kernel = list_attribute(call, "kernel_size", 2, 1, largest_extent);
  const Shape& x = call.shape(0);
  const std::int64_t groups = integer_attribute(call, "groups", 1, largest_extent);
  if (x[3] % groups != 0)
    call.fail(
        fmt::format("the {} channels of {} do not divide into {} groups; use a multiple", x[3], to_string(x), groups));
  const Shape filter = {kernel[0], kernel[1], x[3] / groups, call.shape(1)[3]};
  require_conv_result(call, 1, x, filter);
  return {{call.dtype(0), filter}};
}

std::vector<Type> infer_conv2d_max_pool(const OpCall& call) {
  require_conv_inputs(call, filter_axes);
  const Shape convolved = conv_shape(call, call.shape(0), call.shape(1));
  const Window pool = checked_pool_window(call, "pool_");
  const Shape pooled = window_shape(call, pool, convolved, convolved[3]);
  std::vector<Type> types = epilogue_types(call, {call.dtype(0), pooled}, 2);
  types.push_back({positions_dtype(pool), pooled});
  return types;
}

// The gradients of conv2d_max_pool take that of its result as input `dy`, and the positions as input 2. They are made
// for plain convolutions before windows that do not overlap.
void require_pooled_gradient(const OpCall& call, std::size_t dy, const Shape& convolved) {
  const Window pool = checked_pool_window(call, "pool_");
  if (call.attributes.integer("groups") != 1 || call.attributes.integers("dilations") != Integers{1, 1})
    call.fail("groups and dilations must be 1; use max_pool_gradient and the gradient of conv2d");
  for (std::size_t axis : {0, 1})
    if (pool.strides[axis] < pool.kernel[axis])
      call.fail(fmt::format("windows of {} pooled every {} overlap; use max_pool_gradient and the gradient of conv2d",
                            pool.kernel[axis], pool.strides[axis]));
  const Shape pooled = window_shape(call, pool, convolved, convolved[3]);
  if (call.shape(dy) != pooled)
    call.fail(fmt::format("the gradient {} is not of the shape {} that pooling makes of {}; correct the sizes",
                          to_string(call.shape(dy)), to_string(pooled), to_string(convolved)));
  require_dtype(call, 2, {positions_dtype(pool)});
  require_shape(call, 2, pooled, "a position for each element of the gradient");
}

std::vector<Type> infer_max_pool_input_gradient(const OpCall& call) {
  require_conv_inputs(call, filter_axes);
  const Shape& filter = call.shape(1);
  const Shape x = input_shape(call, call.shape(0), grouped_channels(call, filter[2]));
  if (call.attributes.integers("strides") != Integers{1, 1})
    call.fail("strides must be 1; use max_pool_gradient and conv2d_input_gradient");
  require_pooled_gradient(call, 0, conv_shape(call, x, filter));
  return epilogue_types(call, {call.dtype(0), x}, 3);
}

std::vector<Type> infer_max_pool_weight_gradient(const OpCall& call) {
  require_conv_inputs(call, image_axes);
  const Integers& kernel = list_attribute(call, "kernel_size", 2, 1, largest_extent);
  const Shape filter = {kernel[0], kernel[1], call.shape(0)[3], call.shape(1)[3]};
  require_pooled_gradient(call, 1, conv_shape(call, call.shape(0), filter));
  return {{call.dtype(0), filter}};
}

Attributes geometry(const Attributes& from) {
  return {{"strides", from.integers("strides")},
          {"dilations", from.integers("dilations")},
          {"padding", from.integers("padding")},
          {"groups", from.integer("groups")}};
}

Value input_gradient(Value dy, Value filter, const Shape& x, Attributes attributes) {
  attributes.set("input_size", Integers{x[1], x[2]});
  return build(definitions::conv2d_input_gradient, {dy, filter}, std::move(attributes));
}

Value weight_gradient(Value x, Value dy, const Shape& filter, Attributes attributes) {
  attributes.set("kernel_size", Integers{filter[0], filter[1]});
  return build(definitions::conv2d_weight_gradient, {x, dy}, std::move(attributes));
}

std::vector<Value> conv2d_gradient(const GradientCall& call) {
  require_no_epilogue(call);
  const Value g = call.gradients[0], x = call.inputs[0], filter = call.inputs[1];
  const Attributes shared = geometry(call.node.attributes);
  return {call.needed[0] ? input_gradient(g, filter, x.shape(), shared) : Value(),
          call.needed[1] ? weight_gradient(x, g, filter.shape(), shared) : Value()};
}

std::vector<Value> input_gradient_gradient(const GradientCall& call) {
  const Value g = call.gradients[0], dy = call.inputs[0], filter = call.inputs[1];
  const Attributes shared = geometry(call.node.attributes);
  return {call.needed[0] ? build(definitions::conv2d, {g, filter}, shared) : Value(),
          call.needed[1] ? weight_gradient(g, dy, filter.shape(), shared) : Value()};
}

std::vector<Value> weight_gradient_gradient(const GradientCall& call) {
  const Value g = call.gradients[0], x = call.inputs[0], dy = call.inputs[1];
  const Attributes shared = geometry(call.node.attributes);
  return {call.needed[0] ? input_gradient(dy, g, x.shape(), shared) : Value(),
          call.needed[1] ? build(definitions::conv2d, {x, g}, shared) : Value()};
}

std::vector<AttributeDefinition> conv_attributes(std::initializer_list<AttributeDefinition> more) {
  std::vector<AttributeDefinition> attributes = {{"strides", Integers{1, 1}},
                                                 {"dilations", Integers{1, 1}},
                                                 {"padding", Integers{0, 0, 0, 0}},
                                                 {"groups", std::int64_t{1}}};
  attributes.insert(attributes.end(), more);
  return attributes;
}

std::vector<AttributeDefinition> conv_pool_attributes(std::initializer_list<AttributeDefinition> more) {
  std::vector<AttributeDefinition> attributes = conv_attributes(more);
  attributes.push_back({"pool_window", Integers{2, 2}});
  attributes.push_back({"pool_strides", Integers{2, 2}});
  attributes.push_back({"pool_padding", Integers{0, 0, 0, 0}});
  return attributes;
}

}  // namespace

namespace definitions {

namespace {

// A multiplication and an addition for each element of a result of convolution and each weight that reaches it.
double conv_flops(double results, const Type& filter) {
  const Shape& shape = filter.shape;
  return 2 * results * static_cast<double>(shape.part(0, 3).elements());
}
double elements(const Type& type) { return static_cast<double>(type.shape.elements()); }
double conv2d_flops(const std::vector<Type>& inputs, const std::vector<Type>& outputs, const Attributes&) {
  return conv_flops(elements(outputs[0]), inputs[1]);
}
double input_gradient_flops(const std::vector<Type>& inputs, const std::vector<Type>&, const Attributes&) {
  return conv_flops(elements(inputs[0]), inputs[1]);
}
double weight_gradient_flops(const std::vector<Type>& inputs, const std::vector<Type>& outputs, const Attributes&) {
  return conv_flops(elements(inputs[1]), outputs[0]);
}
double conv2d_max_pool_flops(const std::vector<Type>& inputs, const std::vector<Type>& outputs,
                             const Attributes& attributes) {
  const Integers& strides = attributes.integers("pool_strides");
  return conv_flops(elements(outputs[0]) * static_cast<double>(strides[0] * strides[1]), inputs[1]);
}

}  // namespace

const OpDefinition conv2d = {.id = Op::conv2d,
                             .name = "conv2d",
                             .doc = "convolution of images [n, h, w, c] with a filter [kh, kw, c / groups, f]",
                             .attributes = conv_attributes({epilogue_attribute}),
                             .min_inputs = 2,
                             .max_inputs = -1,
                             .infer = infer_conv2d,
                             .gradient = conv2d_gradient,
                             .flops = conv2d_flops};
const OpDefinition conv2d_input_gradient = {
    .id = Op::conv2d_input_gradient,
    .name = "conv2d_input_gradient",
    .doc = "the gradient of conv2d in its images, from that of its result and the filter: transposed convolution",
    .attributes = conv_attributes({{"input_size", Integers{0, 0}}, epilogue_attribute}),
    .min_inputs = 2,
    .max_inputs = -1,
    .infer = infer_input_gradient,
    .gradient = input_gradient_gradient,
    .flops = input_gradient_flops};
const OpDefinition conv2d_weight_gradient = {
    .id = Op::conv2d_weight_gradient,
    .name = "conv2d_weight_gradient",
    .doc = "the gradient of conv2d in its filter, from the images and the gradient of its result",
    .attributes = conv_attributes({{"kernel_size", Integers{1, 1}}}),
    .min_inputs = 2,
    .infer = infer_weight_gradient,
    .gradient = weight_gradient_gradient,
    .flops = weight_gradient_flops};
const OpDefinition conv2d_max_pool = {
    .id = Op::conv2d_max_pool,
    .name = "conv2d_max_pool",
    .doc = "conv2d, max_pool and then the epilogue, made by the compiler; the positions come last",
    .attributes = conv_pool_attributes({epilogue_attribute}),
    .min_inputs = 2,
    .max_inputs = -1,
    .infer = infer_conv2d_max_pool,
    .flops = conv2d_max_pool_flops};
const OpDefinition conv2d_max_pool_input_gradient = {
    .id = Op::conv2d_max_pool_input_gradient,
    .name = "conv2d_max_pool_input_gradient",
    .doc =
        "the gradient of conv2d and max_pool in the images, from that of the result, the filter and the positions, "
        "made by the compiler; it leaves out what is zero",
    .attributes = conv_pool_attributes({{"input_size", Integers{0, 0}}, epilogue_attribute}),
    .min_inputs = 3,
    .max_inputs = -1,
    .infer = infer_max_pool_input_gradient,
    .flops = input_gradient_flops};
const OpDefinition conv2d_max_pool_weight_gradient = {
    .id = Op::conv2d_max_pool_weight_gradient,
    .name = "conv2d_max_pool_weight_gradient",
    .doc =
        "the gradient of conv2d and max_pool in the filter, from the images, the gradient of the result and the "
        "positions, made by the compiler; it leaves out what is zero, or makes the zeros itself",
    .attributes = conv_pool_attributes({{"kernel_size", Integers{1, 1}}}),
    .min_inputs = 3,
    .infer = infer_max_pool_weight_gradient,
    .flops = weight_gradient_flops};

}  // namespace definitions

namespace ops {

namespace {

void check_rank(Value value, std::string_view op, std::string_view what, std::string_view axes) {
  if (value.shape().rank() != 4)
    throw Error(fmt::format("{}: {} has the shape {} but must have 4 axes, {}; reshape it", op, what,
                            to_string(value.shape()), axes));
}

Window window_of(const Shape& filter, const ConvOptions& options) {
  return {.kernel = {filter[0], filter[1]}, .strides = options.strides, .dilations = options.dilations};
}

Attributes attributes_of(const ConvOptions& options, const Window& window, const std::array<std::int64_t, 2>& input) {
  const auto padding = resolve_padding(options.padding, options.padding_sizes, window, input);
  return {{"strides", integers(options.strides)},
          {"dilations", integers(options.dilations)},
          {"padding", integers(padding)},
          {"groups", options.groups}};
}

// The smallest input that conv2d maps to `size`; for same padding the largest, as front ends expect.
std::int64_t transposed_size(const ConvOptions& options, const Window& window, std::size_t axis, std::int64_t size) {
  if (size > largest_extent || !within_extents(window)) return 0;
  if (options.padding == Padding::same) return size * window.strides[axis];
  return (size - 1) * window.strides[axis] + window.reach(axis) - window.before(axis) - window.after(axis);
}

}  // namespace

Value conv2d(Value x, Value filter, const ConvOptions& options) {
  // A wrong rank gives meaningless sizes here; the shape rule refuses it with the layer's name.
  const Shape image = x.shape();
  return build(definitions::conv2d, {x, filter},
               attributes_of(options, window_of(filter.shape(), options), {image[1], image[2]}));
}

Value depthwise_conv2d(Value x, Value filter, const ConvOptions& options) {
  check_rank(x, "depthwise_conv2d", "the input", image_axes);
  check_rank(filter, "depthwise_conv2d", "the filter", "[height, width, channels, multiplier]");
  if (options.groups != 1)
    throw Error(
        fmt::format("depthwise_conv2d: groups is {} but each channel is a group; leave it at 1", options.groups));
  const Shape image = x.shape(), shape = filter.shape();
  if (shape[2] != image[3])
    throw Error(fmt::format("depthwise_conv2d: the filter {} has {} channels but the input {} has {}; make them equal",
                            to_string(shape), shape[2], to_string(image), image[3]));
  ConvOptions grouped = options;
  grouped.groups = shape[2];
  return conv2d(x, reshape(filter, {shape[0], shape[1], 1, shape.part(2, 4).elements()}), grouped);
}

Value conv2d_transpose(Value x, Value filter, const ConvOptions& options, std::array<std::int64_t, 2> output_size) {
  check_rank(x, "conv2d_transpose", "the input", image_axes);
  check_rank(filter, "conv2d_transpose", "the filter", "[height, width, filters, channels]");
  Window window = window_of(filter.shape(), options);
  window.padding = options.padding == Padding::explicit_sizes ? options.padding_sizes : window.padding;
  for (std::size_t axis : {0, 1})
    if (output_size[axis] == 0)
      output_size[axis] = transposed_size(options, window, axis, x.shape()[static_cast<int>(axis) + 1]);
  Attributes attributes = attributes_of(options, window, output_size);
  attributes.set("input_size", integers(output_size));
  return build(definitions::conv2d_input_gradient, {x, filter}, std::move(attributes));
}

}  // namespace ops

}  // namespace pando
