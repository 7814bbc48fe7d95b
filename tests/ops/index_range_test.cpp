// SPDX-License-Identifier: Apache-2.0
// gather: what it does about indices that its table has no row for.
#include <gtest/gtest.h>
#include <pando/base/array_functions.h>
#include <pando/ops/ops.h>

#include "tests/message.h"
#include "tests/ops/running.h"

namespace pando::test {
namespace {

// y = gather(table, indices + 1), so that the host cannot know the indices; w = w + sum(y), in the layer "find".
struct Lookup {
  explicit Lookup(std::int64_t rows, std::int64_t count, const Device& device)
      : program(step(rows, count), device, variables) {}
  Graph step(std::int64_t rows, std::int64_t count) {
    Graph graph;
    variables.set("w", Array::scalar(1.0F));
    const Value table = ops::input(graph, "table", DType::float32, {rows, 2});
    const Value indices = ops::input(graph, "indices", DType::int32, {count});
    const Value w = ops::variable(graph, "w", DType::float32, {});
    const Graph::Scope scope(graph, "find");
    const Value y = ops::gather(table, indices + 1.0);
    graph.add_output("y", y);
    graph.assign(w, w + ops::reduce_sum(y));
    return graph;
  }
  Array operator()(const Array& table, const Array& indices) {
    return program.step({{"table", table}, {"indices", indices}}).at("y");
  }

  Variables variables;
  Program program;
};

TEST(Gather, AnIndexOutOfRangeEndsTheStep) {
  for (int tiles = 1; tiles <= most_tiles; ++tiles) {
    const Device& used = device(tested_instruction_sets().front(), tiles);
    Lookup lookup(5, 6, used);
    const Array table = ones({5, 2});
    const auto refused = [&](std::initializer_list<std::int32_t> indices) {
      return message([&] { lookup(table, Array::of<std::int32_t>(indices, {6})); });
    };
    // The first one is named, however many tiles there are; a GPU names the smallest.
    EXPECT_EQ(refused({0, 1, 2, 3, 6, 99}),
              "gather 'find': index 7 is out of range for a table of 5 rows; indices must be 0 to 4");
    EXPECT_EQ(refused({-2, 1, 2, 3, 3, 0}),
              "gather 'find': index -1 is out of range for a table of 5 rows; indices must be 0 to 4");
    // A GPU knows it only when the step is over.
    if (computes_as_the_host(used)) {
      EXPECT_EQ(lookup.variables.get("w").item<float>(), 1.0F);
    }
    lookup.variables.set("w", Array::scalar(1.0F));
    EXPECT_TRUE(array_equal(lookup(table, Array::of<std::int32_t>({-1, 0, 1, 2, 3, 3}, {6})), ones({6, 2})));
    EXPECT_EQ(lookup.variables.get("w").item<float>(), 13.0F);
  }
}

TEST(Gather, ATableOfOneRowOrNoneSaysSo) {
  const Device& used = device(tested_instruction_sets().front(), 1);
  const Array two = Array::of<std::int32_t>({0, 1}, {2});
  EXPECT_EQ(message([&] {
              Lookup(1, 2, used)(ones({1, 2}), two);
            }),
            "gather 'find': index 1 is out of range for a table of 1 row; indices must be 0");
  EXPECT_EQ(message([&] {
              Lookup(0, 2, used)(ones({0, 2}), two);
            }),
            "gather 'find': index 1 is out of range; the table has no rows");
}

// The compiler cannot fold what must fail.
TEST(Gather, ConstantsOutOfRangeFailWhenTheStepRuns) {
  const Device& used = device(tested_instruction_sets().front(), 1);
  Graph graph;
  graph.add_output(
      "y", ops::gather(ops::constant(graph, ones({5, 2})), ops::constant(graph, Array::of<std::int32_t>({0, 5}, {2}))));
  Variables variables;
  Program program(graph, used, variables);
  EXPECT_EQ(message([&] { program.run(1); }),
            "gather: index 5 is out of range for a table of 5 rows; indices must be 0 to 4");
}

}  // namespace
}  // namespace pando::test
