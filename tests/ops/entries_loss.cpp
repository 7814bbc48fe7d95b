// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/ops/op_table.h"

namespace pando::test {

namespace {

const std::vector<Shape> logit_shapes = {{5}, {1}, {3, 4}, {3, 1}, {0, 4}, {2, 3, 10}, {33, 10}, {2, 1037}, {40, 17}};
// Would overflow without care.
const Domain large = listed({1000, -1000, 999, 0, 1001.5, -200});

Entry rows(std::string_view op, Tensor (*f)(const Tensor&)) {
  Entry entry = {.op = op};
  const auto reference = [f](const Tensors& in) -> Tensors { return {f(in[0])}; };
  for (const Shape& shape : logit_shapes) entry.cases.push_back({{{shape, {}, domain(-4, 4)}}, reference});
  entry.cases.push_back({{{{2, 0}}}, reference});
  entry.cases.push_back({.inputs = {{{4, 6}, {}, large}}, .reference = reference, .has_gradient = false});
  return entry;
}

// y does not add up to 1: the gradient may not rely on it.
Entry gradient_entry() {
  Entry entry = {.op = "softmax_gradient"};
  const auto reference = [](const Tensors& in) -> Tensors {
    const Tensor products = elementwise(in, [](const auto& v) { return v[0] * v[1]; });
    const Tensor sums = reduce(products, {products.shape.rank() - 1}, true, 0, std::plus());
    return {elementwise({in[0], in[1], sums}, [](const auto& v) { return v[1] * (v[0] - v[2]); })};
  };
  for (const Shape& shape : logit_shapes)
    entry.cases.push_back({{{shape, {}, domain(-4, 4)}, {shape, {}, domain(0, 1)}}, reference});
  entry.cases.push_back({{{{2, 0}}, {{2, 0}}}, reference});
  return entry;
}

Shape without_classes(const Shape& logits) { return logits.part(0, logits.rank() - 1); }

Entry dense_entry() {
  Entry entry = {.op = "softmax_cross_entropy"};
  const auto reference = [](const Tensors& in) { return softmax_cross_entropy(in[0], in[1]); };
  // The targets do not add up to 1: the derivative may not rely on it.
  for (const Shape& shape : logit_shapes)
    entry.cases.push_back({{{shape, {}, domain(-4, 4)}, {shape, {}, domain(0, 1)}}, reference});
  entry.cases.push_back({.inputs = {{{4, 6}, {}, large}, {{4, 6}, {}, listed({0, 1, 0, 0, 0, 0})}},
                         .reference = reference,
                         .has_gradient = false});
  return entry;
}

// Rows of the ignored label are 0.
Tensors ignoring(const Tensors& in, double ignored) {
  Tensors labels_in_range = in;
  for (double& label : labels_in_range[1].values) label = label == ignored ? 0 : label;
  Tensors result = sparse_softmax_cross_entropy(in[0], labels_in_range[1]);
  const std::size_t classes = in[0].values.size() / in[1].values.size();
  for (std::size_t row = 0; row < in[1].values.size(); ++row) {
    if (in[1].values[row] != ignored) continue;
    result[0].values[row] = 0;
    std::fill_n(result[1].values.begin() + static_cast<std::ptrdiff_t>(row * classes), classes, 0.0);
  }
  return result;
}

Entry sparse_entry() {
  Entry entry = {.op = "sparse_softmax_cross_entropy"};
  const auto reference = [](const Tensors& in) { return sparse_softmax_cross_entropy(in[0], in[1]); };
  for (const Shape& shape : logit_shapes) {
    const double classes = static_cast<double>(shape[shape.rank() - 1]);
    entry.cases.push_back(
        {{{shape, {}, domain(-4, 4)}, {without_classes(shape), DType::int32, domain(0, classes - 1)}}, reference});
  }
  const Domain out_of_range = listed({0, -1, 3, 4, 2, 1000000});
  entry.cases.push_back(
      {.inputs = {{{6, 4}}, {{6}, DType::int32, out_of_range}}, .reference = reference, .has_gradient = false});
  for (const std::int64_t ignored : {-100, 2}) {
    const Domain some_ignored = listed({0, static_cast<double>(ignored), 3, static_cast<double>(ignored), 1});
    entry.cases.push_back({.inputs = {{{5, 17}, {}, domain(-4, 4)}, {{5}, DType::int32, some_ignored}},
                           .reference = [=](const Tensors& in) { return ignoring(in, static_cast<double>(ignored)); },
                           .attributes = {{"ignored", Integers{ignored}}}});
  }
  entry.cases.push_back({.inputs = {{{4, 6}, {}, large}, {{4}, DType::int32, domain(0, 5)}},
                         .reference = reference,
                         .has_gradient = false});
  return entry;
}

// Those that are means of errors.
Case built(const Shape& shape, Value (*build)(Value, Value), double (*error)(double, double)) {
  return {.inputs = {{shape}, {shape}},
          .reference = [=](const Tensors& in) -> Tensors {
            const Tensor errors = elementwise(in, [=](const auto& x) { return error(x[0], x[1]); });
            return {reduce_mean(errors, {shape.rank() - 1}, false)};
          },
          .build = [=](Graph&, const std::vector<Value>& in) -> std::vector<Value> { return {build(in[0], in[1])}; }};
}

}  // namespace

std::vector<Entry> loss_entries() {
  return {
      rows("softmax",
           [](const Tensor& x) { return elementwise({log_softmax(x)}, [](const auto& v) { return std::exp(v[0]); }); }),
      gradient_entry(), rows("log_softmax", log_softmax), dense_entry(), sparse_entry()};
}

std::vector<Case> composed_losses() {
  const auto huber = [](Value a, Value b) { return ops::huber(a, b, 0.5); };
  const auto huber_error = [](double a, double b) {
    const double e = std::abs(a - b);
    return e <= 0.5 ? e * e / 2 : 0.5 * (e - 0.25);
  };
  return {built({3, 4}, ops::mean_squared_error, [](double a, double b) { return (a - b) * (a - b); }),
          built({3, 4}, ops::mean_absolute_error, [](double a, double b) { return std::abs(a - b); }),
          built({5}, huber, huber_error)};
}

}  // namespace pando::test
