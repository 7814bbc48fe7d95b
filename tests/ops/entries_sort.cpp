// SPDX-License-Identifier: Apache-2.0
// Rows in order.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/ops/op_table.h"

namespace pando::test {

namespace {

// NaN is larger than any number, and 0 equals -0.
bool is_less(double a, double b) { return !std::isnan(a) && (std::isnan(b) || a < b); }

Tensors sorted(const Tensor& x, bool descending) {
  const std::int64_t length = x.shape[x.shape.rank() - 1];
  Tensor values = x, indices = filled(DType::int32, x.shape);
  for (std::int64_t row = 0; row < x.elements(); row += length) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(length));
    std::iota(order.begin(), order.end(), row);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return descending ? is_less(x[b], x[a]) : is_less(x[a], x[b]);
    });
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t from = order[static_cast<std::size_t>(i)];
      values[row + i] = x[from];
      indices[row + i] = static_cast<double>(from - row);
    }
  }
  return {values, indices};
}

Case in_order(const Shape& x, bool descending, const Domain& values, std::optional<DType> dtype = {}) {
  return {.inputs = {{x, dtype, values}},
          .reference = [=](const Tensors& in) -> Tensors { return sorted(in[0], descending); },
          .attributes = {{"descending", descending}}};
}

Case along_axis(const Shape& x, std::int64_t axis) {
  Integers order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  return {.inputs = {{x, {}, domain(-9, 9).distinct()}},
          .reference = [=](const Tensors& in) -> Tensors {
            Tensors found = sorted(transpose(in[0], order), false);
            for (Tensor& tensor : found) tensor = transpose(tensor, order);
            return found;
          },
          .build = [=](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
            const ops::Sorted found = ops::sort(in[0], {.axis = axis});
            return {found.values, found.indices};
          }};
}

}  // namespace

std::vector<Entry> sort_entries() {
  const Domain distinct = domain(-9, 9).distinct(), ties = listed({1, 3, 0, 3, 2, -1, 3, 0});
  const Domain special = listed({1, NAN, -0.0, INFINITY, 0.0, -2, NAN, -INFINITY, -0.0, 1});
  Entry entry = {.op = "sort", .cases = {along_axis({3, 5}, 0), along_axis({2, 5, 3}, 1)}, .dtypes = numeric_types};
  for (bool descending : {false, true}) {
    for (const Shape& x :
         {Shape{7}, Shape{1}, Shape{0}, Shape{3, 5}, Shape{3, 0}, Shape{0, 3}, Shape{2, 3, 4}, Shape{5, 300}})
      entry.cases.push_back(in_order(x, descending, distinct));
    for (const Shape& x : {Shape{7}, Shape{3, 40}, Shape{2, 5000}}) {
      Case tied = in_order(x, descending, ties);
      tied.has_gradient = false;
      entry.cases.push_back(tied);
    }
    for (DType dtype : {DType::float32, DType::float64})
      for (const Shape& x : {Shape{2, 10}, Shape{2, 400}}) {
        Case unusual = in_order(x, descending, special, dtype);
        unusual.has_gradient = false;
        entry.cases.push_back(unusual);
      }
    for (DType dtype : {DType::uint8, DType::boolean})
      for (const Shape& x : {Shape{4, 6}, Shape{3, 500}}) {
        Case small = in_order(x, descending, {}, dtype);
        small.has_gradient = false;
        entry.cases.push_back(small);
      }
  }
  return {entry};
}

}  // namespace pando::test
