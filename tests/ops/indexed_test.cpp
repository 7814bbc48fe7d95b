// SPDX-License-Identifier: Apache-2.0
// scatter and take_along: what the table of ops does not show.
#include <gtest/gtest.h>
#include <pando/autodiff/gradients.h>
#include <pando/base/array_functions.h>
#include <pando/ops/ops.h>

#include "tests/message.h"
#include "tests/ops/running.h"

namespace pando::test {
namespace {

using Floats = std::vector<float>;

Array floats(const Floats& values) { return Array::of(values, {static_cast<std::int64_t>(values.size())}); }
Array indices_of(const std::vector<std::int32_t>& values) {
  return Array::of(values, {static_cast<std::int64_t>(values.size())});
}

// The gradients of x and updates, where that of the result is 1, 2, 3 and so on.
std::vector<Array> scatter_gradients(const Floats& x, const std::vector<std::int32_t>& indices, const Floats& updates,
                                     ops::ScatterMode mode) {
  Graph graph;
  const Value a = ops::constant(graph, floats(x)), b = ops::constant(graph, floats(updates));
  const Value y = ops::scatter(a, ops::constant(graph, indices_of(indices)), b, {.mode = mode});
  Floats factors;
  for (std::size_t i = 0; i < x.size(); ++i) factors.push_back(static_cast<float>(i + 1));
  const std::vector<Value> found = gradients(ops::reduce_sum(y * ops::constant(graph, floats(factors))), {a, b});
  graph.add_output("x", found[0]);
  graph.add_output("updates", found[1]);
  Program program(graph, device(tested_instruction_sets().front(), 2), Variables());
  const auto results = program.step({});
  return {results.at("x"), results.at("updates")};
}

// PyTorch's rule: an update that another one replaced has its gradient too.
TEST(Scatter, EveryUpdateOfAnElementHasItsGradientIfTheyAreSet) {
  const std::vector<Array> found = scatter_gradients({1, 2, 3}, {2, 0, 2}, {4, 5, 6}, ops::ScatterMode::set);
  EXPECT_TRUE(array_equal(found[0], floats({0, 2, 0})));
  EXPECT_TRUE(array_equal(found[1], floats({3, 1, 3})));
}

TEST(Scatter, EqualLargestOnesShareTheGradient) {
  const std::vector<Array> found = scatter_gradients({7, 2, 5}, {0, 0, 2, 1}, {7, 7, 4, 2}, ops::ScatterMode::maximum);
  EXPECT_TRUE(allclose(found[0], floats({1.0F / 3, 1, 3})));
  EXPECT_TRUE(allclose(found[1], floats({1.0F / 3, 1.0F / 3, 0, 1})));
}

TEST(Scatter, ReadsItsUpdatesWhereTheyAreWhatIsChanged) {
  for (int tiles = 1; tiles <= most_tiles; ++tiles) {
    Graph graph;
    const Value x = ops::input(graph, "x", DType::float32, {4}) + 1.0;
    const Value indices = ops::input(graph, "indices", DType::int32, {4});
    graph.add_output("y", ops::scatter(x, indices, x));
    Program program(graph, device(tested_instruction_sets().front(), tiles), Variables());
    const auto results = program.step({{"x", floats({0, 1, 2, 3})}, {"indices", indices_of({3, 2, 1, 0})}});
    EXPECT_TRUE(array_equal(results.at("y"), floats({4, 3, 2, 1})));
  }
}

// The memory of w is that of its new value.
TEST(Scatter, ChangesAVariableStepByStep) {
  for (int tiles = 1; tiles <= most_tiles; ++tiles) {
    Variables variables;
    variables.set("w", floats({1, 2, 3}));
    Graph graph;
    const Value w = ops::variable(graph, "w", DType::float32, {3});
    const Value indices = ops::input(graph, "indices", DType::int32, {2});
    graph.assign(w, ops::scatter(w, indices, ops::constant(graph, floats({10, 20})), {.mode = ops::ScatterMode::add}));
    Program program(graph, device(tested_instruction_sets().front(), tiles), variables);
    program.step({{"indices", indices_of({0, 2})}});
    program.step({{"indices", indices_of({2, 2})}});
    EXPECT_TRUE(array_equal(variables.get("w"), floats({11, 2, 53})));
  }
}

// Indices that are repeated along some axes before the axis and not along others.
TEST(Scatter, RepeatsIndicesAlongAnyAxes) {
  Graph graph;
  const Value x = ops::constant(graph, Array::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}));
  const Value indices = ops::constant(graph, Array::of<std::int32_t>({1, 0}, {2, 1, 1}));
  const Value read = ops::take_along(x, indices);
  graph.add_output("read", read);
  graph.add_output("written", ops::scatter(x, indices, read * 10.0));
  Program program(graph, device(tested_instruction_sets().front(), 2), Variables());
  const auto results = program.step({});
  EXPECT_TRUE(array_equal(results.at("read"), Array::of<float>({2, 4, 5, 7}, {2, 2, 1})));
  EXPECT_TRUE(array_equal(results.at("written"), Array::of<float>({1, 20, 3, 40, 50, 6, 70, 8}, {2, 2, 2})));
}

TEST(Indexed, AnIndexOutOfRangeNamesTheAxis) {
  for (int tiles = 1; tiles <= most_tiles; ++tiles) {
    const auto refused = [&](const Shape& x, std::int64_t axis, std::int32_t index, bool writes) {
      Graph graph;
      const Value values = ops::input(graph, "x", DType::float32, x);
      const Value one = ops::input(graph, "index", DType::int32, {1, 1}) + 1.0;
      const Graph::Scope scope(graph, "find");
      const Value read = ops::take_along(values, one, axis);
      graph.add_output("y", writes ? ops::scatter(values, one, read * 0.0, {.axis = axis}) : read);
      Program program(graph, device(tested_instruction_sets().front(), tiles), Variables());
      return message([&] { program.step({{"x", zeros(x)}, {"index", Array::of<std::int32_t>({index - 1}, {1, 1})}}); });
    };
    EXPECT_EQ(refused({3, 5}, 1, 5, false),
              "take_along 'find': index 5 is out of range for axis 1 of size 5; indices must be 0 to 4");
    EXPECT_EQ(refused({3, 5}, 0, -1, false),
              "take_along 'find': index -1 is out of range for axis 0 of size 3; indices must be 0 to 2");
    EXPECT_EQ(refused({3, 0}, 1, 0, false), "take_along 'find': index 0 is out of range; axis 1 is empty");
  }
}

TEST(Indexed, AnUpdateOutOfRangeEndsTheStep) {
  const auto refused = [](const Shape& x, int tiles) {
    Graph graph;
    Shape updates = x, shape = x;
    updates[0] = shape[0] = 3;
    if (x.rank() > 1) shape[1] = 1;
    const Value indices = ops::input(graph, "indices", DType::int32, shape) + 1.0;
    graph.add_output(
        "y", ops::scatter(ops::constant(graph, zeros(x)), indices, ops::constant(graph, ones(updates)), {.axis = 0}));
    Program program(graph, device(tested_instruction_sets().front(), tiles), Variables());
    return message([&] { program.step({{"indices", Array::of<std::int32_t>({0, 3, -2}, shape)}}); });
  };
  for (int tiles = 1; tiles <= most_tiles; ++tiles) {
    for (const Shape& x : {Shape{4}, Shape{4, 40}})
      EXPECT_EQ(refused(x, tiles), "scatter: index 4 is out of range for axis 0 of size 4; indices must be 0 to 3");
    EXPECT_EQ(refused({0}, tiles), "scatter: index 1 is out of range; axis 0 is empty");
  }
}

}  // namespace
}  // namespace pando::test
