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

// On a device whose products of bfloat16 are much faster, dense gradients of many channels are worth their zeros.
TEST(FusePoolingGradients, FastProductsOfManyChannelsStayDense) {
  const Graph graph = parse_graph(
      "%0 = input() {name = \"x\", shape = [2, 12, 12, 64]}\n"
      "%1 = variable() {name = \"w\", shape = [3, 3, 64, 64]}\n"
      "%2 = input() {name = \"g\", shape = [2, 6, 6, 64]}\n"
      "%3 = input() {name = \"positions\", dtype = uint8, shape = [2, 6, 6, 64]}\n"
      "%4 = max_pool_gradient(%2, %3) {input_size = [12, 12]}\n"
      "%5 = conv2d_weight_gradient(%0, %4) {kernel_size = [3, 3], padding = [1, 1, 1, 1]}\n"
      "%6 = conv2d_input_gradient(%4, %1) {input_size = [12, 12], padding = [1, 1, 1, 1]}\n"
      "output dw = %5\n"
      "output dx = %6\n");
  const Capabilities fast = {.mixed_gradient_gain = 4};
  const auto kept = [&](const Graph& graph, const PassContext& context) {
    return ops_of(fuse_pooling_gradients(graph, context)) == ops_of(graph);
  };
  EXPECT_TRUE(kept(graph, {.capabilities = fast, .mixed_bfloat16 = true}));
  EXPECT_FALSE(kept(graph, {.capabilities = fast}));
  EXPECT_FALSE(kept(graph, {.mixed_bfloat16 = true}));
  // The gain of a group of two images, and of one that this batch does not fill.
  EXPECT_TRUE(kept(graph, {.capabilities = {.mixed_group_gain = 4, .image_group = 2}, .mixed_bfloat16 = true}));
  EXPECT_FALSE(kept(graph, {.capabilities = {.mixed_group_gain = 4, .image_group = 3}, .mixed_bfloat16 = true}));
  // 16 channels do not fill blocks of bfloat16.
  EXPECT_FALSE(kept(pooling_gradients("", ""), {.capabilities = fast, .mixed_bfloat16 = true}));
}

// The first layer of a network for grey images multiplies less than it takes to find the largest elements.
TEST(FusePoolingGradients, FewProductsStayDense) {
  const std::string text = ops_of(fuse_pooling_gradients(pool_early(convolution_step(), {}), {}));
  EXPECT_NE(text.find("max_pool_gradient reduce_sum conv2d_weight_gradient"), std::string::npos) << text;
}

// A device whose gradients of narrow filters make the zeros themselves stores none, unless something else reads them.
TEST(FusePoolingGradients, TheGradientOfANarrowFilterMakesTheZeros) {
  const auto first_layer = [](const std::string& more) {
    return parse_graph(
        "%0 = input() {name = \"x\", shape = [2, 14, 14, 1]}\n"
        "%1 = input() {name = \"g\", shape = [2, 6, 6, 32]}\n"
        "%2 = input() {name = \"positions\", dtype = uint8, shape = [2, 6, 6, 32]}\n"
        "%3 = max_pool_gradient(%1, %2) {input_size = [12, 12]}\n"
        "%4 = conv2d_weight_gradient(%0, %3) {kernel_size = [3, 3]}\n"
        "output dw = %4\n" +
        more);
  };
  const auto fused = [](const Graph& graph, std::int64_t most_filters) {
    const Capabilities capabilities = {.most_spread_filters = most_filters};
    return ops_of(remove_dead_nodes(fuse_pooling_gradients(graph, {.capabilities = capabilities}), {}));
  };
  EXPECT_EQ(fused(first_layer(""), 32), "conv2d_max_pool_weight_gradient");
  EXPECT_EQ(fused(first_layer(""), 31), "max_pool_gradient conv2d_weight_gradient");
  EXPECT_EQ(fused(first_layer("output dy = %3\n"), 32), "max_pool_gradient conv2d_weight_gradient");
}

}  // namespace
}  // namespace pando
