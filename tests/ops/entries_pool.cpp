// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/op_table.h"

namespace pando::test {

namespace {

struct Pooling {
  Shape x;
  Geometry geometry;
};

Attributes attributes_of(const Pooling& p) {
  return {{"window", list(p.geometry.kernel)},
          {"strides", list(p.geometry.strides)},
          {"padding", list(p.geometry.padding)}};
}

Attributes gradient_attributes_of(const Pooling& p) {
  Attributes attributes = attributes_of(p);
  attributes.set("input_size", Integers{p.x[1], p.x[2]});
  return attributes;
}

Shape output_of(const Pooling& p) {
  return {p.x[0], p.geometry.output_size(0, p.x[1]), p.geometry.output_size(1, p.x[2]), p.x[3]};
}

// Plain, of one element, overlapping, with gaps, padded, without samples or channels, wide, and with a window of more
// places than a byte counts.
std::vector<Pooling> poolings() {
  return {{{2, 4, 6, 3}, {.kernel = {2, 2}, .strides = {2, 2}}},
          {{1, 1, 1, 1}, {.kernel = {1, 1}, .strides = {1, 1}}},
          {{2, 7, 5, 2}, {.kernel = {3, 2}, .strides = {2, 1}}},
          {{1, 8, 8, 5}, {.kernel = {2, 2}, .strides = {3, 4}}},
          {{2, 5, 5, 3}, {.kernel = {3, 3}, .strides = {2, 2}, .padding = {1, 1, 2, 1}}},
          {{0, 4, 4, 3}, {.kernel = {2, 2}, .strides = {2, 2}}},
          {{2, 4, 4, 0}, {.kernel = {2, 2}, .strides = {2, 2}}},
          {{3, 13, 12, 33}, {.kernel = {2, 2}, .strides = {2, 2}}},
          {{3, 9, 10, 18}, {.kernel = {3, 3}, .strides = {1, 1}, .padding = {1, 1, 1, 1}}},
          {{2, 18, 17, 2}, {.kernel = {17, 16}, .strides = {1, 1}}}};
}

const Domain no_ties = domain(-4, 4).distinct();

Case largest(const Pooling& p) {
  return {.inputs = {{p.x, {}, no_ties}},
          .reference = [p](const Tensors& in) { return max_pool(in[0], p.geometry); },
          .attributes = attributes_of(p)};
}

// The first of equal elements wins.
Case tied(const Pooling& p) {
  Case c = largest(p);
  c.inputs[0].domain = listed({1, 2, 2, 0, 1});
  c.has_gradient = false;
  return c;
}

Case largest_gradient(const Pooling& p) {
  const DType positions = p.geometry.kernel[0] * p.geometry.kernel[1] <= 255 ? DType::uint8 : DType::int32;
  return {.inputs = {{output_of(p)}, {output_of(p), positions}},
          .reference = [p](const Tensors& in) -> Tensors { return {max_pool_gradient(in[0], in[1], p.geometry, p.x)}; },
          .attributes = gradient_attributes_of(p),
          .prepare =
              [p](Tensors& in) {
                Generator generator("positions", 1);
                in[1] = max_pool(draw(no_ties, DType::float64, p.x, generator), p.geometry)[1];
              },
          .slack = 10};
}

Case mean(const Pooling& p, bool count_padding) {
  Attributes attributes = attributes_of(p);
  attributes.set("count_padding", count_padding);
  return {.inputs = {{p.x}},
          .reference = [=](const Tensors& in) -> Tensors { return {average_pool(in[0], p.geometry, count_padding)}; },
          .attributes = attributes};
}

Case mean_gradient(const Pooling& p, bool count_padding) {
  Attributes attributes = gradient_attributes_of(p);
  attributes.set("count_padding", count_padding);
  return {.inputs = {{output_of(p)}},
          .reference = [=](const Tensors& in) -> Tensors {
            return {average_pool_gradient(in[0], p.geometry, count_padding, p.x)};
          },
          .attributes = attributes};
}

// The builders: strides of 0, and the padding that they work out.
Case built(bool is_max, const Shape& x, std::array<std::int64_t, 2> window, std::array<std::int64_t, 2> strides) {
  Geometry geometry = {.kernel = window, .strides = strides};
  for (std::size_t axis : {0, 1})
    if (strides[axis] == 0) geometry.strides[axis] = window[axis];
  geometry = geometry.same(x[1], x[2]);
  const ops::PoolOptions options = {.window = window, .strides = strides, .padding = ops::Padding::same};
  return {.inputs = {{x, {}, no_ties}},
          .reference = [=](const Tensors& in) -> Tensors {
            return {is_max ? max_pool(in[0], geometry)[0] : average_pool(in[0], geometry, false)};
          },
          .build = [=](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
            return {is_max ? ops::max_pool(in[0], options) : ops::average_pool(in[0], options)};
          }};
}

}  // namespace

std::vector<Entry> pool_entries() {
  Entry max = {.op = "max_pool",
               .cases = {built(true, {2, 5, 6, 3}, {2, 3}, {0, 0}), built(true, {1, 7, 7, 2}, {3, 3}, {2, 1})}};
  Entry average = {.op = "average_pool",
                   .cases = {built(false, {2, 5, 6, 3}, {2, 3}, {0, 0}), built(false, {1, 7, 7, 2}, {3, 3}, {2, 1})}};
  Entry max_gradient = {.op = "max_pool_gradient"}, average_gradient = {.op = "average_pool_gradient"};
  for (const Pooling& p : poolings()) {
    max.cases.push_back(largest(p));
    max.cases.push_back(tied(p));
    max_gradient.cases.push_back(largest_gradient(p));
    for (bool count_padding : {false, true}) {
      average.cases.push_back(mean(p, count_padding));
      average_gradient.cases.push_back(mean_gradient(p, count_padding));
    }
  }
  return {max, max_gradient, average, average_gradient};
}

}  // namespace pando::test
