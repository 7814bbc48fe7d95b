// SPDX-License-Identifier: Apache-2.0
// Programs run on as many tiles as make them fastest, by the estimate of suggested_tiles.
#include "backends/cpu/suggested_tiles.h"

#include <gtest/gtest.h>
#include <pando/ops/ops.h>
#include <pando/program/program.h>

#include "ops/op_list.h"

namespace pando {
namespace {

constexpr auto set = cpu::InstructionSet::avx512;

KernelCall product(const Operand& a, const Operand& b, const Operand& result) {
  return {.op = &definitions::matmul,
          .attributes = {{"transpose_a", false}, {"transpose_b", false}, {"permutation", Integers()}},
          .inputs = {a, b},
          .outputs = {result},
          .name = "product"};
}

// Supersteps of one product of square matrices each.
Plan products(std::int64_t size, int supersteps) {
  const Operand square = {0, {DType::float32, {size, size}}};
  Plan plan;
  plan.buffers.push_back({.bytes = square.type.bytes()});
  for (int i = 0; i < supersteps; ++i) plan.supersteps.push_back({product(square, square, square)});
  return plan;
}

int suggested(const Plan& plan, int most) {
  const Plan* const plans[] = {nullptr, &plan};
  return cpu::suggested_tiles(plans, set, most);
}

TEST(SuggestedTiles, AreOneForLittleWork) { EXPECT_EQ(suggested(products(8, 20), 16), 1); }

// A row times a matrix of weights, which another kernel may write.
Plan row_product(std::int64_t size, bool writes_weights) {
  const Operand row = {0, {DType::float32, {1, size}}}, weights = {1, {DType::float32, {size, size}}};
  Plan plan;
  plan.buffers = {{.bytes = row.type.bytes()},
                  {.kind = Buffer::Kind::variable, .bytes = weights.type.bytes(), .index = 0}};
  plan.supersteps.push_back({product(row, weights, row)});
  if (writes_weights)
    plan.supersteps.push_back(
        {{.op = &definitions::relu, .attributes = {}, .inputs = {weights}, .outputs = {weights}, .name = "write"}});
  return plan;
}

TEST(SuggestedTiles, KeepWeightsThatNoKernelWritesNearThem) {
  EXPECT_GT(suggested(row_product(1024, false), 2), 1);
  const auto gain = [](bool writes) {
    const Plan plan = row_product(1024, writes);
    return cpu::estimated_time(plan, set, 1, 16) / cpu::estimated_time(plan, set, 2, 16);
  };
  EXPECT_GT(gain(false), gain(true));
}

TEST(SuggestedTiles, AreAllForMuchWork) {
  EXPECT_EQ(suggested(products(2048, 3), 16), 16);
  EXPECT_EQ(suggested(products(2048, 3), 1), 1);
}

// A sweep over more than the caches hold meets memory, which gives two tiles twice as much as one.
TEST(SuggestedTiles, AreAllForSweepsOverMuchMemory) {
  const auto sweep = [](std::int64_t elements) {
    const Operand values = {0, {DType::float32, {elements}}};
    Plan plan;
    plan.buffers.push_back({.bytes = values.type.bytes()});
    plan.arena_bytes = values.type.bytes();
    plan.supersteps.push_back(
        {{.op = &definitions::relu, .attributes = {}, .inputs = {values}, .outputs = {values}, .name = "sweep"}});
    return plan;
  };
  EXPECT_EQ(suggested(sweep(1 << 10), 2), 1);
  EXPECT_EQ(suggested(sweep(1 << 24), 2), 2);
}

TEST(SuggestedTiles, GrowWithTheWork) {
  int before = 1;
  for (std::int64_t size = 8; size <= 2048; size *= 2) {
    const int tiles = suggested(products(size, 5), 64);
    EXPECT_GE(tiles, before) << size;
    before = tiles;
  }
  EXPECT_GT(before, 16);
}

TEST(SuggestedTiles, AreThoseOfTheLowestEstimate) {
  const Plan plan = products(128, 8);
  const int tiles = suggested(plan, 32);
  for (int other = 1; other <= 32; ++other)
    EXPECT_LE(cpu::estimated_time(plan, set, tiles, 32), cpu::estimated_time(plan, set, other, 32)) << other;
}

TEST(SuggestedTiles, LeaveACoreToTheFeedIfTheLastOneGainsLittle) {
  const int tiles = suggested(products(128, 8), 16);
  EXPECT_GT(tiles, 4);
  EXPECT_LT(tiles, 16);
}

// 32 images on 15 tiles: one of them would have three, which takes as long as on 11.
TEST(SuggestedTiles, DivideImagesEvenly) {
  const Operand images = {0, {DType::float32, {32, 28, 28, 8}}}, filter = {1, {DType::float32, {3, 3, 8, 8}}};
  Plan plan;
  plan.buffers = {{.bytes = images.type.bytes()}, {.bytes = filter.type.bytes()}};
  plan.supersteps.push_back(
      {{.op = &definitions::conv2d,
        .attributes = {{"strides", Integers{1, 1}}, {"padding", Integers{1, 1, 1, 1}}, {"dilations", Integers{1, 1}}},
        .inputs = {images, filter},
        .outputs = {images},
        .name = "conv"}});
  EXPECT_EQ(suggested(plan, 16), 16);
  EXPECT_EQ(suggested(plan, 15), 11);
}

TEST(SuggestedTiles, AreUsedIfTheDeviceNamesNone) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {4});
  graph.add_output("y", x + x);
  EXPECT_EQ(Program(graph, Device({.backend = "cpu"}), Variables()).device_use().front().tiles, 1);
  EXPECT_EQ(Program(graph, Device({.tiles = 3, .backend = "cpu"}), Variables()).device_use().front().tiles, 3);
}

}  // namespace
}  // namespace pando
