// SPDX-License-Identifier: Apache-2.0
// Walking over arrays that broadcast to one shape, in runs that are contiguous or constant in each of them.
#pragma once
#include <pando/base/array.h>

#include <array>

namespace pando {

// broadcast_shapes for the function named `what`, whose name is put before the Error.
Shape broadcast(std::string_view what, const Shape& a, const Shape& b);

// Axes of size 1 are dropped and neighbours merged, so equal shapes, or a scalar, are walked over in a single run.
template <std::size_t N>
class BroadcastWalk {
 public:
  // All `operands` broadcast to `result`.
  BroadcastWalk(const Shape& result, const std::array<Shape, N>& operands) {
    for (int axis = 0; axis < result.rank(); ++axis) {
      if (result[axis] == 1) continue;
      std::array<std::int64_t, N> strides;
      for (std::size_t k = 0; k < N; ++k) {
        const int own = axis - (result.rank() - operands[k].rank());
        strides[k] = own < 0 || operands[k][own] == 1 ? 0 : operands[k].stride(own);
      }
      add_axis(result[axis], strides);
    }
    if (axes_ == 0) add_axis(1, {});
  }

  // 1 or 0: whether operand k advances within a run.
  std::int64_t step(std::size_t k) const { return axis_[axes_ - 1].strides[k]; }

  // Calls visit(place in the result, places in the operands, length) for each run.
  template <class Visit>
  void for_each_run(Visit visit) const {
    std::int64_t runs = 1;
    for (std::size_t i = 0; i + 1 < axes_; ++i) runs *= axis_[i].size;
    const std::int64_t length = axis_[axes_ - 1].size;
    if (length == 0) return;
    for (std::int64_t run = 0; run < runs; ++run) {
      std::array<std::int64_t, N> places = {};
      std::int64_t rest = run;
      for (std::size_t i = axes_ - 1; i-- > 0; rest /= axis_[i].size)
        for (std::size_t k = 0; k < N; ++k) places[k] += rest % axis_[i].size * axis_[i].strides[k];
      visit(run * length, places, length);
    }
  }

 private:
  struct Axis {
    std::int64_t size;
    std::array<std::int64_t, N> strides;
  };

  void add_axis(std::int64_t size, const std::array<std::int64_t, N>& strides) {
    if (axes_ > 0) {
      Axis& outer = axis_[axes_ - 1];
      bool merges = true;
      for (std::size_t k = 0; k < N; ++k) merges = merges && outer.strides[k] == size * strides[k];
      if (merges) {
        outer = {outer.size * size, strides};
        return;
      }
    }
    axis_[axes_++] = {size, strides};
  }

  std::array<Axis, Shape::max_rank> axis_ = {};
  std::size_t axes_ = 0;
};

// result[i] = function(a[i], b[i]) with both of the type T; a constant operand is loaded once so that the loop
// vectorises.
template <class T, class R, class Function>
void apply_binary(const Array& a, const Array& b, Array& result, Function function) {
  const T *in_a = a.data<T>(), *in_b = b.data<T>();
  R* out = result.mutable_data<R>();
  const BroadcastWalk<2> walk(result.shape(), {a.shape(), b.shape()});
  walk.for_each_run([&](std::int64_t to, const std::array<std::int64_t, 2>& from, std::int64_t length) {
    const T *x = in_a + from[0], *y = in_b + from[1];
    R* z = out + to;
    if (walk.step(0) == 0) {
      const T constant = *x;
      for (std::int64_t i = 0; i < length; ++i) z[i] = function(constant, y[i * walk.step(1)]);
    } else if (walk.step(1) == 0) {
      const T constant = *y;
      for (std::int64_t i = 0; i < length; ++i) z[i] = function(x[i], constant);
    } else {
      for (std::int64_t i = 0; i < length; ++i) z[i] = function(x[i], y[i]);
    }
  });
}

}  // namespace pando
