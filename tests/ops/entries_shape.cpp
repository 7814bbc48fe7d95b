// SPDX-License-Identifier: Apache-2.0
// Data movement, with every type.
#include <cmath>

#include "tests/ops/op_table.h"

namespace pando::test {

namespace {

constexpr std::int64_t outside = -1;

Case reshaped(const Shape& x, const Shape& to) {
  return {.inputs = {{x}},
          .reference = [=](const Tensors& in) -> Tensors {
            return {{in[0].dtype, to, in[0].values}};
          },
          .attributes = {{"shape", list(to)}}};
}

Case transposed(const Shape& x, const Integers& permutation) {
  return {.inputs = {{x}},
          .reference = [=](const Tensors& in) -> Tensors { return {transpose(in[0], permutation)}; },
          .attributes = {{"permutation", permutation}}};
}

Case repeated(const Shape& x, const Shape& to) {
  return {.inputs = {{x}},
          .reference = [=](const Tensors& in) -> Tensors {
            return {moved(in[0], to, 0, [&](const Index& index) { return broadcast_place(x, to, ravel(index, to)); })};
          },
          .attributes = {{"shape", list(to)}}};
}

Tensor concatenated(const Tensors& in, int axis) {
  Shape shape = in[0].shape;
  for (std::size_t i = 1; i < in.size(); ++i) shape[axis] += in[i].shape[axis];
  Tensor result = filled(in[0].dtype, shape);
  const auto along = static_cast<std::size_t>(axis);
  for (std::int64_t place = 0; place < result.elements(); ++place) {
    Index index = unravel(place, shape);
    std::size_t from = 0;
    for (; index[along] >= in[from].shape[axis]; ++from) index[along] -= in[from].shape[axis];
    result[place] = in[from][ravel(index, in[from].shape)];
  }
  return result;
}

Case joined(const std::vector<Shape>& shapes, std::int64_t axis) {
  Case c = {.reference = [=](const Tensors& in) -> Tensors { return {concatenated(in, static_cast<int>(axis))}; },
            .attributes = {{"axis", axis}}};
  for (const Shape& shape : shapes) c.inputs.push_back({shape});
  return c;
}

Case sliced(const Shape& x, const Integers& starts, const Integers& sizes) {
  return {.inputs = {{x}},
          .reference = [=](const Tensors& in) -> Tensors {
            return {moved(in[0], Shape(sizes), 0, [&](Index index) {
              for (std::size_t i = 0; i < starts.size(); ++i) index[i] += starts[i];
              return ravel(index, x);
            })};
          },
          .attributes = {{"starts", starts}, {"sizes", sizes}}};
}

Case padded(const Shape& x, const Integers& before, const Integers& after, double value) {
  Shape shape = x;
  for (int axis = 0; axis < x.rank(); ++axis)
    shape[axis] += before[static_cast<std::size_t>(axis)] + after[static_cast<std::size_t>(axis)];
  return {.inputs = {{x}},
          .reference = [=](const Tensors& in) -> Tensors {
            return {moved(in[0], shape, value, [&](Index index) {
              for (int axis = 0; axis < x.rank(); ++axis) {
                const auto i = static_cast<std::size_t>(axis);
                index[i] -= before[i];
                if (index[i] < 0 || index[i] >= x[axis]) return outside;
              }
              return ravel(index, x);
            })};
          },
          .attributes = {{"before", before}, {"after", after}, {"value", value}}};
}

Tensor gathered(const Tensor& table, const Tensor& indices) {
  Shape shape = indices.shape;
  const std::int64_t row = table.shape.stride(0);
  for (int axis = 1; axis < table.shape.rank(); ++axis) shape.append(table.shape[axis]);
  return moved(table, shape, 0, [&](const Index& index) {
    const std::int64_t place = ravel(index, shape);
    return static_cast<std::int64_t>(indices[place / row]) * row + place % row;
  });
}

Case chosen_rows(const Shape& table, const Shape& indices, const Domain& which) {
  return {.inputs = {{table}, {indices, DType::int32, which}},
          .reference = [](const Tensors& in) -> Tensors { return {gathered(in[0], in[1])}; }};
}

Case scattered(const Shape& gradient, const Shape& indices, std::int64_t rows, const Domain& which) {
  return {.inputs = {{gradient}, {indices, DType::int32, which}},
          .reference = [=](const Tensors& in) -> Tensors {
            Shape shape = {rows};
            for (int axis = indices.rank(); axis < gradient.rank(); ++axis) shape.append(gradient[axis]);
            Tensor result = filled(in[0].dtype, shape);
            const std::int64_t row = shape.stride(0);
            for (std::int64_t i = 0; i < in[0].elements(); ++i) {
              const auto chosen = static_cast<std::int64_t>(in[1][i / row]);
              if (chosen >= 0 && chosen < rows) result[chosen * row + i % row] += in[0][i];
            }
            return {result};
          },
          .attributes = {{"rows", rows}},
          .slack = 10};
}

Case hot(const Shape& indices, std::int64_t depth, DType dtype) {
  return {.inputs = {{indices, DType::int32, domain(-1, static_cast<double>(depth))}},
          .reference = [=](const Tensors& in) -> Tensors {
            Shape shape = indices;
            shape.append(depth);
            Tensor result = filled(dtype, shape);
            for (std::int64_t i = 0; i < result.elements(); ++i)
              result[i] = in[0][i / depth] == static_cast<double>(i % depth) ? 1 : 0;
            return {result};
          },
          .attributes = {{"depth", depth}, {"dtype", dtype}}};
}

Entry one_hot_entry() {
  Entry entry = {.op = "one_hot", .dtypes = {DType::float32}};
  for (DType dtype : all_types)
    for (const auto& [indices, depth] :
         {std::pair<Shape, std::int64_t>{{5}, 4}, {{}, 3}, {{2, 1}, 1}, {{0, 2}, 4}, {{3}, 0}, {{33}, 17}})
      entry.cases.push_back(hot(indices, depth, dtype));
  return entry;
}

}  // namespace

std::vector<Entry> shape_entries() {
  const Domain some = domain(0, 4), beyond = listed({0, 5, -1, 2, 4, 1 << 30});
  return {
      {"reshape",
       {reshaped({6}, {2, 3}), reshaped({2, 3, 4}, {4, 6}), reshaped({1}, {}), reshaped({}, {1, 1}),
        reshaped({0, 3}, {5, 0}), reshaped({3, 2}, {3, 2})},
       all_types},
      {"transpose",
       {transposed({3, 5}, {1, 0}), transposed({2, 3, 4}, {2, 0, 1}), transposed({2, 3, 4}, {0, 2, 1}),
        transposed({1, 7}, {1, 0}), transposed({0, 3}, {1, 0}), transposed({2, 3, 4, 5}, {0, 3, 1, 2}),
        transposed({2, 3, 4, 5}, {3, 2, 1, 0}), transposed({7}, {0}), transposed({}, {}), transposed({67, 35}, {1, 0}),
        transposed({2, 19, 18, 3}, {0, 2, 1, 3})},
       all_types},
      {"broadcast",
       {repeated({3}, {2, 3}), repeated({}, {4}), repeated({1}, {33}), repeated({3, 1}, {3, 70}),
        repeated({1, 3}, {0, 3}), repeated({2, 1, 3}, {4, 2, 5, 3}), repeated({2, 3}, {2, 3}), repeated({}, {})},
       all_types},
      {"concat",
       {joined({{2, 3}, {2, 4}}, 1), joined({{2, 3}, {1, 3}, {3, 3}}, 0), joined({{3}, {0}, {2}}, 0), joined({{1}}, 0),
        joined({{0, 2}, {0, 3}}, 1), joined({{2, 3, 4}, {2, 1, 4}}, 1), joined({{33, 40}, {33, 25}}, 1)},
       all_types},
      {"slice",
       {sliced({7}, {2}, {3}), sliced({3, 5}, {1, 0}, {2, 5}), sliced({3, 5}, {0, 2}, {3, 2}),
        sliced({2, 3, 4}, {0, 1, 1}, {1, 1, 1}), sliced({5}, {5}, {0}), sliced({1, 4}, {0, 1}, {1, 2}),
        sliced({}, {}, {}), sliced({0, 3}, {0, 1}, {0, 2}), sliced({40, 70}, {3, 5}, {33, 49})},
       all_types},
      {"pad",
       {padded({3}, {1}, {2}, 0), padded({2, 3}, {1, 0}, {0, 2}, 1), padded({}, {}, {}, 0),
        padded({0, 2}, {2, 1}, {1, 0}, 1), padded({1, 1}, {0, 0}, {0, 0}, 0),
        padded({2, 3, 4, 2}, {0, 1, 2, 0}, {0, 1, 1, 0}, 0), padded({33, 40}, {2, 3}, {1, 4}, 1)},
       all_types},
      {"gather",
       {chosen_rows({5, 3}, {4}, some), chosen_rows({5}, {2, 3}, some), chosen_rows({5, 2, 3}, {}, some),
        chosen_rows({1, 1}, {1}, domain(0, 0)), chosen_rows({5, 3}, {0}, some), chosen_rows({5, 0}, {3}, some),
        chosen_rows({5, 33}, {40}, some)},
       all_types},
      {"gather_gradient",
       {scattered({4, 3}, {4}, 5, some), scattered({2, 3}, {2, 3}, 5, some), scattered({2, 3}, {}, 5, some),
        scattered({1, 1}, {1}, 1, domain(0, 0)), scattered({0, 3}, {0}, 5, some), scattered({3, 0}, {3}, 5, some),
        scattered({40, 33}, {40}, 5, some), scattered({6, 3}, {6}, 5, beyond), scattered({2, 3}, {2}, 0, some)}},
      one_hot_entry(),
  };
}

}  // namespace pando::test
