// SPDX-License-Identifier: Apache-2.0
// The arena: what is alive at once never overlaps, and what is not shares memory.
#include <pando/ops/ops.h>

#include <gtest/gtest.h>

#include <random>

#include "compiler/compile.h"
#include "plan/plan_memory.h"

namespace pando {
namespace {

bool collide(const Storage& a, const Storage& b) {
  const bool in_time = a.first <= b.last && b.first <= a.last;
  const bool in_space = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  return in_time && in_space;
}

TEST(PlanMemory, NothingAliveAtOnceOverlaps) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Storage> storages(40);
    std::size_t total = 0;
    for (Storage& storage : storages) {
      storage.bytes = random() % 5000;
      storage.first = static_cast<std::int32_t>(random() % 20);
      storage.last = storage.first + static_cast<std::int32_t>(random() % 6);
      total += align(storage.bytes);
    }
    const std::size_t arena = plan_memory(storages, true);
    EXPECT_LT(arena, total);
    for (std::size_t i = 0; i < storages.size(); ++i) {
      EXPECT_EQ(storages[i].offset % buffer_alignment, 0u);
      EXPECT_LE(storages[i].offset + storages[i].bytes, arena);
      for (std::size_t k = 0; k < i; ++k) EXPECT_FALSE(collide(storages[i], storages[k]));
    }
  }
}

// relu(matmul(...)) again and again, without fusion.
Graph chain(int length) {
  Graph graph;
  Value x = ops::input(graph, "x", DType::float32, {64, 64});
  const Value w = ops::variable(graph, "w", DType::float32, {64, 64});
  for (int i = 0; i < length; ++i) x = ops::relu(ops::matmul(x, w));
  graph.add_output("y", x);
  return graph;
}

TEST(PlanMemory, AChainNeedsTwoBuffersWhateverItsLength) {
  const std::size_t one = 64 * 64 * sizeof(float);
  EXPECT_EQ(compile(chain(3), {.disabled_passes = {"fuse_elementwise"}}).arena_bytes, 2 * one);
  EXPECT_EQ(compile(chain(30), {.disabled_passes = {"fuse_elementwise"}}).arena_bytes, 2 * one);
  EXPECT_EQ(compile(chain(3), {.disabled_passes = {"fuse_elementwise", "plan_memory"}}).arena_bytes, 6 * one);
}

// What scatter changes is not copied, unless it is read again.
TEST(PlanMemory, AScatterTakesTheMemoryOfWhatItChanges) {
  const auto arena_of = [](bool is_read_again) {
    Graph graph;
    const Value x = ops::broadcast(ops::input(graph, "x", DType::float32, {64}), {64, 64});
    const Value indices = ops::input(graph, "indices", DType::int32, {3, 64});
    const Value y = ops::scatter(x, indices, ops::input(graph, "updates", DType::float32, {3, 64}), {.axis = 0});
    graph.add_output("y", y);
    if (is_read_again) graph.add_output("x", x);
    return compile(graph).arena_bytes;
  };
  const std::size_t one = 64 * 64 * sizeof(float);
  EXPECT_EQ(arena_of(false), one);
  EXPECT_EQ(arena_of(true), 2 * one);
}

}  // namespace
}  // namespace pando
