// SPDX-License-Identifier: Apache-2.0
// Building graphs, verifying them, and what is refused.
#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>

#include <gtest/gtest.h>

#include "graph/rewrite.h"
#include "graph/verify.h"
#include "ops/op_list.h"
#include "tests/message.h"

namespace pando {
namespace {

struct GraphTest : testing::Test {
  Graph graph;
  Value x = ops::input(graph, "x", DType::float32, {2, 3});
  Value w = ops::variable(graph, "w", DType::float32, {3, 4});
};

TEST_F(GraphTest, KnowsEveryTypeWhenANodeIsMade) {
  const Value y = ops::relu(ops::matmul(x, w));
  EXPECT_EQ(to_string(y.type()), "float32[2, 4]");
  EXPECT_NO_THROW(verify(graph));
}

TEST_F(GraphTest, AScopeNamesItsNodesInMessages) {
  const Graph::Scope outer(graph, "layer1");
  const Graph::Scope inner(graph, "dense");
  EXPECT_EQ(message([&] { ops::add(x, w); }),
            "add 'layer1/dense': the shapes [2, 3] and [3, 4] do not broadcast: sizes 2 and 3 differ and neither is 1; "
            "reshape or broadcast one of them");
}

TEST_F(GraphTest, RefusesForeignAndEmptyValues) {
  Graph other;
  const Value foreign = ops::input(other, "x", DType::float32, {2, 3});
  EXPECT_EQ(message([&] { ops::add(x, foreign); }),
            "add: an input belongs to another graph; build all values in one graph");
  EXPECT_EQ(message([&] { ops::add(x, Value()); }), "add: input 1 is an empty Value; build it with an op first");
  EXPECT_EQ(message([&] { ops::relu(Value()); }), "an empty Value was used; build it with an op first");
}

TEST_F(GraphTest, RefusesWrongAttributes) {
  EXPECT_EQ(message([&] {
              graph.add(definitions::leaky_relu, {x}, {{"alhpa", 0.5}});
            }),
            "leaky_relu: unknown attribute 'alhpa'; did you mean 'alpha'?");
  EXPECT_EQ(message([&] {
              graph.add(definitions::leaky_relu, {x}, {{"alpha", true}});
            }),
            "leaky_relu: attribute 'alpha' is a bool but must be a number");
  EXPECT_EQ(message([&] { graph.add(definitions::relu, {x, x}); }), "relu: takes 1 input, not 2");
}

TEST_F(GraphTest, RefusesNegativeAndOverflowingSizes) {
  EXPECT_EQ(message([&] {
              ops::input(graph, "bad", DType::float32, {-1, 3});
            }),
            "input: 'shape' is [-1, 3]; sizes must not be negative");
  const Value wide = ops::input(graph, "wide", DType::float64, {1ll << 40, 1});
  EXPECT_EQ(
      message([&] {
        ops::broadcast(wide, {1ll << 40, 1ll << 40});
      }),
      "broadcast: the shape [1099511627776, 1099511627776] has more elements than fit in 64 bits; use smaller sizes");
  EXPECT_EQ(message([&] { ops::input(graph, "bytes", DType::float64, {1ll << 61}); }),
            "input: the shape [2305843009213693952] has more bytes than fit in 64 bits; use smaller sizes");
}

TEST_F(GraphTest, RefusesAssignmentsThatDoNotFit) {
  EXPECT_EQ(message([&] { graph.assign(x, x); }), "assign: the target is the result of input, not a variable");
  EXPECT_EQ(message([&] { graph.assign(w, x); }),
            "assign: variable 'w' is float32[3, 4] and cannot take a value of float32[2, 3]");
  graph.assign(w, w * 2.0);
  EXPECT_EQ(message([&] { graph.assign(w, w); }), "assign: variable 'w' is assigned twice");
  graph.add_output("y", x);
  EXPECT_EQ(message([&] { graph.add_output("y", x); }), "there are two outputs named 'y'; rename one");
}

TEST_F(GraphTest, VerifyFindsACycle) {
  Node node{&definitions::relu, {{3, 0}}, {}, {x.type()}, ""};
  GraphEditor::append(graph, node);
  node.inputs = {{2, 0}};
  GraphEditor::append(graph, node);
  EXPECT_EQ(
      message([&] { verify(graph); }),
      "graph: %2 (relu) uses %3, which comes after it: the graph has a cycle; feed a value back through a variable "
      "instead");
}

TEST_F(GraphTest, VerifyFindsWrongTypesAndNames) {
  GraphEditor::append(graph, {&definitions::relu, {x.id()}, {}, {w.type()}, ""});
  EXPECT_EQ(message([&] { verify(graph); }),
            "graph: %2 (relu) is typed float32[3, 4] but its inputs make it float32[2, 3]");
  Graph twice;
  ops::input(twice, "x", DType::float32, {1});
  ops::variable(twice, "x", DType::float32, {1});
  EXPECT_EQ(message([&] { verify(twice); }), "graph: two inputs or variables are named 'x'; rename one");
  Graph dangling;
  GraphEditor::append(dangling, {&definitions::relu, {{7, 0}}, {}, {x.type()}, ""});
  EXPECT_EQ(message([&] { verify(dangling); }), "graph: %0 (relu) uses %7#0, which does not exist");
}

TEST_F(GraphTest, GradientsComputeNothingThatNobodyAskedFor) {
  const Value loss = ops::reduce_sum(ops::square(ops::matmul(x, w)));
  const std::size_t before = graph.nodes().size();
  gradients(loss, {w});
  std::size_t products = 0;
  for (std::size_t i = before; i < graph.nodes().size(); ++i) products += graph.nodes()[i].op->id == Op::matmul;
  EXPECT_EQ(products, 1u);
}

TEST_F(GraphTest, AnUnrelatedValueHasAZeroGradient) {
  const Value unrelated = ops::variable(graph, "u", DType::float32, {5});
  const std::vector<Value> found = gradients(ops::reduce_sum(x), {unrelated});
  EXPECT_EQ(to_string(found[0].type()), "float32[5]");
}

TEST_F(GraphTest, GradientsRefuseWhatHasNone) {
  EXPECT_EQ(message([&] { gradients(x, {w}); }),
            "gradients: the loss is float32[2, 3] but must be a float scalar; reduce it with a mean or a sum");
  const Value loss = ops::reduce_sum(ops::floor(ops::matmul(x, w)));
  EXPECT_EQ(message([&] { gradients(loss, {w}); }),
            "gradients: floor has no gradient; take the gradient with respect to values after it");
}

}  // namespace
}  // namespace pando
