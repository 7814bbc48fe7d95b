// SPDX-License-Identifier: Apache-2.0
// Wrong uses of ops are refused with a text that names the op, the shapes or values, and the remedy.
#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/op_list.h"
#include "tests/message.h"

namespace pando::test {
namespace {

// Values of any type in one graph.
class Refusals : public testing::Test {
 protected:
  Value of(DType dtype, const Shape& shape) { return ops::input(graph, fmt::format("x{}", count_++), dtype, shape); }
  Value f32(const Shape& shape) { return of(DType::float32, shape); }
  Value i32(const Shape& shape) { return of(DType::int32, shape); }

  Graph graph;

 private:
  int count_ = 0;
};

constexpr std::int64_t huge = std::int64_t{1} << 40;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

#define PANDO_EXPECT_REFUSAL(call, text) EXPECT_EQ(message([&] { (void)(call); }), text)

TEST_F(Refusals, Names) {
  PANDO_EXPECT_REFUSAL(parse_dtype("flaot32"), "unknown dtype 'flaot32'; did you mean 'float32'?");
  PANDO_EXPECT_REFUSAL(parse_dtype("complex"),
                       "unknown dtype 'complex'; known are: float32, float64, bfloat16, int32, int64, uint8, bool");
  PANDO_EXPECT_REFUSAL(find_op("mathmul"), "unknown op 'mathmul'; did you mean 'matmul'?");
  PANDO_EXPECT_REFUSAL(graph.add(definitions::elu, {f32({2})}, {{"alhpa", 1.0}}),
                       "elu: unknown attribute 'alhpa'; did you mean 'alpha'?");
  PANDO_EXPECT_REFUSAL(graph.add(definitions::elu, {f32({2})}, {{"alpha", std::int64_t{1}}}),
                       "elu: attribute 'alpha' is an integer but must be a number");
  const Graph::Scope outer(graph, "model");
  const Graph::Scope inner(graph, "dense1");
  PANDO_EXPECT_REFUSAL(ops::exp(i32({2})),
                       "exp 'model/dense1': input 0 is int32[2] but must be float32 or float64; cast it");
}

TEST_F(Refusals, Inputs) {
  Graph other;
  const Value foreign = ops::input(other, "x", DType::float32, {2});
  PANDO_EXPECT_REFUSAL(graph.add(definitions::add, {f32({2})}), "add: takes 2 inputs, not 1");
  PANDO_EXPECT_REFUSAL(graph.add(definitions::relu, {f32({2}), f32({2})}), "relu: takes 1 input, not 2");
  PANDO_EXPECT_REFUSAL(graph.add(definitions::batch_norm, {f32({2})}), "batch_norm: takes 3 to 4 inputs, not 1");
  PANDO_EXPECT_REFUSAL(graph.add(definitions::concat, {}), "concat: takes at least 1 input, not 0");
  PANDO_EXPECT_REFUSAL(graph.add(definitions::add, {f32({2}), Value()}),
                       "add: input 1 is an empty Value; build it with an op first");
  PANDO_EXPECT_REFUSAL(ops::add(f32({2}), foreign),
                       "add: an input belongs to another graph; build all values in one graph");
  PANDO_EXPECT_REFUSAL(ops::relu(Value()), "an empty Value was used; build it with an op first");
}

TEST_F(Refusals, Sources) {
  PANDO_EXPECT_REFUSAL(ops::input(graph, "", DType::float32, {2}),
                       "input: needs a name; give one that no other input or variable has");
  PANDO_EXPECT_REFUSAL(f32({2, -1}), "input: 'shape' is [2, -1]; sizes must not be negative");
  PANDO_EXPECT_REFUSAL(ops::variable(graph, "v", DType::float32, {-2}),
                       "variable: 'shape' is [-2]; sizes must not be negative");
  PANDO_EXPECT_REFUSAL(
      f32({huge, huge}),
      "input: the shape [1099511627776, 1099511627776] has more elements than fit in 64 bits; use smaller sizes");
  PANDO_EXPECT_REFUSAL(
      f32({huge, 1 << 22}),
      "input: the shape [1099511627776, 4194304] has more bytes than fit in 64 bits; use smaller sizes");
  PANDO_EXPECT_REFUSAL(f32({1, 1, 1, 1, 1, 1, 1, 1, 1}), "a shape has at most 8 axes; reshape to fewer");
  PANDO_EXPECT_REFUSAL(graph.add(definitions::input, {}, {{"name", std::string("x")}, {"shape", Integers(9, 1)}}),
                       "input: 'shape' has 9 sizes but a shape has at most 8; reshape to fewer");
}

TEST_F(Refusals, Elementwise) {
  PANDO_EXPECT_REFUSAL(ops::add(f32({2, 3}), f32({4})),
                       "add: the shapes [2, 3] and [4] do not broadcast: sizes 3 and 4 differ and neither is 1; "
                       "reshape or broadcast one of them");
  PANDO_EXPECT_REFUSAL(ops::add(f32({2}), i32({2})), "add: inputs are float32[2] and int32[2]; cast one of them");
  PANDO_EXPECT_REFUSAL(ops::add(of(DType::uint8, {2}), f32({2})),
                       "add: input 0 is uint8[2] but must be float32 or float64 or int32 or int64; cast it");
  PANDO_EXPECT_REFUSAL(
      ops::less(of(DType::bfloat16, {2}), f32({2})),
      "less: input 0 is bfloat16[2] but must be float32 or float64 or int32 or int64 or bool; cast it");
  PANDO_EXPECT_REFUSAL(ops::logical_and(f32({2}), f32({2})),
                       "logical_and: input 0 is float32[2] but must be bool; cast it");
  PANDO_EXPECT_REFUSAL(ops::select(f32({2}), f32({2}), f32({2})),
                       "select: input 0 is float32[2] but must be bool; cast it");
  PANDO_EXPECT_REFUSAL(ops::select(of(DType::boolean, {2}), f32({2}), i32({2})),
                       "select: inputs are float32[2] and int32[2]; cast one of them");
  PANDO_EXPECT_REFUSAL(ops::clip(f32({2}), 2, 1), "clip: 'min' is 2 and 'max' 1; min must not be above max");
  PANDO_EXPECT_REFUSAL(ops::huber_error(f32({2}), f32({2}), -1),
                       "huber_error: 'delta' is -1 but must be a finite number of at least 0");
  PANDO_EXPECT_REFUSAL(ops::binary_cross_entropy(f32({2}), f32({2}), 0.5),
                       "binary_cross_entropy: 'epsilon' is 0.5 but must be at least 0 and below 0.5");
  PANDO_EXPECT_REFUSAL(ops::clip(f32({2}), not_a_number, 1),
                       "clip: 'min' is nan and 'max' 1; min must not be above max");
}

TEST_F(Refusals, Matmul) {
  PANDO_EXPECT_REFUSAL(
      ops::matmul(f32({2, 3}), f32({4, 5})),
      "matmul: a is [2, 3] and b is [4, 5]: a has 3 columns but b 4 rows; reshape or transpose one of them");
  PANDO_EXPECT_REFUSAL(
      ops::matmul(f32({2, 3}), f32({3, 5}), {.transpose_b = true}),
      "matmul: a is [2, 3] and b is [3, 5] transposed: a has 3 columns but b 5 rows; reshape or transpose one of them");
  PANDO_EXPECT_REFUSAL(
      ops::matmul(f32({3}), f32({3, 5})),
      "matmul: input 0 has the shape [3] but must have at least 2 axes, the last two a matrix; reshape it");
  PANDO_EXPECT_REFUSAL(ops::matmul(f32({2, 2, 3}), f32({4, 3, 5})),
                       "matmul: the batch axes of [2, 2, 3] and [4, 3, 5] do not broadcast; reshape one of them");
  PANDO_EXPECT_REFUSAL(ops::matmul(f32({2, 3}), of(DType::float64, {3, 5})),
                       "matmul: inputs 0 and 1 are float32[2, 3] and float64[3, 5]; cast one of them");
  PANDO_EXPECT_REFUSAL(
      ops::matmul(f32({huge, 1}), f32({1, huge})),
      "matmul: the shape [1099511627776, 1099511627776] has more elements than fit in 64 bits; use smaller sizes");
}

TEST_F(Refusals, Convolution) {
  const Value x = f32({2, 5, 5, 3});
  PANDO_EXPECT_REFUSAL(
      ops::conv2d(f32({5, 5, 3}), f32({3, 3, 3, 4})),
      "conv2d: input 0 has the shape [5, 5, 3] but must have 4 axes, [batch, height, width, channels]; reshape it");
  PANDO_EXPECT_REFUSAL(ops::conv2d(x, f32({3, 3, 4, 8})),
                       "conv2d: the input [2, 5, 5, 3] has 3 channels but the filter [3, 3, 4, 8] reads 4 in 1 "
                       "group(s); make filter axis 2 the channels divided by the groups");
  PANDO_EXPECT_REFUSAL(ops::conv2d(x, f32({6, 3, 3, 4})),
                       "conv2d: a window of 6x3 with dilations 1x1 does not fit the input [2, 5, 5, 3] with padding "
                       "[0, 0, 0, 0]; use a smaller window, a larger input or more padding");
  PANDO_EXPECT_REFUSAL(ops::conv2d(x, f32({3, 3, 3, 4}), {.strides = {0, 1}}),
                       "conv2d: 'strides' is [0, 1] but its values must be in [1, 2147483647]");
  PANDO_EXPECT_REFUSAL(ops::conv2d(x, f32({3, 3, 1, 4}), {.groups = 3}),
                       "conv2d: the 4 filters of [3, 3, 1, 4] do not divide into 3 groups; use a multiple");
  PANDO_EXPECT_REFUSAL(
      ops::conv2d(x, f32({3, 3, 3, 4}), {.padding = ops::Padding::explicit_sizes, .padding_sizes = {-1, 0, 0, 0}}),
      "conv2d: 'padding' is [-1, 0, 0, 0] but its values must be in [0, 2147483647]");
  PANDO_EXPECT_REFUSAL(ops::conv2d(x, f32({0, 3, 3, 4})),
                       "conv2d: the filter [0, 3, 3, 4] has no rows or no columns; give it at least 1 of each");
  PANDO_EXPECT_REFUSAL(
      ops::depthwise_conv2d(x, f32({3, 3, 4, 1})),
      "depthwise_conv2d: the filter [3, 3, 4, 1] has 4 channels but the input [2, 5, 5, 3] has 3; make them equal");
  PANDO_EXPECT_REFUSAL(ops::conv2d_transpose(x, f32({3, 3, 2, 3}), {}, {9, 7}),
                       "conv2d_input_gradient: the gradient [2, 5, 5, 3] is not of the shape [2, 7, 5, 3] that conv2d "
                       "makes of [2, 9, 7, 2] and the filter [3, 3, 2, 3]; correct the sizes");
}

TEST_F(Refusals, GradientsOfAConvolutionBeforeAPooling) {
  const Value x = f32({2, 6, 6, 3}), filter = f32({3, 3, 3, 8}), dy = f32({2, 2, 2, 8});
  const Value positions = of(DType::uint8, {2, 2, 2, 8});
  const auto of_weights = [&](const Value& gradient, const Attributes& attributes) {
    Attributes all = attributes;
    all.set("kernel_size", Integers{3, 3});
    return graph.add(definitions::conv2d_max_pool_weight_gradient, {x, gradient, positions}, all);
  };
  PANDO_EXPECT_REFUSAL(
      of_weights(f32({2, 3, 2, 8}), {}),
      "conv2d_max_pool_weight_gradient: the gradient [2, 3, 2, 8] is not of the shape [2, 2, 2, 8] that "
      "pooling makes of [2, 4, 4, 8]; correct the sizes");
  PANDO_EXPECT_REFUSAL(
      of_weights(dy, {{"pool_strides", Integers{1, 2}}}),
      "conv2d_max_pool_weight_gradient: windows of 2 pooled every 1 overlap; use max_pool_gradient and "
      "the gradient of conv2d");
  PANDO_EXPECT_REFUSAL(of_weights(dy, {{"dilations", Integers{1, 2}}}),
                       "conv2d_max_pool_weight_gradient: groups and dilations must be 1; use max_pool_gradient and the "
                       "gradient of conv2d");
  PANDO_EXPECT_REFUSAL(
      graph.add(definitions::conv2d_max_pool_input_gradient, {dy, filter, positions},
                {{"strides", Integers{2, 2}}, {"input_size", Integers{10, 10}}}),
      "conv2d_max_pool_input_gradient: strides must be 1; use max_pool_gradient and conv2d_input_gradient");
}

TEST_F(Refusals, Volumes) {
  const Value x = f32({1, 4, 5, 5, 3});
  PANDO_EXPECT_REFUSAL(
      ops::conv3d(f32({4, 5, 5, 3}), f32({2, 2, 2, 3, 4})),
      "conv3d: the input has the shape [4, 5, 5, 3] but must have 5 axes, [batch, depth, height, width, "
      "channels]; reshape it");
  PANDO_EXPECT_REFUSAL(ops::conv3d(x, f32({2, 2, 2, 2, 4})),
                       "conv3d: the input [1, 4, 5, 5, 3] has 3 channels but the filter [2, 2, 2, 2, 4] reads 2 in 1 "
                       "group(s); make filter axis 3 the channels divided by the groups");
  PANDO_EXPECT_REFUSAL(ops::conv3d(x, f32({2, 2, 2, 3, 4}), {.groups = 0}),
                       "conv3d: groups is 0 but must be at least 1 and not above 2147483647");
  PANDO_EXPECT_REFUSAL(
      ops::conv3d(x, f32({2, 2, 2, 3, 4}), {.strides = {0, 1, 1}}),
      "conv3d: along the depth 4 the window is 2, the stride 0, the dilation 1 and the padding 0 and 0; "
      "the padding must be at least 0, the others at least 1, and none above 2147483647");
  PANDO_EXPECT_REFUSAL(ops::conv3d(x, f32({3, 2, 2, 3, 4}), {.dilations = {2, 1, 1}}),
                       "conv3d: a window of 3 with dilation 2 does not fit the depth 4 with padding 0 and 0; use a "
                       "smaller window, a larger input or more padding");
  PANDO_EXPECT_REFUSAL(ops::conv3d_transpose(x, f32({2, 2, 2, 4, 3}), {}, {7, 6, 6}),
                       "conv3d_transpose: conv3d with these options does not map the depth 7 to the 4 of the input "
                       "[1, 4, 5, 5, 3]; correct the output size");
  PANDO_EXPECT_REFUSAL(ops::max_pool3d(x, {.window = {5, 2, 2}}),
                       "max_pool3d: a window of 5 with dilation 1 does not fit the depth 4 with padding 0 and 0; use a "
                       "smaller window, a larger input or more padding");
  PANDO_EXPECT_REFUSAL(ops::average_pool3d(x, {.dilations = {2, 1, 1}}),
                       "average_pool: the dilations are 2 and 1 but must be 1 and 1; only max_pool takes others");
}

TEST_F(Refusals, PoolingWithDilations) {
  const Value x = f32({2, 5, 5, 3});
  const auto message_of = [](int axis, int window, int padding) {
    return fmt::format(
        "max_pool: along axis {} of the input [2, 5, 5, 3] the window is {}, the stride {}, the dilation "
        "2 and the padding {} and 0; the padding must be smaller than the window, the window with its "
        "dilation fit the padded input, and all others be at least 1",
        axis, window, window, padding);
  };
  PANDO_EXPECT_REFUSAL(ops::max_pool(x, {.window = {2, 4}, .dilations = {2, 2}}), message_of(2, 4, 0));
  PANDO_EXPECT_REFUSAL(
      ops::max_pool(x, {.dilations = {2, 2}, .padding = ops::Padding::explicit_sizes, .padding_sizes = {2, 0, 0, 0}}),
      message_of(1, 2, 2));
}

TEST_F(Refusals, Pooling) {
  const Value x = f32({2, 5, 5, 3});
  PANDO_EXPECT_REFUSAL(
      ops::max_pool(f32({5, 5})),
      "max_pool: input 0 has the shape [5, 5] but must have 4 axes, [batch, height, width, channels]; reshape it");
  PANDO_EXPECT_REFUSAL(ops::max_pool(x, {.window = {6, 2}}),
                       "max_pool: a window of 6x2 with dilations 1x1 does not fit the input [2, 5, 5, 3] with padding "
                       "[0, 0, 0, 0]; use a smaller window, a larger input or more padding");
  PANDO_EXPECT_REFUSAL(ops::average_pool(x, {.padding = ops::Padding::explicit_sizes, .padding_sizes = {2, 0, 0, 0}}),
                       "average_pool: the padding [2, 0, 0, 0] must be smaller than the window 2x2; use less padding "
                       "or a larger window");
  PANDO_EXPECT_REFUSAL(ops::max_pool(x, {.window = {0, 2}}),
                       "max_pool: 'window' is [0, 2] but its values must be in [1, 2147483647]");
  PANDO_EXPECT_REFUSAL(ops::max_pool(i32({1, 2, 2, 1})),
                       "max_pool: input 0 is int32[1, 2, 2, 1] but must be float32 or float64; cast it");
  PANDO_EXPECT_REFUSAL(ops::global_max_pool(f32({2, 3})),
                       "global_max_pool: the input has the shape [2, 3] but must have 4 axes, [batch, height, width, "
                       "channels]; reshape it");
}

TEST_F(Refusals, Reductions) {
  PANDO_EXPECT_REFUSAL(ops::reduce_sum(f32({2, 3}), {.axes = {2}}),
                       "reduce_sum: axis 2 is out of range for the shape [2, 3]; it must be in [-2, 1]");
  PANDO_EXPECT_REFUSAL(ops::reduce_sum(f32({2, 3}), {.axes = {-1, 1}}),
                       "reduce_sum: the axes [1, 1] must ascend without repeats; name each once");
  PANDO_EXPECT_REFUSAL(ops::reduce_mean(i32({2})),
                       "reduce_mean: input 0 is int32[2] but must be float32 or float64; cast it");
  PANDO_EXPECT_REFUSAL(ops::reduce_max(f32({2, 0})),
                       "reduce_max: axis 1 of the shape [2, 0] is empty and has no largest element; leave the axis out "
                       "or give it elements");
  PANDO_EXPECT_REFUSAL(ops::argmax(f32({2, 3}), 2),
                       "argmax: axis 2 is out of range for the shape [2, 3]; it must be in [-2, 1]");
  PANDO_EXPECT_REFUSAL(
      ops::argmax(f32({})),
      "argmax: input 0 has the shape [] but must have at least 1 axis, one of them to search; reshape it");
  PANDO_EXPECT_REFUSAL(ops::sum_to(f32({2, 3}), {2}),
                       "sum_to: [2] does not broadcast to [2, 3]; give a shape that does");
}

TEST_F(Refusals, Losses) {
  PANDO_EXPECT_REFUSAL(
      ops::softmax(f32({})),
      "softmax: input 0 has the shape [] but must have at least 1 axis, the last one the classes; reshape it");
  PANDO_EXPECT_REFUSAL(ops::softmax_cross_entropy(f32({4, 10}), f32({4})),
                       "softmax_cross_entropy: input 1 has the shape [4] but must have [4, 10], a target for each "
                       "logit; reshape it or give another");
  PANDO_EXPECT_REFUSAL(ops::sparse_softmax_cross_entropy(f32({4, 10}), f32({4})),
                       "sparse_softmax_cross_entropy: input 1 is float32[4] but must be int32; cast it");
  PANDO_EXPECT_REFUSAL(ops::sparse_softmax_cross_entropy(f32({4, 10}), i32({4, 1})),
                       "sparse_softmax_cross_entropy: input 1 has the shape [4, 1] but must have [4], a label for each "
                       "row of logits; reshape it or give another");
  PANDO_EXPECT_REFUSAL(
      graph.add(definitions::sparse_softmax_cross_entropy, {f32({4, 10}), i32({4})}, {{"ignored", Integers{1, 2}}}),
      "sparse_softmax_cross_entropy: 2 labels are to be ignored but at most 1 can be; leave the others "
      "out");
  PANDO_EXPECT_REFUSAL(ops::softmax_cross_entropy(f32({4, 0}), f32({4, 0})),
                       "softmax_cross_entropy: the logits [4, 0] have no classes; the last axis needs at least 1");
  PANDO_EXPECT_REFUSAL(ops::mean_squared_error(f32({4, 1}), f32({4})),
                       "mean_squared_error: the prediction is float32[4, 1] and the target float32[4] but both must "
                       "have one shape of at least one axis; reshape one of them");
}

TEST_F(Refusals, DataMovement) {
  PANDO_EXPECT_REFUSAL(ops::reshape(f32({2, 3}), {4}),
                       "reshape: [2, 3] cannot take the shape [4]; give one of as many elements");
  PANDO_EXPECT_REFUSAL(
      ops::reshape(f32({2, 3}), {4, -1}),
      "reshape: [2, 3] cannot take the shape [4, -1]; one size may be -1 if the others divide the elements");
  PANDO_EXPECT_REFUSAL(
      ops::reshape(f32({2, 3}), {-1, -1}),
      "reshape: [2, 3] cannot take the shape [-1, -1]; one size may be -1 if the others divide the elements");
  PANDO_EXPECT_REFUSAL(
      ops::reshape(f32({2, 3}), {huge, huge}),
      "reshape: [2, 3] cannot take the shape [1099511627776, 1099511627776]; give one of as many elements");
  PANDO_EXPECT_REFUSAL(ops::transpose(f32({2, 3}), {0, 0}),
                       "transpose: the permutation [0, 0] names axis 0 twice; name each once");
  PANDO_EXPECT_REFUSAL(ops::transpose(f32({2, 3}), {0}),
                       "transpose: 'permutation' has 1 value but the shape [2, 3] has 2 axes; give one value per axis");
  PANDO_EXPECT_REFUSAL(
      ops::broadcast(f32({2, 3}), {2, 4}),
      "broadcast: [2, 3] does not broadcast to [2, 4]: aligned at the end, sizes must be equal or 1; reshape it");
  PANDO_EXPECT_REFUSAL(ops::broadcast(f32({3}), {huge, huge, 3}),
                       "broadcast: the shape [1099511627776, 1099511627776, 3] has more elements than fit in 64 bits; "
                       "use smaller sizes");
  PANDO_EXPECT_REFUSAL(ops::broadcast(f32({3}), {-2, 3}), "broadcast: 'shape' is [-2, 3]; sizes must not be negative");
  PANDO_EXPECT_REFUSAL(ops::concat({}, 0), "concat: there are no values; give at least one");
  PANDO_EXPECT_REFUSAL(ops::concat({f32({2, 3}), f32({3, 3})}, 1),
                       "concat: [2, 3] and [3, 3] differ outside axis 1; reshape or slice one of them");
  PANDO_EXPECT_REFUSAL(ops::concat({f32({2}), f32({3})}, 1),
                       "concat: axis 1 is out of range for the shape [2]; it must be in [-1, 0]");
  PANDO_EXPECT_REFUSAL(ops::concat({f32({2}), i32({3})}, 0),
                       "concat: inputs are float32[2] and int32[3]; cast one of them");
  PANDO_EXPECT_REFUSAL(ops::slice(f32({5}), {3}, {3}),
                       "slice: 3 elements from 3 on exceed axis 0 of [5]; choose a smaller part");
  PANDO_EXPECT_REFUSAL(ops::slice(f32({5}), {0, 0}, {1}),
                       "slice: 'starts' has 2 values but the shape [5] has 1 axis; give one value per axis");
  PANDO_EXPECT_REFUSAL(ops::slice(f32({5}), {-1}, {1}), "slice: 'starts' is [-1] but its values must be at least 0");
  PANDO_EXPECT_REFUSAL(ops::pad(f32({5}), {std::numeric_limits<std::int64_t>::max()}, {1}),
                       "pad: padding of 9223372036854775807 and 1 is too large; use smaller sizes");
  PANDO_EXPECT_REFUSAL(ops::gather(f32({5, 3}), f32({2})), "gather: input 1 is float32[2] but must be int32; cast it");
  PANDO_EXPECT_REFUSAL(ops::gather(f32({2, 1, 1, 1, 1}), i32({1, 1, 1, 1, 1})),
                       "gather: the result would have more than 8 axes; reshape the inputs to fewer");
  PANDO_EXPECT_REFUSAL(ops::one_hot(i32({2}), -3), "one_hot: 'depth' is -3 but must be at least 0");
}

TEST_F(Refusals, IndexedOps) {
  PANDO_EXPECT_REFUSAL(ops::take_along(f32({5, 3}), f32({2, 3}), 0),
                       "take_along: input 1 is float32[2, 3] but must be int32; cast it");
  PANDO_EXPECT_REFUSAL(ops::take_along(f32({}), i32({})),
                       "take_along: input 0 has the shape [] but must have at least 1 axis, one of them to choose "
                       "along; reshape it");
  PANDO_EXPECT_REFUSAL(ops::take_along(f32({5, 3}), i32({2, 3}), 2),
                       "take_along: axis 2 is out of range for the shape [5, 3]; it must be in [-2, 1]");
  PANDO_EXPECT_REFUSAL(ops::take_along(f32({5, 3}), i32({2}), 0),
                       "take_along: the indices [2] do not have the 2 axes of [5, 3]; reshape them");
  PANDO_EXPECT_REFUSAL(ops::take_along(f32({5, 3}), i32({2, 2}), 0),
                       "take_along: the indices [2, 2] do not go with [5, 3] along axis 0: before it and behind it, "
                       "their sizes must be those of x, or all 1; broadcast or slice them");
  PANDO_EXPECT_REFUSAL(ops::take_along(f32({5, 3}), i32({huge, 1}), 0),
                       "take_along: there are 1099511627776 indices along axis 0 but may be at most 2147483647; use "
                       "several parts");
  PANDO_EXPECT_REFUSAL(ops::scatter(f32({5, 3}), i32({2, 1}), f32({2, 1}), {.axis = 0}),
                       "scatter: input 2 has the shape [2, 1] but must have [2, 3], one update for each index; "
                       "reshape it or give another");
  PANDO_EXPECT_REFUSAL(ops::scatter(f32({5}), i32({2}), i32({2})),
                       "scatter: inputs 0 and 2 are float32[5] and int32[2]; cast one of them");
  PANDO_EXPECT_REFUSAL(
      ops::scatter(of(DType::uint8, {5}), i32({2}), of(DType::uint8, {2}), {.mode = ops::ScatterMode::add}),
      "scatter: input 0 is uint8[5] but must be float32 or float64 or int32 or int64; cast it");
  PANDO_EXPECT_REFUSAL(graph.add(find_op("scatter"), {f32({5}), i32({2}), f32({2})}, {{"mode", std::string("ad")}}),
                       "scatter: unknown mode 'ad'; did you mean 'add'?");
}

TEST_F(Refusals, CumulativeOpsAndSorts) {
  PANDO_EXPECT_REFUSAL(ops::cumulative(of(DType::uint8, {3})),
                       "cumulative: input 0 is uint8[3] but must be float32 or float64 or int32 or int64; cast it");
  PANDO_EXPECT_REFUSAL(ops::cumulative(f32({})),
                       "cumulative: input 0 has the shape [] but must have at least 1 axis, one of them to run along; "
                       "reshape it");
  PANDO_EXPECT_REFUSAL(ops::cumulative(f32({3}), {.axis = 1}),
                       "cumulative: axis 1 is out of range for the shape [3]; it must be in [-1, 0]");
  PANDO_EXPECT_REFUSAL(graph.add(find_op("cumulative"), {f32({3})}, {{"mode", std::string("maximun")}}),
                       "cumulative: unknown mode 'maximun'; did you mean 'maximum'?");
  PANDO_EXPECT_REFUSAL(ops::sort(of(DType::bfloat16, {3})),
                       "sort: input 0 is bfloat16[3] but must be float32 or float64 or int32 or int64 or uint8 or "
                       "bool; cast it");
  PANDO_EXPECT_REFUSAL(ops::sort(f32({})),
                       "sort: input 0 has the shape [] but must have at least 1 axis, the last one of them to sort "
                       "along; reshape it");
  PANDO_EXPECT_REFUSAL(ops::sort(f32({3}), {.axis = 1}),
                       "sort: axis 1 is out of range for the shape [3]; it must be in [-1, 0]");
  PANDO_EXPECT_REFUSAL(ops::sort(f32({huge})),
                       "sort: the rows of [1099511627776] have 1099511627776 elements but may have at most 2147483647; "
                       "sort parts of them");
}

TEST_F(Refusals, RandomOps) {
  const Value counter = i32({2});
  PANDO_EXPECT_REFUSAL(ops::dropout(f32({4}), counter, 1), "dropout: 'rate' is 1 but must be at least 0 and below 1");
  PANDO_EXPECT_REFUSAL(ops::dropout(f32({4}), counter, not_a_number),
                       "dropout: 'rate' is nan but must be at least 0 and below 1");
  PANDO_EXPECT_REFUSAL(ops::dropout(f32({4}), i32({3}), 0.5),
                       "dropout: input 1 has the shape [3] but must have [2], the update and the number of the first "
                       "sample; reshape it or give another");
  PANDO_EXPECT_REFUSAL(ops::random_uniform(counter, {4}, 1, 0),
                       "random_uniform: 'low' is 1 and 'high' 0; both must be finite and low not above high");
  PANDO_EXPECT_REFUSAL(ops::random_normal(counter, {}, 0, 1),
                       "random_normal: 'shape' is [] but needs an axis of samples; use [1] and reshape");
  PANDO_EXPECT_REFUSAL(ops::random_normal(counter, {4}, 0, -1),
                       "random_normal: 'deviation' is -1 but must be a finite number of at least 0");
}

TEST_F(Refusals, Norms) {
  PANDO_EXPECT_REFUSAL(
      ops::batch_norm(f32({4, 3}), f32({4}), f32({3}), 1e-3),
      "batch_norm: input 1 has the shape [4] but must have [3], one value per channel; reshape it or give another");
  PANDO_EXPECT_REFUSAL(
      ops::batch_norm(f32({4, 3}), f32({3}), f32({3}), 1e-3, f32({3})),
      "batch_norm: input 3 has the shape [3] but must have [4], one weight per sample; reshape it or give another");
  PANDO_EXPECT_REFUSAL(
      ops::batch_norm(f32({4}), f32({4}), f32({4}), 1e-3),
      "batch_norm: input 0 has the shape [4] but must have at least 2 axes, the last one the channels; reshape it");
  PANDO_EXPECT_REFUSAL(ops::layer_norm(f32({4, 3}), f32({3}), f32({3}), -1),
                       "layer_norm: 'epsilon' is -1 but must be a finite number of at least 0");
  PANDO_EXPECT_REFUSAL(ops::batch_norm_inference(f32({4, 3}), f32({3}), f32({3}), f32({4}), f32({3}), 1e-3),
                       "batch_norm_inference: x is [4, 3] and one of scale, offset, mean and variance [4] but must "
                       "have one value per channel, the last of at least two axes of x; reshape it");
}

TEST_F(Refusals, Updates) {
  const Value rate = f32({}), parameter = f32({3}), gradient = f32({3});
  PANDO_EXPECT_REFUSAL(
      ops::sgd_update(rate, parameter, f32({4}), {}),
      "sgd_update: input 2, a gradient or state, is float32[4] but its parameter is float32[3]; give it the same type");
  PANDO_EXPECT_REFUSAL(ops::sgd_update(rate, parameter, gradient, {}, {.momentum = 0.9}),
                       "sgd_update: 1 group(s) need 1 input(s) and then 3 each (parameter, gradient and 1 state(s)), "
                       "but there are 3 inputs; give the states that the options ask for");
  PANDO_EXPECT_REFUSAL(
      ops::sgd_update(f32({1}), parameter, gradient, {}),
      "sgd_update: input 0 has the shape [1] but must have [], a scalar rate; reshape it or give another");
  PANDO_EXPECT_REFUSAL(ops::adam_update(rate, rate, parameter, gradient, {parameter, parameter}),
                       "adam_update: input 1 is float32[] but must be int32 or float64; cast it");
  PANDO_EXPECT_REFUSAL(ops::adam_update(rate, i32({}), parameter, gradient, {parameter, parameter}, {.beta1 = 1}),
                       "adam_update: 'beta1' is 1 but must be at least 0 and below 1");
  PANDO_EXPECT_REFUSAL(ops::rmsprop_update(rate, parameter, gradient, {parameter}, {.epsilon = not_a_number}),
                       "rmsprop_update: 'epsilon' is nan but must be a finite number of at least 0");
}

TEST_F(Refusals, Gradients) {
  const Value x = f32({3}), logits = f32({2, 3});
  PANDO_EXPECT_REFUSAL(gradients(x, {x}),
                       "gradients: the loss is float32[3] but must be a float scalar; reduce it with a mean or a sum");
  PANDO_EXPECT_REFUSAL(gradients(ops::reduce_sum(ops::floor(x)), {x}),
                       "gradients: floor has no gradient; take the gradient with respect to values after it");
  const ops::BatchNorm norm = ops::batch_norm(logits, x, x, 1e-3);
  PANDO_EXPECT_REFUSAL(gradients(ops::reduce_sum(norm.mean), {logits}),
                       "batch_norm: the statistics have no gradient; compute them with reduce_mean instead");
}

}  // namespace
}  // namespace pando::test
