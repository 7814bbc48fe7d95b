// SPDX-License-Identifier: Apache-2.0
// Elements chosen along an axis by indices, read and written.
#include <cmath>

#include "ops/indexed.h"
#include "tests/ops/op_table.h"

namespace pando::test {

namespace {

// Where the indices send element `index` of what take_along reads.
std::int64_t chosen_place(const Tensor& indices, const Shape& x, Index index, int axis) {
  Index own = index;
  for (int i = 0; i < x.rank(); ++i)
    if (indices.shape[i] == 1) own[static_cast<std::size_t>(i)] = 0;
  index[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(indices[ravel(own, indices.shape)]);
  return ravel(index, x);
}

Shape chosen_shape(Shape x, const Shape& indices, int axis) {
  x[axis] = indices[axis];
  return x;
}

Case taken(const Shape& x, const Shape& indices, std::int64_t axis, const Domain& which) {
  const auto along = static_cast<int>(axis);
  return {.inputs = {{x}, {indices, DType::int32, which}},
          .reference = [=](const Tensors& in) -> Tensors {
            return {moved(in[0], chosen_shape(x, indices, along), 0,
                          [&](const Index& index) { return chosen_place(in[1], x, index, along); })};
          },
          .attributes = {{"axis", axis}}};
}

Tensor scattered(const Tensors& in, int axis, const std::function<double(double, double)>& combine) {
  Tensor result = in[0];
  for (std::int64_t i = 0; i < in[2].elements(); ++i) {
    double& to = result[chosen_place(in[1], in[0].shape, unravel(i, in[2].shape), axis)];
    to = combine(to, in[2][i]);
  }
  return result;
}

double combined(ops::ScatterMode mode, double old, double update) {
  switch (mode) {
    case ops::ScatterMode::set: return update;
    case ops::ScatterMode::add: return old + update;
    case ops::ScatterMode::multiply: return old * update;
    case ops::ScatterMode::maximum: return std::max(old, update);
    case ops::ScatterMode::minimum: return std::min(old, update);
  }
  return NAN;
}

Case written(std::string_view mode, const Shape& x, const Shape& indices, std::int64_t axis, const Domain& which) {
  const auto along = static_cast<int>(axis);
  const ops::ScatterMode kind = scatter_mode_named(mode);
  return {.inputs = {{x, {}, domain(-3, 3).distinct()},
                     {indices, DType::int32, which},
                     {chosen_shape(x, indices, along), {}, domain(-2.9, 3.1).distinct()}},
          .reference = [=](const Tensors& in) -> Tensors {
            return {scattered(in, along, [&](double old, double update) { return combined(kind, old, update); })};
          },
          .attributes = {{"axis", axis}, {"mode", std::string(mode)}},
          .slack = 10};
}

// Of several updates of an element the last one counts, but all have its gradient: indexed_test.cpp has it.
Case replaced(const Shape& x, const Shape& indices, std::int64_t axis, const Domain& which) {
  Case c = written("set", x, indices, axis, which);
  c.has_gradient = false;
  return c;
}

Case of_type(Case c, DType dtype) {
  c.inputs[0].dtype = c.inputs[2].dtype = dtype;
  return c;
}

// A product of zero, one and two factors that are 0.
Case with_zeros() {
  Case c = written("multiply", {4}, {6}, 0, listed({0, 1, 2, 2, 3, 3}));
  c.inputs[0].domain = listed({2, 0, 1.5, 0});
  c.inputs[2].domain = listed({-1, 3, 0, 2, 0, 4});
  return c;
}

Entry scatter_entry() {
  const Domain some = domain(0, 4), all = listed({3, 0, 4, 1, 2});
  Entry entry = {.op = "scatter", .cases = {with_zeros()}, .dtypes = numeric_types};
  for (std::string_view mode : {"add", "multiply", "maximum", "minimum"})
    for (const Case& c : {written(mode, {5}, {7}, 0, some), written(mode, {5, 3}, {2, 3}, 0, some),
                          written(mode, {5, 3}, {4, 1}, 0, some), written(mode, {3, 5}, {1, 9}, 1, some),
                          written(mode, {2, 5, 3}, {2, 4, 1}, 1, some), written(mode, {2, 5, 3}, {1, 4, 3}, 1, some)})
      entry.cases.push_back(c);
  for (const Case& c :
       {written("add", {5, 40}, {30, 1}, 0, some), written("add", {2, 5, 33}, {1, 6, 1}, 1, some),
        written("add", {70, 5}, {70, 3}, 1, some), written("set", {5}, {5}, 0, all),
        written("set", {5, 40}, {3, 1}, 0, all), written("set", {2, 5, 3}, {1, 5, 1}, 1, all),
        replaced({5}, {40}, 0, some), replaced({5, 33}, {40, 33}, 0, some), replaced({5, 33}, {9, 1}, 0, some),
        replaced({1, 1}, {1, 1}, 0, domain(0, 0)), replaced({5, 3}, {0, 1}, 0, some), replaced({5, 0}, {4, 0}, 0, some),
        replaced({0, 5}, {0, 4}, 1, some), replaced({0, 3}, {0, 3}, 0, some)})
    entry.cases.push_back(c);
  for (DType dtype : {DType::bfloat16, DType::uint8, DType::boolean})
    for (const Case& c : {replaced({5, 3}, {2, 3}, 0, some), replaced({5, 33}, {9, 1}, 0, some)})
      entry.cases.push_back(of_type(c, dtype));
  return entry;
}

}  // namespace

std::vector<Entry> indexed_entries() {
  const Domain some = domain(0, 4);
  return {
      {"take_along",
       {taken({5}, {7}, 0, some), taken({5, 3}, {2, 3}, 0, some), taken({5, 3}, {4, 1}, 0, some),
        taken({3, 5}, {3, 4}, 1, some), taken({3, 5}, {1, 4}, 1, some), taken({2, 5, 3}, {2, 4, 3}, 1, some),
        taken({2, 5, 3}, {2, 4, 1}, 1, some), taken({2, 5, 3}, {1, 4, 3}, 1, some),
        taken({2, 5, 3}, {1, 4, 1}, 1, some), taken({1, 1}, {1, 1}, 0, domain(0, 0)), taken({5, 3}, {0, 1}, 0, some),
        taken({5, 0}, {3, 0}, 0, some), taken({0, 5}, {0, 3}, 1, some), taken({0, 3}, {0, 3}, 0, some),
        taken({5, 70}, {33, 1}, 0, some), taken({5, 70}, {3, 70}, 0, some), taken({40, 5}, {40, 33}, 1, some)},
       all_types},
      scatter_entry()};
}

}  // namespace pando::test
