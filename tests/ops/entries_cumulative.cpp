// SPDX-License-Identifier: Apache-2.0
// Totals that run along an axis.
#include <algorithm>
#include <cmath>

#include "ops/cumulative.h"
#include "tests/ops/op_table.h"

namespace pando::test {

namespace {

double running_total(ops::CumulativeMode mode, double total, double value) {
  switch (mode) {
    case ops::CumulativeMode::add: return total + value;
    case ops::CumulativeMode::multiply: return total * value;
    case ops::CumulativeMode::maximum: return std::max(total, value);
    case ops::CumulativeMode::minimum: return std::min(total, value);
  }
  return NAN;
}

Tensor running_totals(const Tensor& x, int axis, ops::CumulativeMode mode, bool reverse) {
  Tensor result = x;
  const std::int64_t step = x.shape.stride(axis), size = x.shape[axis];
  for (std::int64_t n = 0; n < x.elements(); ++n) {
    const std::int64_t i = reverse ? x.elements() - 1 - n : n;
    const std::int64_t place = i / step % size;
    if (place != (reverse ? size - 1 : 0)) result[i] = running_total(mode, result[reverse ? i + step : i - step], x[i]);
  }
  return result;
}

Case total(std::string_view mode, const Shape& x, std::int64_t axis, bool reverse, const Domain& values) {
  const ops::CumulativeMode kind = cumulative_mode_named(mode);
  return {.inputs = {{x, {}, values}},
          .reference = [=](const Tensors& in) -> Tensors {
            return {running_totals(in[0], static_cast<int>(axis), kind, reverse)};
          },
          .attributes = {{"axis", axis}, {"mode", std::string(mode)}, {"reverse", reverse}},
          .slack = 20};
}

}  // namespace

std::vector<Entry> cumulative_entries() {
  Entry entry = {.op = "cumulative", .dtypes = numeric_types};
  for (bool reverse : {false, true})
    for (const auto& [x, axis] : {std::pair<Shape, std::int64_t>{{7}, 0},
                                  {{1}, 0},
                                  {{3, 5}, 0},
                                  {{3, 5}, 1},
                                  {{2, 6, 3}, 1},
                                  {{0, 3}, 0},
                                  {{0, 3}, 1},
                                  {{5, 37}, 0},
                                  {{2, 300}, 1}}) {
      entry.cases.push_back(total("add", x, axis, reverse, domain(-5, 5)));
      for (std::string_view mode : {"maximum", "minimum"})
        entry.cases.push_back(total(mode, x, axis, reverse, domain(-9, 9).distinct()));
    }
  for (bool reverse : {false, true})
    for (const Case& c : {total("multiply", {9}, 0, reverse, listed({2, -1, 3, 1, -2})),
                          total("multiply", {3, 5}, 0, reverse, domain(0.5, 2)),
                          total("multiply", {2, 6, 3}, 1, reverse, listed({2, 1, 3, 0, -1, 2, 1})),
                          total("multiply", {6}, 0, reverse, listed({2, 0, 3, -1, 0, 4})),
                          total("multiply", {2, 0}, 1, reverse, domain(1, 2)),
                          total("multiply", {2, 300}, 1, reverse, listed({-1, 1, 1, -1, 1}))})
      entry.cases.push_back(c);
  return {entry};
}

}  // namespace pando::test
