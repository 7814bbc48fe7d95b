// Tiles and their barrier, also when there are more tiles than cores.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "runtime/kernel.h"
#include "runtime/tiles.h"

namespace pando {
namespace {

TEST(TileGroup, RunsEveryTileOnce) {
  for (int count : {1, 2, 5}) {
    TileGroup tiles(count);
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
    for (int round = 0; round < 50; ++round) tiles.run([&](int tile) { ++calls[static_cast<std::size_t>(tile)]; });
    for (const auto& call : calls) EXPECT_EQ(call, 50);
  }
}

TEST(TileGroup, TheBarrierSeparatesSupersteps) {
  for (int count : {2, 3, 16}) {
    TileGroup tiles(count);
    // Not atomic: the barrier alone makes one tile's writes visible to the others.
    std::vector<int> step(static_cast<std::size_t>(count), 0);
    std::atomic<int> errors = 0;
    tiles.run([&](int tile) {
      for (int round = 1; round <= 200; ++round) {
        step[static_cast<std::size_t>(tile)] = round;
        tiles.barrier().arrive_and_wait();
        for (int other : step) errors += other != round;
        tiles.barrier().arrive_and_wait();
      }
    });
    EXPECT_EQ(errors, 0);
  }
}

TEST(Share, CoversAllWorkOnce) {
  for (std::int64_t count : {0, 1, 7, 100})
    for (int tiles : {1, 2, 3, 64}) {
      std::int64_t next = 0;
      for (int tile = 0; tile < tiles; ++tile) {
        const Range range = share({tile, tiles, nullptr, nullptr}, count);
        EXPECT_EQ(range.begin, next);
        next = range.end;
      }
      EXPECT_EQ(next, count);
    }
}

}  // namespace
}  // namespace pando
