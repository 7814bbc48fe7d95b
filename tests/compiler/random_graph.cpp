// SPDX-License-Identifier: Apache-2.0
#include "random_graph.h"

#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>

#include <string>

namespace pando {

namespace {

class RandomGraph {
 public:
  explicit RandomGraph(Decisions& decisions) : decisions_(decisions) {}

  Graph build() {
    pool_.push_back(ops::input(graph_, "x", DType::float32, {4, 6}));
    pool_.push_back(ops::input(graph_, "image", DType::float32, {2, 6, 6, 3}));
    labels_ = ops::input(graph_, "labels", DType::int32, {4});
    while (!decisions_.at_end() && graph_.nodes().size() < 60) grow();
    finish();
    return std::move(graph_);
  }

 private:
  int choose(int count) { return decisions_.choose(count); }
  Value pick() {
    return pool_[pool_.size() - 1 -
                 static_cast<std::size_t>(choose(static_cast<int>(std::min<std::size_t>(pool_.size(), 6))))];
  }

  Value variable(const Shape& shape) {
    variables_.push_back(ops::variable(graph_, "v" + std::to_string(variables_.size()), DType::float32, shape));
    return variables_.back();
  }

  void grow() {
    const Value x = pick();
    switch (choose(12)) {
      case 0:
      case 1: return keep(unary(x));
      case 2: return keep(binary(x));
      case 3: return keep(bias(x));
      case 4: return keep(matmul(x));
      case 5:
      case 6: return keep(image_op(x));
      case 7: return keep(reduce(x));
      case 8: return keep(move(x));
      case 9: return keep(x.shape().rank() > 0 ? ops::softmax(x) : ops::sigmoid(x));
      case 10: return keep(ops::select(ops::greater(x, ops::scalar(x, 0.1)), unary(x), x * 0.5));
      default: return keep(identity(x));
    }
  }

  void keep(Value value) { pool_.push_back(value); }

  Value unary(Value x) {
    switch (choose(10)) {
      case 0: return ops::relu(x);
      case 1: return ops::tanh(x);
      case 2: return ops::sigmoid(x);
      case 3: return ops::square(ops::tanh(x));
      case 4: return ops::gelu(ops::clip(x, -2, 2));
      case 5: return ops::silu(ops::clip(x, -3, 3));
      case 6: return ops::exp(ops::clip(x, -2, 1));
      case 7: return ops::log(ops::square(x) + 0.5);
      case 8: return ops::leaky_relu(x, 0.2);
      default: return ops::sqrt(ops::square(x) + 0.3);
    }
  }

  Value binary(Value x) {
    const Value y = pick();
    const Value other = x.shape() == y.shape() ? y : ops::reduce_mean(y);
    switch (choose(5)) {
      case 0: return x + other;
      case 1: return x - other;
      case 2: return ops::tanh(x) * other;
      case 3: return ops::maximum(x, other);
      default: return x / (ops::square(other) + 1.0);
    }
  }

  Value bias(Value x) {
    if (x.shape().rank() == 0) return x + variable({});
    return x + variable({x.shape()[x.shape().rank() - 1]});
  }

  Value matmul(Value x) {
    if (x.shape().rank() != 2) return identity(x);
    const std::int64_t inner = x.shape()[1], outer = 1 + choose(9);
    const bool transposed = choose(2) == 1;
    const Value w = variable(transposed ? Shape{outer, inner} : Shape{inner, outer});
    return choose(2) == 1 ? ops::matmul(x, transposed ? ops::transpose(w, {1, 0}) : w)
                          : ops::matmul(x, w, {.transpose_b = transposed});
  }

  Value image_op(Value x) {
    if (x.shape().rank() != 4 || x.shape()[1] < 4 || x.shape()[2] < 4) return unary(x);
    switch (choose(5)) {
      case 0: return ops::max_pool(x);
      case 1: return ops::average_pool(x, {.window = {3, 3}, .strides = {1, 1}, .padding = ops::Padding::same});
      case 2: {
        const Value y = ops::relu(convolve(x));
        return y.shape()[1] >= 2 && y.shape()[2] >= 2 ? ops::max_pool(y) : y;
      }
      case 3: return ops::depthwise_conv2d(x, variable({2, 2, x.shape()[3], 1}));
      default: return convolve(x);
    }
  }

  Value convolve(Value x) {
    const std::int64_t filters = 1 + choose(6), stride = 1 + choose(2);
    const Value w = variable({3, 3, x.shape()[3], filters});
    const auto padding = choose(2) == 1 ? ops::Padding::same : ops::Padding::valid;
    return bias(ops::conv2d(x, w, {.strides = {stride, stride}, .padding = padding}));
  }

  Value reduce(Value x) {
    const int rank = x.shape().rank();
    if (rank == 0) return x;
    const ops::ReduceOptions options{.axes = {choose(rank)}, .keep_dims = choose(2) == 1};
    switch (choose(3)) {
      case 0: return ops::reduce_mean(x, options);
      case 1: return ops::reduce_max(x, options);
      default: return ops::reduce_sum(x, options) * 0.2;
    }
  }

  Value move(Value x) {
    const int rank = x.shape().rank();
    if (rank == 0) return ops::broadcast(x, {3, 2});
    switch (choose(5)) {
      case 0: return ops::reshape(x, {-1, x.shape()[rank - 1]});
      case 1: {
        Integers permutation;
        for (int axis = rank; axis-- > 0;) permutation.push_back(axis);
        return ops::transpose(x, permutation);
      }
      case 2: return rank == 4 ? ops::transpose(ops::relu(ops::transpose(x, {0, 3, 1, 2})), {0, 2, 3, 1}) : x;
      case 3: return ops::concat({x, ops::tanh(x)}, rank - 1);
      default: {
        Integers starts(static_cast<std::size_t>(rank), 0), sizes(x.shape().begin(), x.shape().end());
        sizes[0] = (sizes[0] + 1) / 2;
        return ops::slice(x, starts, sizes);
      }
    }
  }

  // What the compiler should see through.
  Value identity(Value x) {
    switch (choose(4)) {
      case 0: return x * 1.0;
      case 1: return x + 0.0;
      case 2: return ops::exp(ops::clip(x, -1, 1)) + ops::exp(ops::clip(x, -1, 1));
      default: return x * ops::sqrt(ops::scalar(x, 4.0));
    }
  }

  void finish() {
    graph_.add_output("last", pool_.back());
    Value loss = ops::reduce_mean(ops::tanh(pool_.back()));
    if (pool_.back().shape().rank() == 2 && pool_.back().shape()[0] == 4)
      loss = ops::reduce_mean(ops::sparse_softmax_cross_entropy(pool_.back(), labels_));
    graph_.add_output("loss", loss);
    if (variables_.empty() || choose(4) == 0) return;
    const std::vector<Value> slopes = gradients(loss, variables_);
    const Value rate = ops::scalar(loss, 0.05);
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      if (choose(2) == 0) {
        graph_.assign(variables_[i], ops::sgd_update(rate, variables_[i], slopes[i], {})[0]);
        continue;
      }
      const Value velocity = ops::variable(graph_, "m" + std::to_string(i), DType::float32, variables_[i].shape());
      const auto updated = ops::sgd_update(rate, variables_[i], slopes[i], {velocity}, {.momentum = 0.9});
      graph_.assign(variables_[i], updated[0]);
      graph_.assign(velocity, updated[1]);
    }
  }

  Decisions& decisions_;
  Graph graph_;
  Value labels_;
  std::vector<Value> pool_, variables_;
};

}  // namespace

Graph build_random_graph(Decisions& decisions) { return RandomGraph(decisions).build(); }

}  // namespace pando
