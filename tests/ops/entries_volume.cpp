// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling of volumes, and pooling with dilations: what the builders make of ops for images.
#include <cmath>

#include "tests/ops/op_table.h"

namespace pando::test {

namespace {

struct VolumeConvolution {
  Shape x, filter;
  VolumeGeometry geometry = {};
};

// Plain, of one element, strided, padded unevenly, dilated, grouped, by channel, and without samples or channels.
std::vector<VolumeConvolution> volume_convolutions() {
  return {
      {{2, 4, 5, 6, 3}, {2, 3, 2, 3, 4}},
      {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}},
      {{2, 7, 5, 6, 2}, {3, 2, 3, 2, 3}, {.strides = {2, 1, 3}}},
      {{1, 3, 4, 3, 2}, {3, 3, 2, 2, 5}, {.padding = {2, 1, 1, 0, 0, 1}}},
      {{1, 8, 5, 6, 2}, {3, 2, 2, 2, 2}, {.strides = {2, 1, 1}, .dilations = {2, 3, 1}, .padding = {1, 1, 0, 0, 1, 1}}},
      {{2, 5, 4, 4, 6}, {2, 3, 3, 2, 9}, {.strides = {3, 2, 1}, .padding = {1, 0, 1, 1, 1, 1}, .groups = 3}},
      {{1, 4, 3, 4, 3}, {3, 3, 3, 1, 6}, {.padding = {1, 1, 1, 1, 1, 1}, .groups = 3}},
      {{0, 4, 3, 3, 2}, {2, 2, 2, 2, 3}},
      {{1, 4, 3, 3, 2}, {2, 2, 2, 2, 0}},
      {{1, 6, 9, 10, 8}, {3, 3, 3, 8, 16}, {.padding = {1, 1, 1, 1, 1, 1}}}};
}

VolumeGeometry geometry_of(const VolumeConvolution& c) {
  VolumeGeometry geometry = c.geometry;
  geometry.kernel = {c.filter[0], c.filter[1], c.filter[2]};
  return geometry;
}

ops::Conv3dOptions options_of(const VolumeConvolution& c) {
  return {.strides = c.geometry.strides,
          .dilations = c.geometry.dilations,
          .padding = ops::Padding::explicit_sizes,
          .padding_sizes = c.geometry.padding,
          .groups = c.geometry.groups};
}

double slack_of(const VolumeConvolution& c) {
  return std::sqrt(static_cast<double>(c.filter.part(0, 4).elements()) + 1);
}

Case convolved(const VolumeConvolution& c) {
  return {.inputs = {{c.x}, {c.filter}},
          .reference = [c](const Tensors& in) -> Tensors { return {conv3d(in[0], in[1], geometry_of(c))}; },
          .build = [c](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
            return {ops::conv3d(in[0], in[1], options_of(c))};
          },
          .slack = slack_of(c)};
}

Case transposed(const VolumeConvolution& c) {
  const VolumeGeometry g = geometry_of(c);
  const Shape y = {c.x[0], g.output_size(0, c.x[1]), g.output_size(1, c.x[2]), g.output_size(2, c.x[3]), c.filter[4]};
  return {
      .inputs = {{y}, {c.filter}},
      .reference = [c](const Tensors& in) -> Tensors { return {conv3d_transpose(in[0], in[1], geometry_of(c), c.x)}; },
      .build = [c](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
        return {ops::conv3d_transpose(in[0], in[1], options_of(c), {c.x[1], c.x[2], c.x[3]})};
      },
      .slack = slack_of(c)};
}

// The padding and the size of the result are worked out.
Case same_convolution() {
  const VolumeGeometry geometry = {.kernel = {2, 3, 3}, .strides = {2, 1, 2}, .padding = {0, 1, 1, 1, 1, 1}};
  return {.inputs = {{{1, 5, 4, 5, 2}}, {{2, 3, 3, 2, 3}}},
          .reference = [=](const Tensors& in) -> Tensors { return {conv3d(in[0], in[1], geometry)}; },
          .build = [](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
            return {ops::conv3d(in[0], in[1], {.strides = {2, 1, 2}, .padding = ops::Padding::same})};
          }};
}
Case transposed_to(ops::Padding padding, const Shape& result, const VolumeGeometry& geometry) {
  return {.inputs = {{{1, 3, 2, 3, 2}}, {{2, 3, 3, 4, 2}}},
          .reference = [=](const Tensors& in) -> Tensors { return {conv3d_transpose(in[0], in[1], geometry, result)}; },
          .build = [=](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
            return {ops::conv3d_transpose(in[0], in[1], {.strides = geometry.strides, .padding = padding})};
          }};
}

struct VolumePooling {
  Shape x;
  VolumeGeometry geometry;
};

std::vector<VolumePooling> volume_poolings() {
  return {{{2, 4, 6, 5, 3}, {.kernel = {2, 2, 2}, .strides = {2, 2, 2}}},
          {{1, 1, 1, 1, 1}, {}},
          {{2, 7, 5, 6, 2}, {.kernel = {3, 2, 1}, .strides = {2, 1, 3}}},
          {{1, 5, 5, 6, 2}, {.kernel = {3, 3, 2}, .strides = {2, 2, 1}, .padding = {1, 1, 2, 1, 0, 1}}},
          {{0, 4, 4, 4, 3}, {.kernel = {2, 2, 2}, .strides = {2, 2, 2}}},
          {{1, 4, 4, 3, 17}, {.kernel = {1, 2, 2}, .strides = {1, 2, 1}}}};
}

const VolumePooling dilated = {
    {1, 7, 8, 6, 3},
    {.kernel = {2, 3, 2}, .strides = {1, 2, 3}, .dilations = {3, 2, 3}, .padding = {1, 0, 1, 2, 0, 1}}};

ops::Pool3dOptions options_of(const VolumePooling& p, bool count_padding = false) {
  return {.window = p.geometry.kernel,
          .strides = p.geometry.strides,
          .dilations = p.geometry.dilations,
          .padding = ops::Padding::explicit_sizes,
          .padding_sizes = p.geometry.padding,
          .count_padding = count_padding};
}

Case largest(const VolumePooling& p) {
  return {.inputs = {{p.x, {}, domain(-4, 4).distinct()}},
          .reference = [p](const Tensors& in) -> Tensors { return {max_pool3d(in[0], p.geometry)}; },
          .build = [p](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
            return {ops::max_pool3d(in[0], options_of(p))};
          }};
}

Case largest_with_nan(const VolumePooling& p) {
  Case c = largest(p);
  c.inputs[0].domain = listed({1, 2, std::nan(""), -HUGE_VAL, 2, 0, -1, 3, HUGE_VAL, -3, 0.5});
  c.has_gradient = false;
  return c;
}

Case mean(const VolumePooling& p, bool count_padding) {
  return {.inputs = {{p.x}},
          .reference = [=](const Tensors& in) -> Tensors { return {average_pool3d(in[0], p.geometry, count_padding)}; },
          .build = [=](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
            return {ops::average_pool3d(in[0], options_of(p, count_padding))};
          }};
}

// Images are volumes of depth 1.
Case dilated_images(const Shape& x, const VolumeGeometry& geometry) {
  return {.inputs = {{x, {}, domain(-4, 4).distinct()}},
          .reference = [=](const Tensors& in) -> Tensors {
            Tensor volume = in[0];
            volume.shape = {x[0], 1, x[1], x[2], x[3]};
            Tensor y = max_pool3d(volume, geometry);
            y.shape = {x[0], y.shape[2], y.shape[3], x[3]};
            return {y};
          },
          .build = [=](Graph&, const std::vector<Value>& in) -> std::vector<Value> {
            const auto& padding = geometry.padding;
            return {ops::max_pool(in[0], {.window = {geometry.kernel[1], geometry.kernel[2]},
                                          .strides = {geometry.strides[1], geometry.strides[2]},
                                          .dilations = {geometry.dilations[1], geometry.dilations[2]},
                                          .padding = ops::Padding::explicit_sizes,
                                          .padding_sizes = {padding[2], padding[3], padding[4], padding[5]}})};
          }};
}

}  // namespace

std::vector<Entry> composed_volumes() {
  Entry forward = {.op = "conv2d", .cases = {same_convolution()}};
  Entry backward = {
      .op = "conv2d_input_gradient",
      .cases = {transposed_to(ops::Padding::same, {1, 6, 6, 3, 4},
                              {.kernel = {2, 3, 3}, .strides = {2, 3, 1}, .padding = {0, 0, 0, 0, 1, 1}}),
                transposed_to(ops::Padding::valid, {1, 6, 6, 5, 4}, {.kernel = {2, 3, 3}, .strides = {2, 3, 1}})}};
  for (const VolumeConvolution& c : volume_convolutions()) {
    forward.cases.push_back(convolved(c));
    backward.cases.push_back(transposed(c));
  }
  Entry max = {.op = "max_pool"}, average = {.op = "average_pool"};
  for (const VolumePooling& p : volume_poolings()) {
    max.cases.push_back(largest(p));
    max.cases.push_back(largest_with_nan(p));
    for (bool count_padding : {false, true}) average.cases.push_back(mean(p, count_padding));
  }
  const Entry apart = {.op = "maximum",
                       .cases = {largest(dilated), largest_with_nan(dilated),
                                 dilated_images({2, 7, 6, 3}, {.kernel = {1, 3, 2}, .dilations = {1, 2, 1}}),
                                 dilated_images({1, 9, 9, 2}, {.kernel = {1, 2, 3},
                                                               .strides = {1, 2, 2},
                                                               .dilations = {1, 3, 2},
                                                               .padding = {0, 0, 1, 1, 1, 2}})}};
  return {forward, backward, max, average, apart};
}

}  // namespace pando::test
