// SPDX-License-Identifier: Apache-2.0
#include "ops/steps.h"

#include <pando/ops/ops.h>

#include <algorithm>
#include <cmath>

#include "ops/build.h"

namespace pando {

namespace {

Value take_part(Value x, int axis, std::int64_t start, std::int64_t size) {
  Integers starts(static_cast<std::size_t>(x.shape().rank()), 0), sizes = integers(x.shape());
  starts[static_cast<std::size_t>(axis)] = start;
  sizes[static_cast<std::size_t>(axis)] = size;
  return ops::slice(x, starts, sizes);
}

// `shape` with another size of the axis, or with the axis in two.
Shape resized(Shape shape, int axis, std::int64_t size) {
  shape[axis] = size;
  return shape;
}
Shape divided(const Shape& shape, int axis, std::int64_t outer, std::int64_t inner) {
  Shape result = shape.part(0, axis);
  result.append(outer);
  result.append(inner);
  for (int i = axis + 1; i < shape.rank(); ++i) result.append(shape[i]);
  return result;
}

}  // namespace

Value pad_axis(Value x, int axis, std::int64_t before, std::int64_t after, double value) {
  if (before == 0 && after == 0) return x;
  Integers first(static_cast<std::size_t>(x.shape().rank()), 0), last = first;
  first[static_cast<std::size_t>(axis)] = before;
  last[static_cast<std::size_t>(axis)] = after;
  return ops::pad(x, first, last, value);
}

// Of each `step` elements the first one. The last ones may lack what follows it.
Value take_steps(Value x, int axis, std::int64_t start, std::int64_t step, std::int64_t count) {
  if (step == 1 || count <= 1) return take_part(x, axis, start, count);
  const std::int64_t there = std::min(x.shape()[axis] - start, count * step);
  const Value whole = pad_axis(take_part(x, axis, start, there), axis, 0, count * step - there);
  const Value steps = ops::reshape(whole, divided(whole.shape(), axis, count, step));
  return ops::reshape(take_part(steps, axis + 1, 0, 1), resized(x.shape(), axis, count));
}

Value put_at_steps(Value x, int axis, std::int64_t start, std::int64_t step, std::int64_t size) {
  const std::int64_t count = x.shape()[axis];
  const Value apart = pad_axis(ops::reshape(x, divided(x.shape(), axis, count, 1)), axis + 1, 0, step - 1);
  const Value joined = ops::reshape(apart, resized(x.shape(), axis, count * step));
  const std::int64_t there = std::min(size - start, count * step);
  return pad_axis(take_part(joined, axis, 0, there), axis, start, size - start - there);
}

Value max_along(Value x, int axis, const Window& window) {
  const std::int64_t count = window.output_size(0, x.shape()[axis]);
  const Value padded = pad_axis(x, axis, window.before(0), window.after(0), -HUGE_VAL);
  Value largest;
  for (std::int64_t place = 0; place < window.kernel[0]; ++place) {
    const Value next = take_steps(padded, axis, place * window.dilations[0], window.strides[0], count);
    largest = largest ? ops::maximum(largest, next) : next;
  }
  return largest;
}

}  // namespace pando
