// SPDX-License-Identifier: Apache-2.0
// Small models whose training steps become regions, and what they are fed.
#pragma once
#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>

#include <cmath>

#include "backends/cuda/regions/program.h"

namespace pando::cuda {

// Numbers between -limit and limit that look random.
inline Array noise(const Type& type, double limit, std::uint32_t seed) {
  Array array(DType::float32, type.shape);
  std::uint32_t state = seed * 2654435761u + 1;
  for (float *p = array.mutable_data<float>(), *end = p + array.elements(); p != end; ++p) {
    state = state * 1664525u + 1013904223u;
    *p = static_cast<float>((static_cast<double>(state >> 8) / 8388608.0 - 1.0) * limit);
  }
  return array;
}
inline Array labels(const Type& type) {
  Array array(DType::int32, type.shape);
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 3);
  return array;
}
inline Array values_for(const Type& type, double limit, std::uint32_t seed) {
  return type.dtype == DType::float32 ? noise(type, limit, seed) : labels(type);
}

inline double distance(const Array& a, const Array& b) {
  double difference = 0, size = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.data<float>()[i], y = b.data<float>()[i];
    difference += (x - y) * (x - y);
    size += y * y;
    if (std::isnan(x)) return 1e9;
  }
  return std::sqrt(difference / (size + 1e-30));
}

// A model that grows layer by layer; `loss` and an update of all parameters end it.
struct Model {
  Graph graph;
  std::vector<Value> parameters;
  Value x;

  Model(std::int64_t batch, const Shape& image) {
    Shape shape = {batch};
    for (std::int64_t size : image) shape.append(size);
    x = ops::input(graph, "x", DType::float32, shape);
  }
  Value parameter(const Shape& shape) {
    parameters.push_back(ops::variable(graph, "p" + std::to_string(parameters.size()), DType::float32, shape));
    return parameters.back();
  }
  Model& conv(std::int64_t filters, std::int64_t size, const ops::ConvOptions& options = {}) {
    x = ops::conv2d(x, parameter({size, size, x.shape()[3], filters}), options);
    x = x + parameter({filters});
    return *this;
  }
  Model& relu() { return x = ops::relu(x), *this; }
  Model& pool(const ops::PoolOptions& options = {}) { return x = ops::max_pool(x, options), *this; }
  Model& flatten() { return x = ops::reshape(x, {x.shape()[0], -1}), *this; }
  Model& dense(std::int64_t units) {
    x = ops::matmul(x, parameter({x.shape()[1], units}));
    x = x + parameter({units});
    return *this;
  }
  // The mean over the batch.
  Value cross_entropy() {
    const Value target = ops::input(graph, "labels", DType::int32, {x.shape()[0]});
    return ops::reduce_mean(ops::sparse_softmax_cross_entropy(x, target));
  }
  void descend(const Value& loss) {
    graph.add_output("loss", loss);
    move_along(loss);
  }
  void move_along(const Value& loss) {
    const std::vector<Value> found = gradients(loss, parameters);
    const Value rate = ops::scalar(x, 0.1);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      graph.assign(parameters[i], ops::sgd_update(rate, parameters[i], found[i], {})[0]);
  }
  // Adam, whose moments are variables m0, v0, ...
  void adam(const Value& loss, const Value& rate, const Value& step) {
    graph.add_output("loss", loss);
    const std::vector<Value> found = gradients(loss, parameters);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto moment = [&](const char* name) {
        return ops::variable(graph, name + std::to_string(i), DType::float32, parameters[i].shape());
      };
      const Value m = moment("m"), v = moment("v");
      const std::vector<Value> moved = ops::adam_update(rate, step, parameters[i], found[i], {m, v}, {});
      graph.assign(parameters[i], moved[0]);
      graph.assign(m, moved[1]);
      graph.assign(v, moved[2]);
    }
  }
};

// Convolutions with pooling and dropout.
struct PooledConvolutions : Model {
  PooledConvolutions() : Model(64, {14, 14, 1}) {
    conv(8, 3).relu().pool().conv(12, 3).relu().pool().flatten();
    x = ops::dropout(x, ops::counter(graph), 0.5);
    dense(10).descend(cross_entropy());
  }
};

// The count of steps that Adam reads moves in the same kernels.
struct PerceptronWithAdam : Model {
  PerceptronWithAdam(std::int64_t batch, std::int64_t units) : Model(batch, {20}) {
    dense(units).relu().dense(6);
    const Value count = ops::variable(graph, "count", DType::int32, {});
    adam(cross_entropy(), ops::scalar(x, 0.1), count);
    graph.assign(count, count + 1.0);
  }
};

inline constexpr RegionLimits h200 = {.multiprocessors = 132, .shared_bytes = 227 * 1024, .most_ranks = 8};

}  // namespace pando::cuda
