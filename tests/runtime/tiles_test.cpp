// Tiles and their barrier, also when there are more tiles than cores.
#include <gtest/gtest.h>
#include <sched.h>

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

// Keeps the thread that makes it on one core while it lives.
class OnCore {
 public:
  explicit OnCore(int core) {
    sched_getaffinity(0, sizeof old_, &old_);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  ~OnCore() { sched_setaffinity(0, sizeof old_, &old_); }

 private:
  cpu_set_t old_;
};

std::vector<int> cores_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

TEST(TileGroup, BriefWorkRunsOnItsCoreToo) {
  const std::vector<int> cores = cores_of_this_thread();
  if (cores.size() < 2) GTEST_SKIP() << "this process has one core";
  TileGroup tiles(2);
  const OnCore elsewhere(cores[1]);
  for (bool brief : {false, true}) {
    int core = -1;
    tiles.run(
        [&](int tile) {
          if (tile == 0) core = sched_getcpu();
        },
        brief);
    EXPECT_EQ(core, cores[0]) << (brief ? "brief" : "long");
    EXPECT_EQ(cores_of_this_thread(), std::vector<int>{cores[1]});
  }
}

TEST(TileGroup, BriefWorkIsNotPinnedWhereItIsAlready) {
  const std::vector<int> cores = cores_of_this_thread();
  if (cores.size() < 2) GTEST_SKIP() << "this process has one core";
  TileGroup tiles(2);
  const auto cores_while_running = [&](bool brief) {
    std::vector<int> seen;
    tiles.run(
        [&](int tile) {
          if (tile == 0) seen = cores_of_this_thread();
        },
        brief);
    return seen;
  };
  EXPECT_EQ(cores_while_running(false), std::vector<int>{cores[0]});
  // That left it on its core, unless the system has moved it since.
  bool was_left_alone = false;
  for (int round = 0; round < 1000 && !was_left_alone; ++round) was_left_alone = cores_while_running(true) == cores;
  EXPECT_TRUE(was_left_alone);
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
