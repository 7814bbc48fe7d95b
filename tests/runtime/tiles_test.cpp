// SPDX-License-Identifier: Apache-2.0
// Tiles and their barrier, also when there are more tiles than cores and when several threads want them.
#include <pando/base/error.h>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "backends/cpu/kernel.h"
#include "backends/cpu/tiles.h"

namespace pando {
namespace {

TEST(TileGroup, RunsEveryTileOnce) {
  for (int count : {1, 2, 5}) {
    TileGroup tiles(count);
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
    for (int round = 0; round < 50; ++round) tiles.run([&](int tile, int) { ++calls[static_cast<std::size_t>(tile)]; });
    for (const auto& call : calls) EXPECT_EQ(call, 50);
  }
}

TEST(TileGroup, RunsTheFirstTilesOnly) {
  TileGroup tiles(5);
  std::vector<std::atomic<int>> calls(5);
  for (int round = 0; round < 500; ++round)
    tiles.run(round % 5 + 1, [&](int first, int last) {
      for (int tile = first; tile < last; ++tile) ++calls[static_cast<std::size_t>(tile)];
      // A tile that was left out would be waited for here, or break the barrier.
      if (last - first == 1 && round % 5 > 0) tiles.barrier().arrive_and_wait();
    });
  for (int tile = 0; tile < 5; ++tile) EXPECT_EQ(calls[static_cast<std::size_t>(tile)], 100 * (5 - tile)) << tile;
}

TEST(TileGroup, TheBarrierSeparatesSupersteps) {
  for (int count : {2, 3, 16}) {
    TileGroup tiles(count);
    // Not atomic: the barrier alone makes one tile's writes visible to the others.
    std::vector<int> step(static_cast<std::size_t>(count), 0);
    std::atomic<int> errors = 0;
    tiles.run([&](int tile, int) {
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

TEST(TileGroup, ACallThatFindsTheTilesTakenDoesAllTheWorkItself) {
  TileGroup tiles(3);
  std::atomic<bool> taken = false, done = false;
  std::thread first([&] {
    tiles.run([&](int tile, int) {
      if (tile == 0) taken = true;
      while (!done) std::this_thread::yield();
    });
  });
  while (!taken) std::this_thread::yield();
  std::vector<std::pair<int, int>> calls;
  tiles.run([&](int begin, int end) { calls.emplace_back(begin, end); });
  EXPECT_EQ(calls, (std::vector<std::pair<int, int>>{{0, 3}}));
  done = true;
  first.join();
}

TEST(TileGroup, ManyThreadsMayCallAtOnce) {
  TileGroup tiles(2);
  std::atomic<int> work = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) tiles.run([&](int first, int last) { work += last - first; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(work, 4 * 500 * 2);
}

TEST(TileGroup, AChildOfAForkIsToldThatTheTilesStayedInTheParent) {
  TileGroup tiles(2);
  tiles.run([](int, int) {});
  const pid_t child = fork();
  if (child == 0) {
    std::string message;
    try {
      tiles.run([](int, int) {});
    } catch (const Error& error) {
      message = error.what();
    }
    const bool is_right =
        message ==
        "a device of several tiles was made before this process was forked, and its threads stayed in the parent; make "
        "models and devices in the child, or fork before the first of them";
    if (!is_right) std::fprintf(stderr, "%s\n", message.c_str());
    std::atomic<int> work = 2;
#ifndef PANDO_THREAD_SANITIZER
    // A device that the child makes is its own. The thread sanitizer does not support threads of such a child.
    work = 0;
    TileGroup own(2);
    own.run([&](int first, int last) { work += last - first; });
#endif
    std::_Exit(is_right && work == 2 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(TileGroup, LeavesSignalsToTheOtherThreads) {
  TileGroup tiles(4);
  std::atomic<int> calls = 0;
  tiles.run([&](int, int) { ++calls; });
  EXPECT_EQ(calls, 4);
  // This thread blocks the signal, too, so it waits; a tile that did not would end the process.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &signals, nullptr), 0);
  EXPECT_EQ(kill(getpid(), SIGUSR1), 0);
  tiles.run([&](int, int) { ++calls; });
  EXPECT_EQ(calls, 8);
  int received = 0;
  EXPECT_EQ(sigwait(&signals, &received), 0);
  EXPECT_EQ(received, SIGUSR1);
  ASSERT_EQ(pthread_sigmask(SIG_UNBLOCK, &signals, nullptr), 0);
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
