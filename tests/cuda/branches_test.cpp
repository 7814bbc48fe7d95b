// SPDX-License-Identifier: Apache-2.0
// Which work of a CUDA graph waits for which.
#include "backends/cuda/branches.h"

#include <gtest/gtest.h>

#include <random>

namespace pando::cuda {
namespace {

using Numbers = std::vector<std::size_t>;

Access read(std::uintptr_t begin, std::uintptr_t end) { return {begin, end, false}; }
Access written(std::uintptr_t begin, std::uintptr_t end) { return {begin, end, true}; }
Numbers add(WorkOrder& order, std::vector<Access> accesses) { return order.add(accesses); }

TEST(WorkOrder, ReadersOfTheSameRunAtTheSameTime) {
  WorkOrder order;
  EXPECT_EQ(add(order, {written(0, 64)}), Numbers());
  EXPECT_EQ(add(order, {read(0, 64), written(64, 128)}), Numbers{0});
  EXPECT_EQ(add(order, {read(32, 64), written(128, 192)}), Numbers{0});
  EXPECT_EQ(order.last(), (Numbers{1, 2}));
  // The one that overwrites waits for both, and through them for the first.
  EXPECT_EQ(add(order, {written(60, 68)}), (Numbers{1, 2}));
  EXPECT_EQ(order.last(), Numbers{3});
}

TEST(WorkOrder, MemoryThatIsNextToIsAnother) {
  WorkOrder order;
  add(order, {written(64, 128)});
  EXPECT_EQ(add(order, {written(0, 64)}), Numbers());
  EXPECT_EQ(add(order, {written(128, 192)}), Numbers());
  EXPECT_EQ(add(order, {read(64, 64)}), Numbers());
  EXPECT_EQ(add(order, {read(127, 128)}), Numbers{0});
}

// However the work is chosen: two pieces that must not overtake each other are ordered, directly or through others.
TEST(WorkOrder, OrdersAllThatMeet) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    WorkOrder order;
    std::vector<std::vector<Access>> works;
    std::vector<std::vector<bool>> reaches;
    for (std::size_t i = 0; i < 150; ++i) {
      std::vector<Access> accesses;
      for (int k = 0; k < 3; ++k) {
        const std::uintptr_t begin = random() % 400;
        accesses.push_back({begin, begin + random() % 20, random() % 3 == 0});
      }
      std::vector<bool>& reached = reaches.emplace_back(i, false);
      for (const std::size_t earlier : order.add(accesses)) {
        ASSERT_LT(earlier, i);
        EXPECT_FALSE(reached[earlier]) << "waits twice";
        reached[earlier] = true;
        for (std::size_t j = 0; j < earlier; ++j)
          if (reaches[earlier][j]) reached[j] = true;
      }
      for (std::size_t j = 0; j < i; ++j)
        for (const Access& a : accesses)
          for (const Access& b : works[j])
            EXPECT_TRUE(reached[j] || (!a.writes && !b.writes) || std::max(a.begin, b.begin) >= std::min(a.end, b.end))
                << j << " before " << i;
      works.push_back(accesses);
    }
  }
}

}  // namespace
}  // namespace pando::cuda
