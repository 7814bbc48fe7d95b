// SPDX-License-Identifier: Apache-2.0
// The passes around max pooling, each on a graph small enough to read: what is done before it on fewer values, and the
// convolution and its gradients that are joined with it.
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "tests/compiler/small_graphs.h"

namespace pando {
namespace {

TEST(PoolEarly, BiasAndActivationWorkOnPooledValues) {
  const Graph result = pool_early(convolution_step(), {});
  const std::string text = ops_of(result);
  EXPECT_EQ(text.substr(0, 25), "conv2d max_pool add relu ");
  // The bias gradient sums the pooled gradient; only the convolution's own gradient is scattered.
  EXPECT_NE(text.find("relu_gradient max_pool_gradient"), std::string::npos) << text;
  for (const Node& node : result.nodes())
    if (node.op->name == "reduce_sum") {
      EXPECT_EQ(result.type(node.inputs[0]).shape, (Shape{2, 4, 4, 4}));
    }
}

TEST(FuseConvolutionPooling, MakesOneNodeOfBoth) {
  EXPECT_EQ(after(fuse_convolution_pooling, pool_early(convolution_step(), {})).substr(0, 16), "conv2d_max_pool ");
}

// Both gradients of a convolution before a max pooling.
Graph pooling_gradients(const std::string& convolution, const std::string& pooling) {
  return parse_graph(
      "%0 = input() {name = \"x\", shape = [2, 14, 14, 16]}\n"
      "%1 = variable() {name = \"w\", shape = [3, 3, 16, 32]}\n"
      "%2 = input() {name = \"g\", shape = [2, 6, 6, 32]}\n"
      "%3 = input() {name = \"positions\", dtype = uint8, shape = [2, 6, 6, 32]}\n"
      "%4 = max_pool_gradient(%2, %3) {input_size = [12, 12]" +
      pooling + "}\n%5 = conv2d_weight_gradient(%0, %4) {kernel_size = [3, 3]" + convolution +
      "}\n%6 = conv2d_input_gradient(%4, %1) {input_size = [14, 14]" + convolution +
      "}\n"
      "output dw = %5\n"
      "output dx = %6\n");
}

TEST(FusePoolingGradients, BothGradientsOfAConvolutionReadValuesAndPositions) {
  const Graph result = remove_dead_nodes(fuse_pooling_gradients(pooling_gradients("", ""), {}), {});
  EXPECT_EQ(ops_of(result), "conv2d_max_pool_weight_gradient conv2d_max_pool_input_gradient");
  const Node& weight = result.nodes()[4];
  EXPECT_EQ(weight.inputs, (std::vector<ValueId>{{0, 0}, {2, 0}, {3, 0}}));
  EXPECT_EQ(weight.attributes.integers("pool_window"), (Integers{2, 2}));
  EXPECT_EQ(result.nodes()[5].inputs, (std::vector<ValueId>{{2, 0}, {1, 0}, {3, 0}}));
}

// Windows that overlap add up in one place.
TEST(FusePoolingGradients, WindowsThatOverlapStayDense) {
  const Graph graph = pooling_gradients("", ", window = [3, 3], padding = [0, 1, 0, 1]");
  EXPECT_EQ(ops_of(fuse_pooling_gradients(graph, {})), ops_of(graph));
}

// It is asked about each gradient by itself, with the shapes that the kernels have.
TEST(FusePoolingGradients, TheBackendDecides) {
  std::vector<PooledGradientChoice> asked;
  const auto decide = [&](bool of_filter, bool mixed_bfloat16) {
    asked.clear();
    const PassContext context = {.prefers_pooled_gradient =
                                     [&](const PooledGradientChoice& choice) {
                                       asked.push_back(choice);
                                       return choice.of_filter == of_filter;
                                     },
                                 .mixed_bfloat16 = mixed_bfloat16};
    return ops_of(remove_dead_nodes(fuse_pooling_gradients(pooling_gradients("", ""), context), {}));
  };
  EXPECT_EQ(decide(true, false), "max_pool_gradient conv2d_max_pool_weight_gradient conv2d_input_gradient");
  EXPECT_EQ(decide(false, true), "max_pool_gradient conv2d_weight_gradient conv2d_max_pool_input_gradient");
  ASSERT_EQ(std::ssize(asked), 2);
  for (const PooledGradientChoice& choice : asked) {
    EXPECT_EQ(choice.filter, (Shape{3, 3, 16, 32}));
    EXPECT_EQ(choice.pooled, (Shape{2, 6, 6, 32}));
    EXPECT_EQ(choice.pixels, choice.of_filter ? (Shape{2, 12, 12, 32}) : (Shape{2, 14, 14, 16}));
    EXPECT_TRUE(choice.mixed_bfloat16);
    EXPECT_TRUE(choice.keeps_zeros);
  }
}

// The first layer of a network for grey images multiplies less than it takes to find the largest elements.
TEST(FusePoolingGradients, FewProductsStayDense) {
  const std::string text = ops_of(fuse_pooling_gradients(pool_early(convolution_step(), {}), {}));
  EXPECT_NE(text.find("max_pool_gradient reduce_sum conv2d_weight_gradient"), std::string::npos) << text;
}

// Where nothing else reads the zeros, a backend may make them itself.
TEST(FusePoolingGradients, TheBackendIsToldWhoReadsTheZeros) {
  const auto keeps_zeros = [](const std::string& more) {
    const Graph graph = parse_graph(
        "%0 = input() {name = \"x\", shape = [2, 14, 14, 1]}\n"
        "%1 = input() {name = \"g\", shape = [2, 6, 6, 32]}\n"
        "%2 = input() {name = \"positions\", dtype = uint8, shape = [2, 6, 6, 32]}\n"
        "%3 = max_pool_gradient(%1, %2) {input_size = [12, 12]}\n"
        "%4 = conv2d_weight_gradient(%0, %3) {kernel_size = [3, 3]}\n"
        "output dw = %4\n" +
        more);
    std::vector<bool> told;
    fuse_pooling_gradients(graph, {.prefers_pooled_gradient = [&](const PooledGradientChoice& choice) {
                             told.push_back(choice.keeps_zeros);
                             return true;
                           }});
    return told;
  };
  EXPECT_EQ(keeps_zeros(""), std::vector<bool>{false});
  EXPECT_EQ(keeps_zeros("output dy = %3\n"), std::vector<bool>{true});
}

}  // namespace
}  // namespace pando
