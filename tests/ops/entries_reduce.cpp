// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/ops/op_table.h"

namespace pando::test {

namespace {

struct Reduction {
  Shape x;
  Integers axes;
};

// First, last, inner and outer axes, all, none, of size 1, empty ones, and long enough for every vector path.
std::vector<Reduction> reductions(bool empty_allowed) {
  std::vector<Reduction> all = {{{7}, {0}},
                                {{1}, {0}},
                                {{}, {}},
                                {{3, 5}, {0}},
                                {{3, 5}, {1}},
                                {{3, 5}, {}},
                                {{3, 5}, {0, 1}},
                                {{2, 3, 4, 5}, {0, 2}},
                                {{2, 3, 4, 5}, {1, 3}},
                                {{2, 3, 4, 5}, {0, 1, 2}},
                                {{1037}, {0}},
                                {{70, 33}, {0}},
                                {{70, 33}, {1}},
                                {{3, 40, 17}, {1}},
                                {{0, 3}, {1}},
                                {{3, 1, 2}, {1}}};
  if (empty_allowed)
    for (const Reduction& more : {Reduction{{0, 3}, {0}}, {{2, 0}, {0, 1}}, {{0}, {0}}}) all.push_back(more);
  return all;
}

double count_of(const Reduction& r) {
  double count = 1;
  for (std::int64_t axis : r.axes) count *= static_cast<double>(r.x[static_cast<int>(axis)]);
  return count;
}

Entry reduction(std::string_view op, const Domain& values, bool empty_allowed,
                const std::function<Tensor(const Tensor&, const Integers&, bool)>& f) {
  Entry entry = {.op = op};
  for (const Reduction& r : reductions(empty_allowed))
    for (bool keep_dims : {false, true})
      entry.cases.push_back({.inputs = {{r.x, {}, values}},
                             .reference = [=](const Tensors& in) -> Tensors { return {f(in[0], r.axes, keep_dims)}; },
                             .attributes = {{"axes", r.axes}, {"keep_dims", keep_dims}},
                             .slack = std::sqrt(count_of(r) + 1)});
  return entry;
}

// The builders: negative axes in any order, and none for all of them.
Case built_sum(const Shape& x, const Integers& given, const Integers& axes) {
  return {.inputs = {{x}},
          .reference = [=](const Tensors& in) -> Tensors {
            return {reduce(in[0], axes, false, 0, [](double a, double b) { return a + b; })};
          },
          .build = [=](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
            return {ops::reduce_sum(in[0], {.axes = given})};
          }};
}

Case built_sum_to(const Shape& x, const Shape& to) {
  return {
      .inputs = {{x}},
      .reference = [=](const Tensors& in) -> Tensors {
        Tensor total = filled(in[0].dtype, to);
        for (std::int64_t i = 0; i < in[0].elements(); ++i) total[broadcast_place(to, x, i)] += in[0][i];
        return {total};
      },
      .build = [=](Graph&, const std::vector<Value>& in) -> std::vector<Value> { return {ops::sum_to(in[0], to)}; }};
}

Case built_global(bool is_max, const Shape& x) {
  return {.inputs = {{x, {}, domain(-3, 3).distinct()}},
          .reference = [=](const Tensors& in) -> Tensors {
            return {is_max ? reduce(in[0], {1, 2}, false, -INFINITY, [](double a, double b) { return std::max(a, b); })
                           : reduce_mean(in[0], {1, 2}, false)};
          },
          .build = [=](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
            return {is_max ? ops::global_max_pool(in[0]) : ops::global_average_pool(in[0])};
          }};
}

Case index_of_largest(const Shape& x, std::int64_t axis, const Domain& values) {
  return {.inputs = {{x, {}, values}},
          .reference = [=](const Tensors& in) -> Tensors { return {argmax(in[0], static_cast<int>(axis))}; },
          .attributes = {{"axis", axis}}};
}

Entry argmax_entry() {
  const Domain distinct = domain(-9, 9).distinct(), ties = listed({1, 3, 0, 3, 2, -1, 3});
  Entry entry = {.op = "argmax", .dtypes = numeric_types};
  for (const auto& [x, axis] : {std::pair<Shape, std::int64_t>{{7}, 0},
                                {{1}, 0},
                                {{3, 5}, 0},
                                {{3, 5}, 1},
                                {{0, 3}, 1},
                                {{2, 40, 3}, 1},
                                {{65, 10}, 1},
                                {{1037}, 0},
                                {{2, 3, 1}, 2},
                                {{3, 5, 33}, 0}})
    for (const Domain& values : {distinct, ties}) entry.cases.push_back(index_of_largest(x, axis, values));
  return entry;
}

}  // namespace

std::vector<Entry> reduce_entries() {
  const auto sum = [](const Tensor& x, const Integers& axes, bool keep) {
    return reduce(x, axes, keep, 0, [](double a, double b) { return a + b; });
  };
  const auto largest = [](const Tensor& x, const Integers& axes, bool keep) {
    return reduce(x, axes, keep, -std::numeric_limits<double>::infinity(),
                  [](double a, double b) { return std::max(a, b); });
  };
  Entry sums = reduction("reduce_sum", domain(-5, 5), true, sum);
  sums.dtypes = numeric_types;
  for (const Case& c : {built_sum({2, 3, 4}, {-1, 0}, {0, 2}), built_sum({2, 3}, {}, {0, 1}),
                        built_sum_to({2, 3, 4}, {3, 1}), built_sum_to({4, 3}, {}), built_sum_to({2, 1, 5}, {2, 1, 1})})
    sums.cases.push_back(c);
  Entry means = reduction("reduce_mean", domain(-5, 5), true, reduce_mean);
  means.cases.push_back(built_global(false, {2, 3, 4, 5}));
  Entry maxima = reduction("reduce_max", domain(-5, 5).distinct(), false, largest);
  maxima.cases.push_back(built_global(true, {2, 3, 4, 5}));
  maxima.dtypes = numeric_types;
  return {sums, means, maxima, argmax_entry()};
}

}  // namespace pando::test
