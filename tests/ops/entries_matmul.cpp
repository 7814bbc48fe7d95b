// SPDX-License-Identifier: Apache-2.0
// Products of matrices, fused programs, and what they end with when the compiler fuses into them.
#include <cmath>

#include "tests/ops/fused_programs.h"
#include "tests/ops/op_table.h"

namespace pando::test {

namespace {

Case product(const Shape& a, const Shape& b, bool transpose_a = false, bool transpose_b = false) {
  return {.inputs = {{a}, {b}},
          .reference = [=](const Tensors& in) -> Tensors { return {matmul(in[0], in[1], transpose_a, transpose_b)}; },
          .attributes = {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}},
          .slack = std::sqrt(static_cast<double>(a[a.rank() - (transpose_a ? 2 : 1)]) + 1)};
}

Case with_epilogue(Case base, const Epilogue& epilogue) {
  base.inputs.insert(base.inputs.end(), epilogue.inputs.begin(), epilogue.inputs.end());
  base.prepare = epilogue.prepare;
  base.build = [attributes = base.attributes, make = epilogue.program](Graph& graph, const std::vector<Value>& in) {
    Attributes fused = attributes;
    fused.set("epilogue", make(in[0].dtype()));
    return graph.add(definitions::matmul, in, fused);
  };
  base.reference = [raw = base.reference, finish = epilogue.reference](const Tensors& in) {
    return finish(raw({in[0], in[1]}).front(), {in.begin() + 2, in.end()});
  };
  base.has_gradient = false;
  return base;
}

// The parameter has the shape of the product, and the rate is negative too: nothing may take it for granted.
Case update(Case base, const Shape& parameter, double rate) {
  base.inputs.push_back({parameter});
  base.inputs.push_back({{}, {}, listed({rate})});
  base.reference = [product = base.reference](const Tensors& in) -> Tensors {
    Tensor result = product({in[0], in[1]}).front();
    for (std::size_t i = 0; i < result.values.size(); ++i)
      result.values[i] = in[2].values[i] - in[3].values[0] * result.values[i];
    return {result};
  };
  base.has_gradient = false;
  return base;
}

}  // namespace

std::vector<Entry> matmul_entries() {
  Entry entry = {
      .op = "matmul",
      .cases = {product({3, 4}, {4, 5}), product({1, 1}, {1, 1}), product({0, 4}, {4, 5}), product({3, 0}, {0, 5}),
                product({3, 4}, {4, 0}), product({1, 300}, {300, 1}), product({33, 70}, {70, 129}),
                product({4, 3}, {4, 5}, true, false), product({3, 4}, {5, 4}, false, true),
                product({70, 33}, {49, 70}, true, true), product({2, 3, 4}, {2, 4, 5}), product({2, 3, 4}, {4, 5}),
                product({2, 4, 3}, {4, 5}, true, false), product({2, 3, 4}, {5, 4}, false, true),
                product({3, 4}, {2, 4, 5}), product({2, 1, 3, 4}, {5, 4, 6}), product({0, 3, 4}, {4, 5}),
                product({600, 17}, {17, 31}),
                // Tiles divide the inner dimension.
                product({9, 400}, {400, 33}), product({5, 200}, {200, 40}), product({100, 1700}, {1700, 3})}};
  for (const auto& [shape_a, shape_b] : {std::pair<Shape, Shape>{{3, 4}, {4, 5}},
                                         {{37, 41}, {41, 65}},
                                         {{1, 1}, {1, 1}},
                                         {{0, 4}, {4, 5}},
                                         {{2, 3, 4}, {4, 5}},
                                         {{17, 600}, {600, 33}}})
    for (const Epilogue& epilogue : epilogues(shape_b[1]))
      entry.cases.push_back(with_epilogue(product(shape_a, shape_b), epilogue));
  const Entry updates = {
      .op = "matmul_update",
      .cases = {update(product({3, 4}, {4, 5}), {3, 5}, 0.5), update(product({1, 1}, {1, 1}), {1, 1}, 0.5),
                update(product({32, 100}, {32, 70}, true), {100, 70}, 0.1),
                update(product({33, 900}, {900, 40}), {33, 40}, -2.0),
                update(product({9, 400}, {9, 33}, true), {400, 33}, 0.5),
                update(product({70, 33}, {49, 70}, true, true), {33, 49}, 0.25),
                update(product({3, 0}, {0, 5}), {3, 5}, 0.5), update(product({0, 4}, {4, 5}), {0, 5}, 0.5)}};
  return {entry, updates};
}

}  // namespace pando::test
