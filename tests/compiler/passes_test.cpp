// SPDX-License-Identifier: Apache-2.0
// Each pass of the compiler on a graph small enough to read.
#include <pando/ops/ops.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/compile.h"
#include "graph/op_definition.h"
#include "ops/op_list.h"
#include "tests/compiler/small_graphs.h"
#include "tests/message.h"

namespace pando {
namespace {

TEST(RemoveDeadNodes, KeepsWhatOutputsAndAssignmentsNeed) {
  const Graph graph = parse_graph(
      "%0 = input() {name = \"x\", shape = [2]}\n"
      "%1 = variable() {name = \"v\", shape = [2]}\n"
      "%2 = relu(%0)\n"
      "%3 = tanh(%0)\n"
      "%4 = add(%1, %2)\n"
      "%5 = exp(%3)\n"
      "output y = %2\n"
      "assign %1 = %4\n");
  EXPECT_EQ(ops_of(remove_dead_nodes(graph, {})), "relu add");
}

TEST(FoldConstants, ComputesWhatIsKnownAndLeavesWhatWouldGrow) {
  const Graph graph = parse_graph(
      "%0 = constant() {value = <1, 2>} : float32[2]\n"
      "%1 = constant() {value = <3>} : float32[]\n"
      "%2 = multiply(%0, %1)\n"
      "%3 = broadcast(%1) {shape = [64, 64]}\n"
      "output small = %2\n"
      "output large = %3\n");
  int calls = 0;
  const Evaluate evaluate = [&](const Node& node, const std::vector<Array>&) {
    ++calls;
    return std::vector<Array>{Array(node.outputs[0].dtype, node.outputs[0].shape)};
  };
  EXPECT_EQ(ops_of(remove_dead_nodes(fold_constants(graph, {evaluate}), {})), "broadcast");
  EXPECT_EQ(calls, 1);
}

TEST(Simplify, RemovesWhatChangesNothing) {
  const Graph graph = parse_graph(
      "%0 = input() {name = \"x\", shape = [4, 6]}\n"
      "%1 = constant() {value = <1>} : float32[]\n"
      "%2 = constant() {value = <0>} : float32[]\n"
      "%3 = multiply(%0, %1)\n"
      "%4 = add(%2, %3)\n"
      "%5 = reshape(%4) {shape = [24]}\n"
      "%6 = reshape(%5) {shape = [6, 4]}\n"
      "%7 = divide(%6, %1)\n"
      "output y = %7\n");
  EXPECT_EQ(after(simplify, graph), "reshape");
}

TEST(Simplify, LeavesBroadcastsThatNothingElseMakes) {
  const Graph graph = parse_graph(
      "%0 = input() {name = \"x\", shape = [3]}\n"
      "%1 = input() {name = \"y\", shape = [2, 3]}\n"
      "%2 = broadcast(%0) {shape = [2, 3]}\n"
      "%3 = add(%2, %1)\n"
      "%4 = relu(%2)\n"
      "output a = %3\n"
      "output b = %4\n");
  EXPECT_EQ(after(simplify, graph), "broadcast add relu");
}

TEST(Simplify, JoinsTheGradientsOfSlicesInAnyOrder) {
  for (const char* sums : {"%6 = add(%5, %4)\n%7 = add(%3, %6)\n", "%6 = add(%5, %3)\n%7 = add(%6, %4)\n",
                           "%6 = add(%3, %4)\n%7 = add(%6, %5)\n"}) {
    const Graph graph =
        parse_graph(fmt::format("%0 = input() {{name = \"q\", shape = [2, 3]}}\n"
                                "%1 = input() {{name = \"k\", shape = [2, 1]}}\n"
                                "%2 = input() {{name = \"v\", shape = [2, 2]}}\n"
                                "%3 = pad(%0) {{before = [0, 0], after = [0, 3]}}\n"
                                "%4 = pad(%1) {{before = [0, 3], after = [0, 2]}}\n"
                                "%5 = pad(%2) {{before = [0, 4], after = [0, 0]}}\n"
                                "{}output y = %7\n",
                                sums));
    const Graph joined = remove_dead_nodes(simplify(graph, {}), {});
    EXPECT_EQ(ops_of(joined), "concat") << sums;
    EXPECT_EQ(joined.nodes().back().inputs, (std::vector<ValueId>{{0, 0}, {1, 0}, {2, 0}})) << sums;
    EXPECT_EQ(joined.nodes().back().attributes.integer("axis"), 1) << sums;
  }
}

TEST(Simplify, KeepsZerosBetweenParts) {
  const auto sum_of = [](const char* first, const char* second) {
    return parse_graph(
        fmt::format("%0 = input() {{name = \"x\", shape = [2, 2]}}\n"
                    "%1 = input() {{name = \"y\", shape = [2, 2]}}\n"
                    "%2 = pad(%0) {{{}}}\n"
                    "%3 = pad(%1) {{{}}}\n"
                    "%4 = add(%2, %3)\n"
                    "output y = %4\n",
                    first, second));
  };
  // Zeros that are left around the parts stay.
  EXPECT_EQ(after(simplify, sum_of("before = [0, 1], after = [0, 3]", "before = [0, 3], after = [0, 1]")),
            "concat pad");
  // A gap, an overlap, two axes, and something else than zeros.
  EXPECT_EQ(after(simplify, sum_of("before = [0, 0], after = [0, 3]", "before = [0, 3], after = [0, 0]")),
            "pad pad add");
  EXPECT_EQ(after(simplify, sum_of("before = [0, 0], after = [0, 1]", "before = [0, 1], after = [0, 0]")),
            "pad pad add");
  EXPECT_EQ(after(simplify, sum_of("before = [0, 0], after = [2, 2]", "before = [2, 2], after = [0, 0]")),
            "pad pad add");
  EXPECT_EQ(after(simplify, sum_of("before = [0, 0], after = [0, 2], value = 1.0", "before = [0, 2], after = [0, 0]")),
            "pad pad add");
}

TEST(MergeCommonSubexpressions, KeepsOneOfEqualNodes) {
  const Graph graph = parse_graph(
      "%0 = input() {name = \"x\", shape = [3]}\n"
      "%1 = exp(%0)\n"
      "%2 = exp(%0)\n"
      "%3 = leaky_relu(%1) {alpha = 0.1}\n"
      "%4 = leaky_relu(%2) {alpha = 0.2}\n"
      "%5 = add(%3, %4)\n"
      "output y = %5\n");
  EXPECT_EQ(after(merge_common_subexpressions, graph), "exp leaky_relu leaky_relu add");
}

TEST(ChooseLayouts, TransposesMeetAndCancel) {
  const Graph graph = parse_graph(
      "%0 = input() {name = \"x\", shape = [2, 3, 8, 8]}\n"
      "%1 = variable() {name = \"b\", shape = [3, 1, 1]}\n"
      "%2 = transpose(%0) {permutation = [0, 2, 3, 1]}\n"
      "%3 = max_pool(%2)\n"
      "%4 = transpose(%3#0) {permutation = [0, 3, 1, 2]}\n"
      "%5 = add(%4, %1)\n"
      "%6 = relu(%5)\n"
      "%7 = transpose(%6) {permutation = [0, 2, 3, 1]}\n"
      "%8 = max_pool(%7)\n"
      "output y = %8#0\n");
  // One transpose of the input stays, and one of the three biases.
  EXPECT_EQ(after(choose_layouts, graph), "transpose max_pool reshape transpose add relu max_pool");
}

TEST(ChooseLayouts, AMatmulTakesTransposesItself) {
  const Graph graph = parse_graph(
      "%0 = input() {name = \"x\", shape = [4, 2]}\n"
      "%1 = input() {name = \"y\", shape = [4, 3]}\n"
      "%2 = transpose(%0) {permutation = [1, 0]}\n"
      "%3 = matmul(%2, %1)\n"
      "output y = %3\n");
  const Graph result = remove_dead_nodes(choose_layouts(graph, {}), {});
  EXPECT_EQ(ops_of(result), "matmul");
  EXPECT_TRUE(result.nodes().back().attributes.flag("transpose_a"));
}

TEST(FuseElementwise, AChainBecomesTheEpilogueOfItsProducer) {
  const Graph graph = parse_graph(
      "%0 = input() {name = \"x\", shape = [2, 3]}\n"
      "%1 = variable() {name = \"w\", shape = [3, 4]}\n"
      "%2 = variable() {name = \"b\", shape = [4]}\n"
      "%3 = matmul(%0, %1)\n"
      "%4 = add(%3, %2)\n"
      "%5 = relu(%4)\n"
      "output y = %5\n");
  const Graph result = fuse_elementwise(graph, {});
  EXPECT_EQ(ops_of(result), "matmul");
  EXPECT_NE(
      to_string(result).find("epilogue = (float32, float32: t2 = add(t0, t1) float32; t3 = relu(t2) float32; -> t3)"),
      std::string::npos);
}

// Backends say whether their gradients of convolutions can end with one.
TEST(FuseElementwise, TheGradientOfReluBecomesTheEpilogueOfAGradient) {
  const Graph graph = parse_graph(
      "%0 = input() {name = \"dy\", shape = [2, 4, 4, 3]}\n"
      "%1 = variable() {name = \"w\", shape = [3, 3, 2, 3]}\n"
      "%2 = input() {name = \"y\", shape = [2, 6, 6, 2]}\n"
      "%3 = conv2d_input_gradient(%0, %1) {input_size = [6, 6]}\n"
      "%4 = relu_gradient(%3, %2)\n"
      "output dx = %4\n");
  EXPECT_EQ(ops_of(fuse_elementwise(graph, {.capabilities = {.gradient_epilogues = true}})), "conv2d_input_gradient");
  EXPECT_EQ(ops_of(fuse_elementwise(graph, {})), "conv2d_input_gradient relu_gradient");
}

TEST(FuseElementwise, AValueThatOthersUseIsNotHidden) {
  const Graph graph = parse_graph(
      "%0 = input() {name = \"x\", shape = [2, 3]}\n"
      "%1 = exp(%0)\n"
      "%2 = negate(%1)\n"
      "%3 = tanh(%2)\n"
      "%4 = reduce_sum(%1) {axes = [0, 1]}\n"
      "output y = %3\n"
      "output z = %4\n");
  EXPECT_EQ(ops_of(fuse_elementwise(graph, {})), "exp fused reduce_sum");
}

// A parameter that descends along a product of its own, by sgd_update with these attributes.
Graph dense_step(const std::string& attributes, const std::string& more = "") {
  return parse_graph(
      "%0 = input() {name = \"x\", shape = [8, 3]}\n"
      "%1 = input() {name = \"g\", shape = [8, 4]}\n"
      "%2 = variable() {name = \"w\", shape = [3, 4]}\n"
      "%3 = variable() {name = \"rate\", shape = []}\n"
      "%4 = matmul(%0, %1) {transpose_a = true}\n"
      "%5 = sgd_update(%3, %2, %4)" +
      attributes + "\n" + more + "assign %2 = %5\n");
}

TEST(FuseUpdates, TheGradientIsNeverStored) {
  const Graph result = remove_dead_nodes(fuse_updates(dense_step(""), {}), {});
  EXPECT_EQ(ops_of(result), "matmul_update");
  EXPECT_TRUE(result.nodes().back().attributes.flag("transpose_a"));
  // The parameter is written where it is.
  const Plan plan = compile(dense_step(""));
  ASSERT_EQ(plan.supersteps.size(), 1u);
  EXPECT_EQ(plan.supersteps[0][0].outputs[0].buffer, plan.supersteps[0][0].inputs[2].buffer);
}

TEST(FuseUpdates, AGradientThatOthersUseAndOtherDescentsStay) {
  EXPECT_EQ(ops_of(fuse_updates(dense_step("", "output slope = %4\n"), {})), "matmul sgd_update");
  EXPECT_EQ(ops_of(fuse_updates(dense_step(" {weight_decay = 0.1}"), {})), "matmul sgd_update");
}

TEST(MergeUpdates, OneSweepForAllParameters) {
  const Graph result = merge_updates(convolution_step(), {});
  EXPECT_EQ(
      std::count_if(result.nodes().begin(), result.nodes().end(), [](const Node& node) { return node.op->is_update; }),
      1);
  EXPECT_EQ(result.nodes().back().attributes.integer("groups"), 2);
}

// The heads of an attention: parts of the rows of %0.
Graph attention(const std::string& rest) {
  return parse_graph(
      "%0 = input() {name = \"x\", shape = [2, 4, 48]}\n"
      "%1 = input() {name = \"y\", shape = [2, 2, 8, 5]}\n"
      "%2 = slice(%0) {starts = [0, 0, 16], sizes = [2, 4, 16]}\n"
      "%3 = reshape(%2) {shape = [2, 4, 2, 8]}\n"
      "%4 = transpose(%3) {permutation = [0, 2, 1, 3]}\n"
      "%5 = matmul(%4, %1)\n"
      "output z = %5\n" +
      rest);
}

TEST(ReadFactorsInPlace, AMatmulReadsHeadsWhereTheyAre) {
  const Graph result = read_factors_in_place(attention(""), {});
  EXPECT_EQ(ops_of(result), "view matmul");
  const Attributes& view = result.nodes()[2].attributes;
  EXPECT_EQ(view.integers("shape"), (Integers{2, 2, 4, 8}));
  EXPECT_EQ(view.integers("strides"), (Integers{192, 8, 48, 1}));
  EXPECT_EQ(view.integer("offset"), 16);
}

TEST(ReadFactorsInPlace, ACopyThatOthersNeedStays) {
  EXPECT_EQ(ops_of(read_factors_in_place(attention("output heads = %4\n"), {})), "slice reshape transpose matmul");
  // It is still there for the other reader, and the matmul reads %0.
  EXPECT_EQ(ops_of(read_factors_in_place(attention("output part = %2\n"), {})), "slice view matmul");
}

TEST(ReadFactorsInPlace, RowsThatDoNotLieSideBySideAreCopied) {
  const auto after_moving = [](const std::string& moved, const std::string& sizes) {
    return ops_of(read_factors_in_place(parse_graph("%0 = input() {name = \"x\", shape = [4, 16, 8]}\n" + moved +
                                                    "%2 = input() {name = \"y\", shape = " + sizes +
                                                    "}\n"
                                                    "%3 = matmul(%1, %2)\n"
                                                    "output z = %3\n"),
                                        {}));
  };
  EXPECT_EQ(after_moving("%1 = transpose(%0) {permutation = [1, 0, 2]}\n", "[8, 3]"), "view matmul");
  EXPECT_EQ(after_moving("%1 = transpose(%0) {permutation = [2, 1, 0]}\n", "[4, 3]"), "transpose matmul");
  // Rows of 28 bytes.
  EXPECT_EQ(after_moving("%1 = slice(%0) {starts = [0, 0, 1], sizes = [4, 16, 7]}\n", "[7, 3]"), "slice matmul");
  // All of %0, as it is.
  EXPECT_EQ(after_moving("%1 = reshape(%0) {shape = [64, 8]}\n", "[8, 3]"), "reshape matmul");
}

TEST(ReadFactorsInPlace, ABackendMayReadViewsForBatchesOfMatricesOnly) {
  const PassContext context = {.capabilities = {.single_products_in_place = false}};
  EXPECT_EQ(ops_of(read_factors_in_place(attention(""), context)), "view matmul");
  const Graph single = parse_graph(
      "%0 = input() {name = \"x\", shape = [4, 16]}\n"
      "%1 = slice(%0) {starts = [0, 8], sizes = [4, 8]}\n"
      "%2 = input() {name = \"y\", shape = [8, 3]}\n"
      "%3 = matmul(%1, %2)\n"
      "output z = %3\n");
  EXPECT_EQ(ops_of(read_factors_in_place(single, context)), "slice matmul");
  EXPECT_EQ(ops_of(read_factors_in_place(single, {})), "view matmul");
}

TEST(ReadFactorsInPlace, OtherOpsReadNoViews) {
  const auto compile_with = [](const std::string& place, const std::string& last) {
    return message([&] {
      compile(parse_graph("%0 = input() {name = \"x\", shape = [4, 16]}\n"
                          "%1 = view(%0) {shape = [4, 8], strides = " +
                          place + "}\n" + last),
              {});
    });
  };
  const std::string half = "[16, 1], offset = 8";
  EXPECT_EQ(compile_with(half, "%2 = relu(%1)\noutput y = %2\n"),
            "graph: %2 (relu) uses %1, a view; only matmul reads views, so use transpose or slice");
  EXPECT_EQ(compile_with(half, "output y = %1\n"),
            "graph: output 'y' uses %1, a view; only matmul reads views, so use transpose or slice");
  for (const char* place :
       {"[16, 1], offset = 9", "[16, 1], offset = -1", "[-16, 1], offset = 48", "[9223372036854775807, 1], offset = 0"})
    EXPECT_EQ(compile_with(place, ""),
              "line 2: view: elements of [4, 8] at these steps exceed the 64 of [4, 16]; choose a smaller shape");
  EXPECT_EQ(compile_with("[1, 2]", ""),
            "line 2: view: the strides [1, 2] do not give [4, 8] rows of neighbours; give it two axes or more, each a "
            "stride, and the last one 1");
}

TEST(PermuteProducts, AMatmulWritesWhatATransposeWouldMove) {
  const auto after_product = [](const std::string& rest) {
    return permute_products(parse_graph("%0 = input() {name = \"x\", shape = [2, 3, 4, 5]}\n"
                                        "%1 = input() {name = \"y\", shape = [2, 3, 5, 8]}\n"
                                        "%2 = matmul(%0, %1)\n" +
                                        rest),
                            {});
  };
  const std::string transpose = "%3 = transpose(%2) {permutation = [0, 2, 1, 3]}\noutput z = %3\n";
  const Graph permuted = after_product(transpose);
  EXPECT_EQ(ops_of(permuted), "matmul");
  EXPECT_EQ(permuted.nodes()[2].attributes.integers("permutation"), (Integers{0, 2, 1, 3}));
  EXPECT_EQ(permuted.nodes()[2].outputs[0].shape, (Shape{2, 4, 3, 8}));
  // Others read the product as it is, and columns stay side by side.
  EXPECT_EQ(ops_of(after_product(transpose + "output product = %2\n")), "matmul transpose");
  EXPECT_EQ(ops_of(after_product("%3 = transpose(%2) {permutation = [0, 1, 3, 2]}\noutput z = %3\n")),
            "matmul transpose");
}

TEST(PermuteProducts, AMatmulRefusesOtherOrders) {
  const auto product = [](const std::string& attributes) {
    return message([&] {
      parse_graph(
          "%0 = input() {name = \"x\", shape = [2, 3, 4]}\n"
          "%1 = matmul(%0, %0) {transpose_b = true, permutation = " +
          attributes + "}\n");
    });
  };
  EXPECT_EQ(product("[1, 1, 2]"),
            "line 2: matmul: permutation is [1, 1, 2], but it must name all axes of [2, 3, 3] once, the last one last, "
            "and there can be no epilogue; use transpose");
  EXPECT_EQ(product("[2, 0, 1]"),
            "line 2: matmul: permutation is [2, 0, 1], but it must name all axes of [2, 3, 3] once, the last one last, "
            "and there can be no epilogue; use transpose");
  EXPECT_EQ(product("[1, 0, 2]"), "(nothing was thrown)");
}

TEST(Compile, ATrainingStepOfFewSupersteps) {
  const Plan plan = compile(convolution_step());
  const auto kernels = [&] {
    std::size_t count = 0;
    for (const Superstep& superstep : plan.supersteps) count += superstep.size();
    return count;
  }();
  EXPECT_LE(plan.supersteps.size(), 7u) << to_string(plan);
  EXPECT_LE(kernels, 10u) << to_string(plan);
}

TEST(Compile, RefusesAnUnknownPass) {
  EXPECT_EQ(message([] { compile(Graph(), {.disabled_passes = {"fuse_elementwize"}}); }),
            "unknown pass 'fuse_elementwize'; did you mean 'fuse_elementwise'?");
}

TEST(Compile, ReportsEveryPassWithItsTimeAndText) {
  std::vector<std::string> names;
  compile(convolution_step(), {.on_pass = [&](const PassReport& report) {
            names.emplace_back(report.name);
            EXPECT_GE(report.microseconds, 0);
            EXPECT_FALSE(report.text().empty());
          }});
  for (const std::string& name : pass_names())
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
}

}  // namespace
}  // namespace pando
