// SPDX-License-Identifier: Apache-2.0
// A step whose results can be told by heart: for the tests of divided programs.
#pragma once
#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>
#include <pando/program/program.h>

#include <gtest/gtest.h>

#include "base/machine/crowding.h"

namespace pando {

// w = w - the sum of all x of an update, and updates = updates + 1. Tells the sum of x, made by the first stage, and of
// w * x, made by the last.
inline Graph sum_step(int stages) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {2});
  const Value w = ops::variable(graph, "w", DType::float32, {2});
  const Value updates = ops::variable(graph, "updates", DType::float32, {}, VariableRole::slot);
  const std::int32_t first = stages > 1 ? 0 : any_stage, last = stages > 1 ? stages - 1 : any_stage;
  graph.begin_stage(first);
  const Value product = x * w, sum = ops::reduce_sum(x);
  graph.add_output("sums", sum, true);
  graph.add_output("last_sum", sum);
  graph.begin_stage(last);
  const Value loss = ops::reduce_sum(product);
  graph.add_output("losses", loss, true);
  graph.begin_stage(first);
  graph.assign(w, w - ops::update_sum(gradients(loss, {w})[0]));
  graph.begin_stage(any_stage);
  graph.assign(updates, updates + 1.0);
  return graph;
}

// x = {row + 1, 10 * replica} for `rows` rows; then it ends.
inline FillFeeds rows_of_x(std::int64_t rows) {
  return [rows](std::int64_t row, std::span<std::byte* const> feeds) {
    if (row == rows) return false;
    for (std::size_t replica = 0; replica < feeds.size(); ++replica) {
      auto* x = reinterpret_cast<float*>(feeds[replica]);
      x[0] = static_cast<float>(row + 1);
      x[1] = static_cast<float>(10 * replica);
    }
    return true;
  };
}

inline std::vector<Device> devices(int count) {
  static const Device device({.tiles = 1});
  return std::vector<Device>(static_cast<std::size_t>(count), device);
}

inline std::vector<float> floats(const Array& array) {
  return {array.data<float>(), array.data<float>() + array.elements()};
}

// Each test with a thread for each device, and with one thread that runs all of them.
class DividedTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { Crowding::is_assumed = GetParam(); }
  void TearDown() override { Crowding::is_assumed = false; }
};

inline std::string name_of_threads(const testing::TestParamInfo<bool>& info) {
  return info.param ? "OneThread" : "ManyThreads";
}

}  // namespace pando
