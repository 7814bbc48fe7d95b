// SPDX-License-Identifier: Apache-2.0
// What the tests of sessions share: devices, compiling for them, and small data.
#pragma once
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>

#include "tests/message.h"

namespace pando {

namespace tf = tf1;
using data::Dataset;
using ipu::ipu_compiler::compile;
using ipu::loops::repeat;
using ipu::loops::while_loop;

inline void configure(const ipu::Counts& ipus) {
  ipu::reset_ipu_configuration();
  ipu::IPUConfig config;
  config.auto_select_ipus = ipus;
  config.tiles_per_ipu = 1;
  config.configure_ipu_system();
}

// Every test begins with an empty graph and one IPU.
class Tf1 : public testing::Test {
 protected:
  void SetUp() override {
    tf::reset_default_graph();
    configure(1);
  }
};

inline tf::Compiled compiled(const tf::TracedFunction& function, const std::vector<Tensor>& inputs = {},
                             const std::string& device = "/device:IPU:0") {
  const ipu::scopes::ipu_scope scope(device);
  return compile(function, inputs);
}

inline Array floats(const std::vector<float>& values) {
  return Array::of<float>(values, {static_cast<std::int64_t>(values.size())});
}

inline std::vector<double> numbers(const Array& array) {
  const Array values = array.astype(DType::float64);
  return {values.data<double>(), values.data<double>() + values.elements()};
}

// 0, 1, 2, ... as scalars.
inline Dataset counting(std::int64_t count) {
  Array values(DType::float32, {count});
  for (std::int64_t i = 0; i < count; ++i) values.mutable_data<float>()[i] = static_cast<float>(i);
  return Dataset::from_tensor_slices({values});
}

// Points of three kinds: [count, 4] and their labels.
inline Dataset points(std::int64_t count) {
  Array x(DType::float32, {count, 4}), y(DType::int32, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t kind = i * 7 % 3;
    y.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(kind);
    for (std::int64_t j = 0; j < 4; ++j)
      x.mutable_data<float>()[i * 4 + j] =
          static_cast<float>(std::sin(static_cast<double>(i * 4 + j) * 1.3)) + (j == kind ? 1.0F : 0.0F);
  }
  return Dataset::from_tensor_slices({x, y});
}

// Batches of 96 such points, again and again.
inline Dataset batches(std::int64_t size) { return points(96).repeat().batch(size, {.drop_remainder = true}); }

inline Array weights(std::int64_t rows, std::int64_t columns, double phase = 0.0) {
  Array values(DType::float32, {rows, columns});
  for (std::int64_t i = 0; i < values.elements(); ++i)
    values.mutable_data<float>()[i] = static_cast<float>(0.5 * std::cos(static_cast<double>(i) * 2.1 + phase));
  return values;
}

}  // namespace pando
