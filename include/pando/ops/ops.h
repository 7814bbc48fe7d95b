// SPDX-License-Identifier: Apache-2.0
// Builders: each adds nodes to the graph of its inputs and returns the new value. Elementwise ones broadcast as NumPy
// does. All throw Error naming the op, the shapes and the remedy. docs/ops.md lists what every op computes.
#pragma once
#include <pando/graph/graph.h>

#include <optional>

namespace pando::ops {

// sources: fed at each step, kept between steps, or compiled in
PANDO_API Value input(Graph& graph, const std::string& name, DType dtype, const Shape& shape,
                      PortKind kind = PortKind::host, std::int32_t number = 0);
PANDO_API Value variable(Graph& graph, const std::string& name, DType dtype, const Shape& shape,
                         VariableRole role = VariableRole::weight, std::int32_t number = 0);
// int64[2]: the number of the update, and that of the micro-batch's first sample within the update. The program counts
// them.
PANDO_API Value counter(Graph& graph);
PANDO_API Value constant(Graph& graph, const Array& value);
// A scalar constant of the type of `like`, in its graph.
PANDO_API Value scalar(Value like, double value);

// spans: the sum over all micro-batches and replicas of an update; and the mean over the replicas, which may only be
// assigned to a variable
PANDO_API Value update_sum(Value x);
PANDO_API Value replica_mean(Value x);

// elementwise: a builder for each op of elementwise.def, which takes a Value for each operand, such as relu(x) and
// add(a, b); then the builders that also take numbers
#define PANDO_OP(name)
#define PANDO_UNARY(name) PANDO_API Value name(Value x);
#define PANDO_UNARY_NUMERIC(name) PANDO_API Value name(Value x);
#define PANDO_LOGICAL_1(name) PANDO_API Value name(Value x);
#define PANDO_BINARY(name) PANDO_API Value name(Value a, Value b);
#define PANDO_BINARY_NUMERIC(name) PANDO_API Value name(Value a, Value b);
#define PANDO_BINARY_INTEGER(name) PANDO_API Value name(Value a, Value b);
#define PANDO_COMPARISON(name) PANDO_API Value name(Value a, Value b);
#define PANDO_LOGICAL_2(name) PANDO_API Value name(Value a, Value b);
#define PANDO_UNARY_WITH_NUMBERS(name)
#define PANDO_UNARY_NUMERIC_WITH_NUMBERS(name)
#define PANDO_BINARY_WITH_NUMBERS(name)
#include <pando/ops/elementwise.def>
#undef PANDO_OP
PANDO_API Value clip(Value x, double min, double max);
PANDO_API Value leaky_relu(Value x, double alpha = 0.01);
PANDO_API Value elu(Value x, double alpha = 1.0);
PANDO_API Value huber_error(Value a, Value b, double delta = 1.0);
PANDO_API Value binary_cross_entropy(Value probability, Value target, double epsilon = 1e-7);
PANDO_API Value select(Value condition, Value a, Value b);
PANDO_API Value cast(Value x, DType dtype);

// matmul: the last two axes are the matrices, those before them the batch, which broadcasts
struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};
PANDO_API Value matmul(Value a, Value b, const MatmulOptions& options = {});

// convolution: x is [batch, height, width, channels], the filter [height, width, channels / groups, filters]
enum class Padding { valid, same, explicit_sizes };
struct ConvOptions {
  std::array<std::int64_t, 2> strides = {1, 1};
  std::array<std::int64_t, 2> dilations = {1, 1};
  Padding padding = Padding::valid;
  // Rows above, rows below, columns left, columns right; with Padding::explicit_sizes.
  std::array<std::int64_t, 4> padding_sizes = {};
  std::int64_t groups = 1;
};
PANDO_API Value conv2d(Value x, Value filter, const ConvOptions& options = {});
// The filter is [height, width, channels, multiplier]; channel c makes filters c * multiplier and on.
PANDO_API Value depthwise_conv2d(Value x, Value filter, const ConvOptions& options = {});
// The transpose of conv2d: the filter is [height, width, filters, channels]. `output_size` (height, width) chooses
// among the sizes that conv2d with these options maps to x's; 0 takes the smallest (valid) or size * stride (same).
PANDO_API Value conv2d_transpose(Value x, Value filter, const ConvOptions& options = {},
                                 std::array<std::int64_t, 2> output_size = {});

// pooling over [batch, height, width, channels]; strides of 0 equal the window
struct PoolOptions {
  std::array<std::int64_t, 2> window = {2, 2};
  std::array<std::int64_t, 2> strides = {0, 0};
  // Max pooling: the distances between the places of a window.
  std::array<std::int64_t, 2> dilations = {1, 1};
  Padding padding = Padding::valid;
  std::array<std::int64_t, 4> padding_sizes = {};
  // Average pooling: whether padded places count in the divisor.
  bool count_padding = false;
};
PANDO_API Value max_pool(Value x, const PoolOptions& options = {});
PANDO_API Value average_pool(Value x, const PoolOptions& options = {});
PANDO_API Value global_max_pool(Value x);
PANDO_API Value global_average_pool(Value x);

// volumes: x is [batch, depth, height, width, channels], the filter [depth, height, width, channels / groups, filters],
// and that of conv3d_transpose [depth, height, width, filters / groups, channels]; the rest as with images
struct Conv3dOptions {
  std::array<std::int64_t, 3> strides = {1, 1, 1};
  std::array<std::int64_t, 3> dilations = {1, 1, 1};
  Padding padding = Padding::valid;
  // Before and after along the depth, the height and the width; with Padding::explicit_sizes.
  std::array<std::int64_t, 6> padding_sizes = {};
  std::int64_t groups = 1;
};
PANDO_API Value conv3d(Value x, Value filter, const Conv3dOptions& options = {});
PANDO_API Value conv3d_transpose(Value x, Value filter, const Conv3dOptions& options = {},
                                 std::array<std::int64_t, 3> output_size = {});
struct Pool3dOptions {
  std::array<std::int64_t, 3> window = {2, 2, 2};
  std::array<std::int64_t, 3> strides = {0, 0, 0};
  std::array<std::int64_t, 3> dilations = {1, 1, 1};
  Padding padding = Padding::valid;
  std::array<std::int64_t, 6> padding_sizes = {};
  bool count_padding = false;
};
PANDO_API Value max_pool3d(Value x, const Pool3dOptions& options = {});
PANDO_API Value average_pool3d(Value x, const Pool3dOptions& options = {});

// reductions; no axes means all of them
struct ReduceOptions {
  Integers axes = {};
  bool keep_dims = false;
};
PANDO_API Value reduce_sum(Value x, const ReduceOptions& options = {});
PANDO_API Value reduce_mean(Value x, const ReduceOptions& options = {});
PANDO_API Value reduce_max(Value x, const ReduceOptions& options = {});
PANDO_API Value argmax(Value x, std::int64_t axis = -1);

// softmax and losses: over the last axis; a loss has one value per sample
PANDO_API Value softmax(Value x);
PANDO_API Value log_softmax(Value x);
PANDO_API Value softmax_cross_entropy(Value logits, Value targets);
struct SparseCrossEntropyOptions {
  // A label of this number has the loss 0 and no gradient.
  std::optional<std::int64_t> ignored = {};
};
// Labels are int32; one out of range makes its loss NaN.
PANDO_API Value sparse_softmax_cross_entropy(Value logits, Value labels, const SparseCrossEntropyOptions& options = {});
PANDO_API Value mean_squared_error(Value prediction, Value target);
PANDO_API Value mean_absolute_error(Value prediction, Value target);
PANDO_API Value huber(Value prediction, Value target, double delta = 1.0);

// shape; one size of reshape may be -1
PANDO_API Value reshape(Value x, Shape shape);
// x itself, but no gradient goes through it.
PANDO_API Value stop_gradient(Value x);
PANDO_API Value transpose(Value x, const Integers& permutation);
PANDO_API Value broadcast(Value x, const Shape& shape);
PANDO_API Value concat(const std::vector<Value>& values, std::int64_t axis);
PANDO_API Value slice(Value x, const Integers& starts, const Integers& sizes);
PANDO_API Value pad(Value x, const Integers& before, const Integers& after, double value = 0.0);
// Rows of `table` chosen by int32 indices; an index out of range ends the run with an error.
PANDO_API Value gather(Value table, Value indices);
PANDO_API Value one_hot(Value indices, std::int64_t depth, DType dtype = DType::float32);
// Elements chosen along one axis by int32 indices of as many axes as x. Along each other axis, the indices have the
// size of x, or 1 and are repeated. The result has the shape of x with the size of the indices along the axis.
PANDO_API Value take_along(Value x, Value indices, std::int64_t axis = -1);
// What an update does to the element that it meets.
enum class ScatterMode { set, add, multiply, maximum, minimum };
struct ScatterOptions {
  std::int64_t axis = -1;
  ScatterMode mode = ScatterMode::set;
};
// x with updates where take_along() would read: the updates have the shape of its result. Those of one element are
// applied in the order in which they lie along the axis, so that the last one stays if they are set.
PANDO_API Value scatter(Value x, Value indices, Value updates, const ScatterOptions& options = {});
// `x` summed over the axes along which `shape` was broadcast to x's shape.
PANDO_API Value sum_to(Value x, const Shape& shape);

// running totals along an axis: of the elements up to each, or from each on
enum class CumulativeMode { add, multiply, maximum, minimum };
struct CumulativeOptions {
  std::int64_t axis = -1;
  CumulativeMode mode = CumulativeMode::add;
  bool reverse = false;
};
PANDO_API Value cumulative(Value x, const CumulativeOptions& options = {});

// order along an axis: equal elements keep theirs, and NaN is larger than any number
struct SortOptions {
  std::int64_t axis = -1;
  bool descending = false;
};
struct Sorted {
  Value values;
  // int32: the places along the axis that the values come from.
  Value indices;
};
PANDO_API Sorted sort(Value x, const SortOptions& options = {});

// random numbers: `counter` is an int32 or int64 value [2], the update and the number of the first sample of the batch;
// `stream` tells random ops of one graph apart. Samples lie along axis 0.
struct RandomOptions {
  std::int64_t seed = 0;
  std::int64_t stream = 0;
};
PANDO_API Value dropout(Value x, Value counter, double rate, const RandomOptions& options = {});
PANDO_API Value random_uniform(Value counter, const Shape& shape, double low, double high,
                               const RandomOptions& options = {});
PANDO_API Value random_normal(Value counter, const Shape& shape, double mean, double deviation,
                              const RandomOptions& options = {});

// normalisation; batch_norm over all axes but the last, layer_norm over the last
struct BatchNorm {
  Value y, mean, variance;
};
// `weights` ([batch], optional) leaves samples of weight 0 out of the statistics.
PANDO_API BatchNorm batch_norm(Value x, Value scale, Value offset, double epsilon, Value weights = {});
PANDO_API Value batch_norm_inference(Value x, Value scale, Value offset, Value mean, Value variance, double epsilon);
PANDO_API Value layer_norm(Value x, Value scale, Value offset, double epsilon);

// updates: what a parameter and its state become; `rate` is a scalar. The states are those of the options, in the
// order of the comment, and are returned after the parameter.
struct SgdOptions {
  double momentum = 0.0;  // state: velocity, if not 0
  bool nesterov = false;
  double weight_decay = 0.0;
  // Velocity holds -rate * gradient (Keras) rather than the gradient (PyTorch); they differ when the rate changes.
  bool rate_in_velocity = false;
};
PANDO_API std::vector<Value> sgd_update(Value rate, Value parameter, Value gradient, const std::vector<Value>& states,
                                        const SgdOptions& options = {});
struct AdamOptions {  // states: first moment, second moment
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  // Added to the gradient (Adam) or taken from the parameter (AdamW, `decoupled`).
  double weight_decay = 0.0;
  bool decoupled = false;
  // Epsilon is added to the bias-corrected root (PyTorch) rather than to the plain one (Keras).
  bool epsilon_after_correction = false;
};
// `step` is an int32 scalar: the number of updates before this one.
PANDO_API std::vector<Value> adam_update(Value rate, Value step, Value parameter, Value gradient,
                                         const std::vector<Value>& states, const AdamOptions& options = {});
struct RmspropOptions {  // states: mean square, then velocity if momentum is not 0, then mean if centered
  double rho = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-7;
  bool centered = false;
  bool epsilon_inside_root = false;
  bool rate_in_velocity = false;
};
PANDO_API std::vector<Value> rmsprop_update(Value rate, Value parameter, Value gradient,
                                            const std::vector<Value>& states, const RmspropOptions& options = {});
struct AdagradOptions {  // state: sum of squares
  double epsilon = 1e-7;
  bool epsilon_inside_root = false;
};
PANDO_API std::vector<Value> adagrad_update(Value rate, Value parameter, Value gradient,
                                            const std::vector<Value>& states, const AdagradOptions& options = {});

}  // namespace pando::ops

namespace pando {

inline Value operator+(Value a, Value b) { return ops::add(a, b); }
inline Value operator-(Value a, Value b) { return ops::subtract(a, b); }
inline Value operator*(Value a, Value b) { return ops::multiply(a, b); }
inline Value operator/(Value a, Value b) { return ops::divide(a, b); }
inline Value operator-(Value a) { return ops::negate(a); }
inline Value operator+(Value a, double b) { return a + ops::scalar(a, b); }
inline Value operator-(Value a, double b) { return a - ops::scalar(a, b); }
inline Value operator*(Value a, double b) { return a * ops::scalar(a, b); }
inline Value operator/(Value a, double b) { return a / ops::scalar(a, b); }
inline Value operator-(double a, Value b) { return ops::scalar(b, a) - b; }
inline Value operator/(double a, Value b) { return ops::scalar(b, a) / b; }

}  // namespace pando
