// SPDX-License-Identifier: Apache-2.0
// Which gradients of a convolution before a max pooling the CPU computes from values and positions.
#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/kernels/conv_pool_choice.h"
#include "tests/runtime/modelled_tiles.h"

namespace pando::cpu {
namespace {

struct Gains {
  double single = 1, group = 1;
  std::int64_t images = 0;
};

// The answers for the gradient of the filter and for that of the images, on a processor with these gains.
std::vector<bool> answers(PooledGradientChoice choice, const Gains& gains) {
  MixedMatmulRoutines products = modelled_products;
  products.gradient_gain = gains.single;
  products.group_gain = gains.group;
  products.image_group = gains.images;
  Routines routines = routines_for(choose_instruction_set(""));
  routines.matmul.mixed = &products;
  std::vector<bool> result;
  for (const bool of_filter : {true, false}) {
    choice.of_filter = of_filter;
    result.push_back(prefers_pooled_gradient(choice, routines));
  }
  return result;
}

const std::vector<bool> both = {true, true}, none = {false, false};

// A convolution of two images of 12 x 12 pixels that keeps their size.
PooledGradientChoice convolution(std::int64_t channels) {
  return {.filter = {3, 3, channels, 64},
          .pooled = {2, 6, 6, 64},
          .pixels = {2, 12, 12, 64},
          .mixed_bfloat16 = true,
          .keeps_zeros = true};
}

TEST(PooledGradientChoice, FastProductsOfManyChannelsMultiplyTheZeros) {
  EXPECT_EQ(answers(convolution(64), {.single = 4}), none);
  EXPECT_EQ(answers(convolution(64), {}), both);
  // Gains are those of products that round their factors.
  PooledGradientChoice float32 = convolution(64);
  float32.mixed_bfloat16 = false;
  EXPECT_EQ(answers(float32, {.single = 4}), both);
  // 16 channels do not fill blocks of bfloat16.
  EXPECT_EQ(answers(convolution(16), {.single = 4}), both);
}

TEST(PooledGradientChoice, GroupsOfImagesHaveAGainOfTheirOwn) {
  EXPECT_EQ(answers(convolution(64), {.group = 4, .images = 2}), none);
  // Two images do not fill three quarters of this group.
  EXPECT_EQ(answers(convolution(64), {.group = 4, .images = 3}), both);
}

// The kernel of a narrow filter makes the zeros itself, unless something else needs them in memory.
TEST(PooledGradientChoice, TheGradientOfANarrowFilterMakesTheZeros) {
  const auto prefers = [](std::int64_t filters, bool keeps_zeros) {
    return CpuBackend(1, "").prefers_pooled_gradient({.of_filter = true,
                                                      .filter = {3, 3, 1, filters},
                                                      .pooled = {2, 6, 6, filters},
                                                      .pixels = {2, 12, 12, filters},
                                                      .keeps_zeros = keeps_zeros});
  };
  EXPECT_TRUE(prefers(64, false));
  EXPECT_FALSE(prefers(65, false));
  EXPECT_FALSE(prefers(64, true));
}

}  // namespace
}  // namespace pando::cpu
