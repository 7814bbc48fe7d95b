// SPDX-License-Identifier: Apache-2.0
// Ops that move elements and compute nothing, and sums of what they moved.
#include <pando/ops/ops.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/build.h"
#include "ops/checks.h"

namespace pando {

namespace {

std::vector<Type> infer_reshape(const OpCall& call) {
  const Integers& sizes = call.attributes.integers("shape");
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 0; }))
    call.fail(fmt::format("{} cannot take the shape [{}]; one size may be -1 if the others divide the elements",
                          to_string(call.shape(0)), fmt::join(sizes, ", ")));
  const Shape shape = shape_attribute(call, "shape");
  bool equal = false;
  try {
    equal = shape.elements() == call.shape(0).elements();
  } catch (const Error&) {
    // More elements than fit in 64 bits, so not as many as the input has.
  }
  if (!equal)
    call.fail(fmt::format("{} cannot take the shape {}; give one of as many elements", to_string(call.shape(0)),
                          to_string(shape)));
  return {{call.dtype(0), shape}};
}

std::vector<Type> infer_view(const OpCall& call) {
  const Shape shape = shape_attribute(call, "shape");
  const Integers& strides = call.attributes.integers("strides");
  if (shape.rank() < 2 || strides.size() != static_cast<std::size_t>(shape.rank()) || strides.back() != 1)
    call.fail(
        fmt::format("the strides [{}] do not give {} rows of neighbours; give it two axes or more, each a stride, "
                    "and the last one 1",
                    fmt::join(strides, ", "), to_string(shape)));
  // The last element, as no stride is negative; one that is too far away overflows.
  const std::int64_t elements = call.shape(0).elements();
  std::int64_t last = call.attributes.integer("offset");
  bool is_outside = last < 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t stride = strides[static_cast<std::size_t>(axis)];
    std::int64_t way = 0;
    is_outside = is_outside || stride < 0 || __builtin_mul_overflow(shape[axis] - 1, stride, &way) ||
                 __builtin_add_overflow(last, way, &last);
  }
  if (shape.elements() > 0 && (is_outside || last >= elements))
    call.fail(fmt::format("elements of {} at these steps exceed the {} of {}; choose a smaller shape", to_string(shape),
                          elements, to_string(call.shape(0))));
  return {{call.dtype(0), shape}};
}

std::vector<Type> infer_transpose(const OpCall& call) {
  const Shape& x = call.shape(0);
  const Integers& permutation = axes_attribute(call, "permutation", 0, x.rank() - 1);
  Shape shape;
  std::vector<bool> seen(permutation.size(), false);
  for (std::int64_t axis : permutation) {
    if (seen[static_cast<std::size_t>(axis)])
      call.fail(
          fmt::format("the permutation [{}] names axis {} twice; name each once", fmt::join(permutation, ", "), axis));
    seen[static_cast<std::size_t>(axis)] = true;
    shape.append(x[static_cast<int>(axis)]);
  }
  return {{call.dtype(0), shape}};
}

std::vector<Type> infer_broadcast(const OpCall& call) {
  const Shape shape = shape_attribute(call, "shape");
  bool fits = false;
  try {
    fits = broadcast_shapes(call.shape(0), shape) == shape;
  } catch (const Error&) {
    // The message below says more.
  }
  if (!fits)
    call.fail(fmt::format("{} does not broadcast to {}: aligned at the end, sizes must be equal or 1; reshape it",
                          to_string(call.shape(0)), to_string(shape)));
  return {{call.dtype(0), shape}};
}

std::vector<Type> infer_concat(const OpCall& call) {
  require_same_dtype(call);
  require_rank_at_least(call, 0, 1, "one of them to join along");
  Shape shape = call.shape(0);
  const int axis = axis_attribute(call);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    Shape other = call.shape(i);
    const std::int64_t size = axis < other.rank() ? other[axis] : 0;
    if (axis < other.rank()) other[axis] = shape[axis];
    if (other != shape)
      call.fail(fmt::format("{} and {} differ outside axis {}; reshape or slice one of them", to_string(call.shape(0)),
                            to_string(call.shape(i)), axis));
    if (__builtin_add_overflow(shape[axis], size, &shape[axis])) call.fail("the sizes are too large; use smaller ones");
  }
  return {{call.dtype(0), shape}};
}

std::vector<Type> infer_slice(const OpCall& call) {
  const Shape& x = call.shape(0);
  const Integers& starts = axes_attribute(call, "starts", 0, largest_size);
  const Integers& sizes = axes_attribute(call, "sizes", 0, largest_size);
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (sizes[i] > x[axis] || starts[i] > x[axis] - sizes[i])
      call.fail(fmt::format("{} elements from {} on exceed axis {} of {}; choose a smaller part", sizes[i], starts[i],
                            axis, to_string(x)));
  }
  return {{call.dtype(0), Shape(sizes)}};
}

std::vector<Type> infer_pad(const OpCall& call) {
  Shape shape = call.shape(0);
  const Integers& before = axes_attribute(call, "before", 0, largest_size);
  const Integers& after = axes_attribute(call, "after", 0, largest_size);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (__builtin_add_overflow(shape[axis], before[i], &shape[axis]) ||
        __builtin_add_overflow(shape[axis], after[i], &shape[axis]))
      call.fail(fmt::format("padding of {} and {} is too large; use smaller sizes", before[i], after[i]));
  }
  return {{call.dtype(0), shape}};
}

std::vector<Value> reshape_gradient(const GradientCall& call) {
  if (call.node.attributes.flag("stop_gradient")) return {};
  return {ops::reshape(call.gradients[0], call.inputs[0].shape())};
}

std::vector<Value> transpose_gradient(const GradientCall& call) {
  const Integers& permutation = call.node.attributes.integers("permutation");
  Integers inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return {ops::transpose(call.gradients[0], inverse)};
}

std::vector<Value> broadcast_gradient(const GradientCall& call) {
  return {ops::sum_to(call.gradients[0], call.inputs[0].shape())};
}

std::vector<Value> concat_gradient(const GradientCall& call) {
  const auto axis = static_cast<std::size_t>(call.node.attributes.integer("axis"));
  Integers starts(static_cast<std::size_t>(call.outputs[0].shape().rank()), 0);
  std::vector<Value> results;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Integers sizes = integers(call.inputs[i].shape());
    results.push_back(call.needed[i] ? ops::slice(call.gradients[0], starts, sizes) : Value());
    starts[axis] += sizes[axis];
  }
  return results;
}

std::vector<Value> slice_gradient(const GradientCall& call) {
  const Integers &starts = call.node.attributes.integers("starts"), &sizes = call.node.attributes.integers("sizes");
  Integers after = integers(call.inputs[0].shape());
  for (std::size_t i = 0; i < after.size(); ++i) after[i] -= starts[i] + sizes[i];
  return {ops::pad(call.gradients[0], starts, after)};
}

std::vector<Value> pad_gradient(const GradientCall& call) {
  return {ops::slice(call.gradients[0], call.node.attributes.integers("before"), integers(call.inputs[0].shape()))};
}

}  // namespace

namespace definitions {

const OpDefinition reshape = {.id = Op::reshape,
                              .name = "reshape",
                              .doc = "the same elements under another shape",
                              .attributes = {{"shape", Integers()}, {"stop_gradient", false}},
                              .infer = infer_reshape,
                              .gradient = reshape_gradient,
                              .is_view = true};
const OpDefinition view = {
    .id = Op::view,
    .name = "view",
    .doc = "elements of x at regular steps, where they are; made by the compiler, for matmul alone",
    .attributes = {{"shape", Integers()}, {"strides", Integers()}, {"offset", std::int64_t(0)}},
    .infer = infer_view,
    .is_view = true,
    .is_strided = true};
const OpDefinition transpose = {.id = Op::transpose,
                                .name = "transpose",
                                .doc = "the axes in another order; axis i is axis permutation[i] of x",
                                .attributes = {{"permutation", Integers()}},
                                .infer = infer_transpose,
                                .gradient = transpose_gradient};
const OpDefinition broadcast = {.id = Op::broadcast,
                                .name = "broadcast",
                                .doc = "x repeated along new axes and axes of size 1, as NumPy does",
                                .attributes = {{"shape", Integers()}},
                                .infer = infer_broadcast,
                                .gradient = broadcast_gradient};
const OpDefinition concat = {.id = Op::concat,
                             .name = "concat",
                             .doc = "the inputs one after the other along the axis",
                             .attributes = {{"axis", std::int64_t{0}}},
                             .max_inputs = -1,
                             .infer = infer_concat,
                             .gradient = concat_gradient};
const OpDefinition slice = {.id = Op::slice,
                            .name = "slice",
                            .doc = "the part of x of the given sizes that begins at starts",
                            .attributes = {{"starts", Integers()}, {"sizes", Integers()}},
                            .infer = infer_slice,
                            .gradient = slice_gradient};
const OpDefinition pad = {.id = Op::pad,
                          .name = "pad",
                          .doc = "x with a value before and after its elements along each axis",
                          .attributes = {{"before", Integers()}, {"after", Integers()}, {"value", 0.0}},
                          .infer = infer_pad,
                          .gradient = pad_gradient};

}  // namespace definitions

namespace ops {

namespace {

// The size that completes the known ones, or -1 if there is no such size or more than one.
std::int64_t missing_size(const Shape& from, const Shape& known) {
  std::int64_t product = 1;
  for (std::int64_t size : known)
    if (size < 1 || __builtin_mul_overflow(product, size, &product)) return -1;
  return from.elements() % product == 0 ? from.elements() / product : -1;
}

}  // namespace

Value reshape(Value x, Shape shape) {
  const Shape from = x.shape();
  int unknown = -1;
  Shape known;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == -1 && unknown < 0) unknown = axis;
    else known.append(shape[axis]);
  }
  if (unknown >= 0) shape[unknown] = missing_size(from, known);
  return from == shape ? x : build(definitions::reshape, {x}, {{"shape", integers(shape)}});
}

Value stop_gradient(Value x) {
  return build(definitions::reshape, {x}, {{"shape", integers(x.shape())}, {"stop_gradient", true}});
}

Value transpose(Value x, const Integers& permutation) {
  const int rank = x.shape().rank();
  Integers axes, unchanged(static_cast<std::size_t>(rank));
  for (std::int64_t axis : permutation) axes.push_back(from_front(axis, rank));
  std::iota(unchanged.begin(), unchanged.end(), 0);
  return axes == unchanged ? x : build(definitions::transpose, {x}, {{"permutation", axes}});
}

Value broadcast(Value x, const Shape& shape) {
  return x.shape() == shape ? x : build(definitions::broadcast, {x}, {{"shape", integers(shape)}});
}

Value concat(const std::vector<Value>& values, std::int64_t axis) {
  if (values.empty()) throw Error("concat: there are no values; give at least one");
  return build(definitions::concat, values, {{"axis", from_front(axis, values.front().shape().rank())}});
}

Value slice(Value x, const Integers& starts, const Integers& sizes) {
  return build(definitions::slice, {x}, {{"starts", starts}, {"sizes", sizes}});
}

Value pad(Value x, const Integers& before, const Integers& after, double value) {
  return build(definitions::pad, {x}, {{"before", before}, {"after", after}, {"value", value}});
}

}  // namespace ops

}  // namespace pando
