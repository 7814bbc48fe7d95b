// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/ops/fused_programs.h"
#include "tests/ops/op_table.h"

namespace pando::test {

namespace {

struct Convolution {
  Shape x, filter;
  Geometry geometry = {};
};

Geometry geometry_of(const Convolution& c) {
  Geometry geometry = c.geometry;
  geometry.kernel = {c.filter[0], c.filter[1]};
  return geometry;
}

Attributes attributes_of(const Convolution& c) {
  return {{"strides", list(c.geometry.strides)},
          {"dilations", list(c.geometry.dilations)},
          {"padding", list(c.geometry.padding)},
          {"groups", c.geometry.groups}};
}

Shape output_of(const Convolution& c) {
  const Geometry g = geometry_of(c);
  return {c.x[0], g.output_size(0, c.x[1]), g.output_size(1, c.x[2]), c.filter[3]};
}

double slack_of(double terms) { return std::sqrt(terms + 1); }
double filter_slack(const Convolution& c) { return slack_of(static_cast<double>(c.filter.part(0, 3).elements())); }

// Plain, of one element, strided, padded unevenly, dilated, grouped, depthwise, without samples, wide enough for every
// vector path (also strided in groups, and with images of several runs of pixels), with more taps than pixels, and with
// few filters or channels on images so wide that they become planes, also with sums that are split between taps.
std::vector<Convolution> convolutions() {
  return {{{2, 5, 6, 3}, {3, 2, 3, 4}},
          {{1, 1, 1, 1}, {1, 1, 1, 1}},
          {{2, 7, 5, 2}, {3, 3, 2, 3}, {.strides = {2, 3}}},
          {{1, 4, 4, 2}, {3, 3, 2, 5}, {.padding = {1, 0, 2, 1}}},
          {{2, 7, 8, 2}, {2, 3, 2, 3}, {.dilations = {3, 2}}},
          {{2, 6, 7, 4}, {3, 3, 2, 6}, {.strides = {2, 2}, .padding = {1, 1, 1, 1}, .groups = 2}},
          {{2, 5, 5, 6}, {3, 3, 1, 12}, {.padding = {1, 1, 1, 1}, .groups = 6}},
          {{0, 5, 5, 3}, {3, 3, 3, 2}},
          {{2, 5, 5, 0}, {3, 3, 0, 2}},
          {{2, 5, 5, 3}, {3, 3, 3, 0}},
          {{3, 9, 10, 17}, {3, 3, 17, 33}, {.padding = {1, 1, 1, 1}}},
          {{2, 8, 9, 16}, {3, 3, 8, 64}, {.strides = {2, 1}, .padding = {1, 1, 0, 2}, .groups = 2}},
          {{1, 24, 25, 8}, {3, 3, 8, 32}, {.dilations = {2, 1}, .padding = {2, 2, 1, 1}}},
          {{4, 14, 13, 1}, {5, 5, 1, 32}},
          {{5, 6, 6, 16}, {1, 1, 16, 40}},
          {{2, 9, 9, 3}, {2, 2, 3, 16}, {.strides = {3, 3}, .padding = {0, 1, 0, 1}}},
          {{1, 3, 3, 2}, {5, 5, 2, 2}, {.padding = {3, 3, 2, 4}}},
          {{3, 9, 21, 8}, {3, 3, 8, 8}, {.padding = {1, 1, 1, 1}}},
          {{2, 6, 37, 6}, {3, 3, 6, 3}},
          {{2, 7, 40, 1}, {5, 5, 1, 6}, {.padding = {2, 2, 2, 2}}},
          {{1, 8, 35, 11}, {2, 3, 11, 5}, {.dilations = {2, 3}, .padding = {1, 0, 2, 3}}},
          {{1, 5, 33, 130}, {3, 3, 130, 1}, {.padding = {1, 1, 1, 1}}},
          {{2, 4, 48, 2}, {3, 1, 2, 7}}};
}

// Small images through filters so large that several are taken at once, and some are left over: padded, strided, and
// one image alone, of which nothing is copied.
std::vector<Convolution> convolutions_with_large_filters() {
  return {{{5, 4, 4, 96}, {3, 3, 96, 320}, {.padding = {1, 1, 1, 1}}},
          {{6, 5, 7, 96}, {3, 3, 96, 320}, {.strides = {2, 2}, .padding = {0, 1, 1, 1}}},
          {{1, 4, 4, 512}, {1, 1, 512, 530}}};
}

Case forward(const Convolution& c) {
  return {.inputs = {{c.x}, {c.filter}},
          .reference = [c](const Tensors& in) -> Tensors { return {conv2d(in[0], in[1], geometry_of(c))}; },
          .attributes = attributes_of(c),
          .slack = filter_slack(c)};
}

Case input_gradient(const Convolution& c) {
  Attributes attributes = attributes_of(c);
  attributes.set("input_size", Integers{c.x[1], c.x[2]});
  return {.inputs = {{output_of(c)}, {c.filter}},
          .reference = [c](const Tensors& in) -> Tensors {
            return {conv2d_input_gradient(in[0], in[1], geometry_of(c), c.x)};
          },
          .attributes = attributes,
          .slack = slack_of(static_cast<double>(c.filter[0] * c.filter[1] * c.filter[3]))};
}

Case weight_gradient(const Convolution& c) {
  Attributes attributes = attributes_of(c);
  attributes.set("kernel_size", Integers{c.filter[0], c.filter[1]});
  return {.inputs = {{c.x}, {output_of(c)}},
          .reference = [c](const Tensors& in) -> Tensors {
            return {conv2d_weight_gradient(in[0], in[1], geometry_of(c), c.filter)};
          },
          .attributes = attributes,
          .slack = slack_of(static_cast<double>(output_of(c).part(0, 3).elements()))};
}

// For cases that are too large to take differences of.
Case without_gradient(Case base) {
  base.has_gradient = false;
  return base;
}

// The inputs of the case are the op's own, the others the epilogue's.
Case with_epilogue(Case base, const Epilogue& epilogue, const OpDefinition& op) {
  const auto own_inputs = static_cast<std::ptrdiff_t>(base.inputs.size());
  base.inputs.insert(base.inputs.end(), epilogue.inputs.begin(), epilogue.inputs.end());
  base.build = [&op, attributes = base.attributes, make = epilogue.program](Graph& graph,
                                                                            const std::vector<Value>& in) {
    Attributes fused = attributes;
    fused.set("epilogue", make(in[0].dtype()));
    return graph.add(op, in, fused);
  };
  base.reference = [raw = base.reference, finish = epilogue.reference, own_inputs](const Tensors& in) {
    const Tensors own = raw({in.begin(), in.begin() + own_inputs});
    Tensors results = finish(own.front(), {in.begin() + own_inputs, in.end()});
    results.insert(results.end(), own.begin() + 1, own.end());
    return results;
  };
  base.has_gradient = false;
  return base;
}

Case pooled(const Convolution& c, const Geometry& pool) {
  Attributes attributes = attributes_of(c);
  attributes.set("pool_window", list(pool.kernel));
  attributes.set("pool_strides", list(pool.strides));
  attributes.set("pool_padding", list(pool.padding));
  return {.inputs = {{c.x}, {c.filter}},
          .reference = [c, pool](const Tensors& in) { return max_pool(conv2d(in[0], in[1], geometry_of(c)), pool); },
          .attributes = attributes,
          .slack = filter_slack(c)};
}

struct PooledConvolution {
  Convolution convolution;
  Geometry pool = {.kernel = {2, 2}, .strides = {2, 2}};
};

// Plain, of one element, without samples, channels or filters, padded, with gaps between the windows, with sums that
// fill no vector, many of them, and more than fit into registers, with images of several runs of pixels, with more
// filters than are summed at once, and with windows of more places than a byte counts.
std::vector<PooledConvolution> pooled_convolutions() {
  return {{{{2, 7, 8, 3}, {3, 2, 3, 4}}},
          {{{1, 1, 1, 1}, {1, 1, 1, 1}}, {.kernel = {1, 1}, .strides = {1, 1}}},
          {{{0, 6, 6, 3}, {3, 3, 3, 2}}},
          {{{2, 5, 5, 0}, {3, 3, 0, 2}}},
          {{{2, 5, 5, 3}, {3, 3, 3, 0}}},
          {{{1, 5, 6, 2}, {3, 3, 2, 5}, {.padding = {1, 0, 2, 1}}},
           {.kernel = {2, 3}, .strides = {3, 4}, .padding = {1, 0, 1, 1}}},
          {{{3, 14, 13, 1}, {3, 3, 1, 32}}},
          {{{3, 9, 10, 17}, {3, 3, 17, 33}, {.padding = {1, 1, 1, 1}}}},
          {{{2, 14, 14, 6}, {5, 5, 6, 16}}},
          {{{1, 6, 7, 96}, {3, 3, 96, 5}}, {.kernel = {3, 2}, .strides = {3, 2}}},
          {{{1, 5, 6, 4}, {3, 3, 4, 260}, {.padding = {1, 1, 1, 1}}}},
          {{{1, 30, 41, 2}, {3, 3, 2, 3}}},
          {{{2, 9, 9, 2}, {7, 7, 2, 3}, {.padding = {3, 3, 3, 3}}}},
          {{{1, 34, 18, 2}, {1, 1, 2, 3}}, {.kernel = {17, 16}, .strides = {17, 16}}}};
}

Attributes attributes_of(const PooledConvolution& p) {
  Attributes attributes = attributes_of(p.convolution);
  attributes.set("pool_window", list(p.pool.kernel));
  attributes.set("pool_strides", list(p.pool.strides));
  attributes.set("pool_padding", list(p.pool.padding));
  return attributes;
}

Shape pooled_shape(const PooledConvolution& p) {
  const Shape convolved = output_of(p.convolution);
  return {convolved[0], p.pool.output_size(0, convolved[1]), p.pool.output_size(1, convolved[2]), convolved[3]};
}

InputSpec positions_of(const PooledConvolution& p) {
  return {pooled_shape(p), p.pool.kernel[0] * p.pool.kernel[1] <= 255 ? DType::uint8 : DType::int32};
}

// Every third gradient is zero, as after relu; the positions are those of some image.
void prepare_pooled_gradient(const PooledConvolution& p, Tensor& dy, Tensor& positions) {
  for (std::int64_t i = 0; i < dy.elements(); i += 3) dy[i] = 0;
  Generator generator("positions", 1);
  positions = max_pool(draw(domain(-4, 4).distinct(), DType::float64, output_of(p.convolution), generator), p.pool)[1];
}

Case pooled_input_gradient(const PooledConvolution& p) {
  const Convolution& c = p.convolution;
  Case result = input_gradient(c);
  const Integers input_size = result.attributes.integers("input_size");
  result.inputs = {{pooled_shape(p)}, {c.filter}, positions_of(p)};
  result.prepare = [p](Tensors& in) { prepare_pooled_gradient(p, in[0], in[2]); };
  result.reference = [p, dense = result.reference](const Tensors& in) {
    return dense({max_pool_gradient(in[0], in[2], p.pool, output_of(p.convolution)), in[1]});
  };
  result.attributes = attributes_of(p);
  result.attributes.set("input_size", input_size);
  return result;
}

Case pooled_weight_gradient(const PooledConvolution& p) {
  const Convolution& c = p.convolution;
  Case result = weight_gradient(c);
  result.inputs = {{c.x}, {pooled_shape(p)}, positions_of(p)};
  result.prepare = [p](Tensors& in) { prepare_pooled_gradient(p, in[1], in[2]); };
  result.reference = [p, dense = result.reference](const Tensors& in) {
    return dense({in[0], max_pool_gradient(in[1], in[2], p.pool, output_of(p.convolution))});
  };
  result.attributes = attributes_of(p);
  result.attributes.set("kernel_size", Integers{c.filter[0], c.filter[1]});
  return result;
}

// The builders, with the padding that they work out.
Case same_padding(const Shape& x, const Shape& filter, std::array<std::int64_t, 2> strides,
                  std::array<std::int64_t, 2> dilations) {
  const Geometry geometry =
      Geometry{.kernel = {filter[0], filter[1]}, .strides = strides, .dilations = dilations}.same(x[1], x[2]);
  return {
      .inputs = {{x}, {filter}},
      .reference = [=](const Tensors& in) -> Tensors { return {conv2d(in[0], in[1], geometry)}; },
      .build = [=](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
        return {ops::conv2d(in[0], in[1], {.strides = strides, .dilations = dilations, .padding = ops::Padding::same})};
      }};
}

Case depthwise(const Shape& x, const Shape& filter) {
  return {.inputs = {{x}, {filter}},
          .reference = [=](const Tensors& in) -> Tensors {
            // Filter c * multiplier + m reads channel c alone: the same memory as one channel a group.
            Tensor grouped = in[1];
            grouped.shape = {filter[0], filter[1], 1, filter[2] * filter[3]};
            return {conv2d(in[0], grouped, {.kernel = {filter[0], filter[1]}, .groups = filter[2]})};
          },
          .build = [](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
            return {ops::depthwise_conv2d(in[0], in[1])};
          }};
}

Case transposed(const Shape& x, const Shape& filter, std::array<std::int64_t, 2> strides, bool same,
                const Shape& result) {
  const Geometry plain = {.kernel = {filter[0], filter[1]}, .strides = strides};
  const Geometry geometry = same ? plain.same(result[1], result[2]) : plain;
  return {.inputs = {{x}, {filter}},
          .reference = [=](const Tensors& in) -> Tensors {
            return {conv2d_input_gradient(in[0], in[1], geometry, result)};
          },
          .build = [=](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
            return {ops::conv2d_transpose(
                in[0], in[1], {.strides = strides, .padding = same ? ops::Padding::same : ops::Padding::valid})};
          }};
}

Entry conv2d_entry() {
  Entry entry = {.op = "conv2d",
                 .cases = {same_padding({2, 5, 6, 2}, {3, 4, 2, 3}, {1, 1}, {1, 1}),
                           same_padding({1, 7, 8, 2}, {3, 3, 2, 3}, {2, 3}, {1, 1}),
                           same_padding({1, 6, 6, 1}, {3, 2, 1, 2}, {1, 1}, {2, 3}),
                           depthwise({2, 5, 5, 3}, {3, 3, 3, 2}), depthwise({1, 4, 4, 1}, {2, 2, 1, 1})}};
  for (const Convolution& c : convolutions()) entry.cases.push_back(forward(c));
  for (const Convolution& c :
       {convolutions()[0], convolutions()[5], convolutions()[7], convolutions()[10], convolutions()[11]})
    for (const Epilogue& epilogue : epilogues(c.filter[3]))
      entry.cases.push_back(with_epilogue(forward(c), epilogue, definitions::conv2d));
  for (const Convolution& c : convolutions_with_large_filters()) entry.cases.push_back(without_gradient(forward(c)));
  const Convolution large = convolutions_with_large_filters()[0];
  for (const Epilogue& epilogue : epilogues(large.filter[3]))
    entry.cases.push_back(with_epilogue(forward(large), epilogue, definitions::conv2d));
  return entry;
}

Entry conv2d_max_pool_entry() {
  const std::vector<std::pair<Convolution, Geometry>> fused = {
      {{{2, 6, 7, 3}, {3, 2, 3, 4}}, {.kernel = {2, 2}, .strides = {2, 2}}},
      {{{1, 1, 1, 1}, {1, 1, 1, 1}}, {.kernel = {1, 1}, .strides = {1, 1}}},
      {{{0, 6, 6, 3}, {3, 3, 3, 2}}, {.kernel = {2, 2}, .strides = {2, 2}}},
      {{{2, 8, 9, 4}, {3, 3, 2, 6}, {.padding = {1, 1, 1, 1}, .groups = 2}},
       {.kernel = {3, 2}, .strides = {2, 1}, .padding = {1, 1, 0, 1}}},
      {{{3, 14, 14, 1}, {3, 3, 1, 32}}, {.kernel = {2, 2}, .strides = {2, 2}}},
      {{{2, 9, 9, 17}, {3, 3, 17, 33}}, {.kernel = {3, 3}, .strides = {2, 2}, .padding = {1, 1, 1, 1}}},
      {{{2, 9, 9, 2}, {2, 2, 2, 3}, {.strides = {2, 1}, .dilations = {1, 2}}}, {.kernel = {2, 3}, .strides = {1, 2}}}};
  Entry entry = {.op = "conv2d_max_pool"};
  for (const auto& [c, pool] : fused) {
    entry.cases.push_back(pooled(c, pool));
    for (const Epilogue& epilogue : epilogues(c.filter[3]))
      entry.cases.push_back(with_epilogue(pooled(c, pool), epilogue, definitions::conv2d_max_pool));
  }
  const Case large = pooled(convolutions_with_large_filters()[0], {.kernel = {2, 2}, .strides = {1, 2}});
  entry.cases.push_back(without_gradient(large));
  for (const Epilogue& epilogue : epilogues(convolutions_with_large_filters()[0].filter[3]))
    entry.cases.push_back(with_epilogue(large, epilogue, definitions::conv2d_max_pool));
  return entry;
}

}  // namespace

std::vector<Entry> conv_entries() {
  Entry input = {.op = "conv2d_input_gradient",
                 .cases = {transposed({2, 3, 4, 3}, {3, 3, 2, 3}, {1, 1}, false, {2, 5, 6, 2}),
                           transposed({2, 3, 4, 3}, {3, 2, 2, 3}, {2, 3}, false, {2, 7, 11, 2}),
                           transposed({1, 3, 4, 2}, {3, 3, 4, 2}, {2, 2}, true, {1, 6, 8, 4})}};
  Entry weight = {.op = "conv2d_weight_gradient"};
  for (const Convolution& c : convolutions()) {
    input.cases.push_back(input_gradient(c));
    weight.cases.push_back(weight_gradient(c));
  }
  for (const Convolution& c :
       {convolutions()[0], convolutions()[5], convolutions()[7], convolutions()[10], convolutions()[11]})
    for (const Epilogue& epilogue : epilogues(c.x[3]))
      input.cases.push_back(with_epilogue(input_gradient(c), epilogue, definitions::conv2d_input_gradient));
  for (const Convolution& c : convolutions_with_large_filters())
    input.cases.push_back(without_gradient(input_gradient(c)));
  Entry pooled_input = {.op = "conv2d_max_pool_input_gradient"},
        pooled_weight = {.op = "conv2d_max_pool_weight_gradient"};
  for (const PooledConvolution& p : pooled_convolutions()) {
    pooled_input.cases.push_back(pooled_input_gradient(p));
    pooled_weight.cases.push_back(pooled_weight_gradient(p));
  }
  for (const PooledConvolution& p : {pooled_convolutions()[0], pooled_convolutions()[5], pooled_convolutions()[7]})
    for (const Epilogue& epilogue : epilogues(p.convolution.x[3]))
      pooled_input.cases.push_back(
          with_epilogue(pooled_input_gradient(p), epilogue, definitions::conv2d_max_pool_input_gradient));
  for (const std::array<std::int64_t, 2> strides : {std::array<std::int64_t, 2>{2, 1}, {3, 2}})
    pooled_weight.cases.push_back(
        pooled_weight_gradient({{{2, 11, 10, 3}, {3, 3, 3, 4}, {.strides = strides, .padding = {1, 0, 0, 1}}}}));
  return {conv2d_entry(), input, weight, conv2d_max_pool_entry(), pooled_input, pooled_weight};
}

}  // namespace pando::test
