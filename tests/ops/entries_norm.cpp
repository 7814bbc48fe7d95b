// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/ops/op_table.h"

namespace pando::test {

namespace {

constexpr double epsilon = 0.01;

Shape channels_of(const Shape& x) { return {x[x.rank() - 1]}; }

const Tensor* weights_in(const Tensors& in, std::size_t place) { return in.size() > place ? &in[place] : nullptr; }

double slack_of(const Shape& x) { return std::sqrt(static_cast<double>(x.elements()) + 1); }

// Weights have no gradient: padding decides them, not a parameter.
InputSpec weights_spec(const Shape& x, const Domain& values) { return {{x[0]}, {}, values, false}; }

Case over_batch(const Shape& x) {
  return {.inputs = {{x}, {channels_of(x), {}, domain(0.5, 2)}, {channels_of(x)}},
          .reference = [](const Tensors& in) { return batch_norm(in[0], in[1], in[2], weights_in(in, 3), epsilon); },
          .attributes = {{"epsilon", epsilon}},
          .slack = slack_of(x)};
}

Case weighted(Case base, const Domain& weights) {
  // The sizes of a sample's weight come with x, which is input 0 or, for the gradient, input 1.
  base.inputs.push_back(weights_spec(base.inputs[base.inputs.size() > 3 ? 1 : 0].shape, weights));
  return base;
}

// The gradient takes the statistics of x, so they are made of it.
Case over_batch_gradient(const Shape& x) {
  const Shape channels = channels_of(x);
  return {
      .inputs = {{x}, {x}, {channels, {}, domain(0.5, 2)}, {channels}, {channels}},
      .reference =
          [](const Tensors& in) { return batch_norm_gradient(in[0], in[1], in[2], in[3], in[4], weights_in(in, 5)); },
      .prepare =
          [](Tensors& in) {
            const Tensors results = batch_norm(in[1], in[2], in[2], weights_in(in, 5), epsilon);
            in[3] = rounded(results[1]);
            in[4] = rounded(results[3]);
          },
      .slack = slack_of(x)};
}

Case over_row(const Shape& x) {
  return {.inputs = {{x}, {channels_of(x), {}, domain(0.5, 2)}, {channels_of(x)}},
          .reference = [](const Tensors& in) { return layer_norm(in[0], in[1], in[2], epsilon); },
          .attributes = {{"epsilon", epsilon}},
          .slack = slack_of(channels_of(x))};
}

Case over_row_gradient(const Shape& x) {
  const Shape rows = x.part(0, x.rank() - 1);
  return {.inputs = {{x}, {x}, {channels_of(x), {}, domain(0.5, 2)}, {rows}, {rows}},
          .reference = [](const Tensors& in) { return layer_norm_gradient(in[0], in[1], in[2], in[3], in[4]); },
          .prepare =
              [](Tensors& in) {
                const Tensors results = layer_norm(in[1], in[2], in[2], epsilon);
                in[3] = rounded(results[1]);
                in[4] = rounded(results[2]);
              },
          .slack = slack_of(x)};
}

// For evaluation: made of elementwise ops.
Case inference(const Shape& x) {
  const Shape channels = channels_of(x);
  return {.inputs = {{x}, {channels}, {channels}, {channels}, {channels, {}, domain(0.5, 2)}},
          .reference = [](const Tensors& in) -> Tensors {
            Tensor y =
                elementwise(in, [](const auto& v) { return (v[0] - v[3]) / std::sqrt(v[4] + epsilon) * v[1] + v[2]; });
            return {y};
          },
          .build = [](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
            return {ops::batch_norm_inference(in[0], in[1], in[2], in[3], in[4], epsilon)};
          }};
}

}  // namespace

std::vector<Entry> norm_entries() {
  const std::vector<Shape> images = {{4, 3}, {3, 1}, {2, 3, 4, 5}, {5, 33}, {2, 4, 4, 17}, {70, 2}, {3, 2, 40}};
  // As padding makes them, as a user may, and those of a batch that is all padding.
  const Domain padding = listed({1, 1, 0}), fractions = domain(0.25, 2), nothing = listed({0});
  Entry batch = {.op = "batch_norm"}, batch_gradient = {.op = "batch_norm_gradient"};
  for (const Shape& x : images)
    for (const Case& c : {over_batch(x), weighted(over_batch(x), padding), weighted(over_batch(x), fractions)})
      batch.cases.push_back(c);
  for (const Shape& x : images)
    for (const Case& c : {over_batch_gradient(x), weighted(over_batch_gradient(x), padding),
                          weighted(over_batch_gradient(x), fractions)})
      batch_gradient.cases.push_back(c);
  for (const Shape& x : {Shape{0, 3}, {2, 0}, {2, 0, 3}, {1, 2}}) {
    batch.cases.push_back(over_batch(x));
    batch_gradient.cases.push_back(over_batch_gradient(x));
  }
  batch.cases.push_back(weighted(over_batch({4, 3}), nothing));
  batch_gradient.cases.push_back(weighted(over_batch_gradient({4, 3}), nothing));

  Entry layer = {.op = "layer_norm"}, layer_gradient = {.op = "layer_norm_gradient"};
  for (const Shape& x : {Shape{7}, {4, 3}, {3, 1}, {0, 3}, {2, 3, 5}, {33, 40}, {5, 1037}, {2, 0}}) {
    layer.cases.push_back(over_row(x));
    layer_gradient.cases.push_back(over_row_gradient(x));
  }
  return {batch, batch_gradient, layer, layer_gradient};
}

std::vector<Case> composed_norms() { return {inference({4, 3}), inference({2, 3, 4, 5})}; }

}  // namespace pando::test
