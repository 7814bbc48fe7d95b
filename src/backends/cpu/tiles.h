// SPDX-License-Identifier: Apache-2.0
// TileGroup: the tiles of one virtual IPU on the CPU, each a thread, and the barrier between them.
#pragma once
#include <pando/base/function.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/machine/crowding.h"
#include "base/thread.h"
#include "base/waiting.h"

namespace pando {

class TileBarrier {
 public:
  TileBarrier(int count, int cores) : count_(count), cores_(cores) {}
  // While no tile uses it: how many tiles will.
  void set_count(int count) { count_ = count; }

  // Returns when all tiles have arrived, and says whether the caller slept meanwhile. What each tile wrote before is
  // then visible to all.
  bool arrive_and_wait();

 private:
  int count_;
  const int cores_;
  alignas(64) std::atomic<int> arrived_ = 0;
  alignas(64) Awaited<std::uint32_t> generation_ = 0;
};

// How many tiles are left after some halvings.
constexpr int halved(int tiles, int halvings) { return std::max(tiles >> halvings, 1); }
// How many halvings leave one tile.
constexpr int most_halvings(int tiles) {
  int halvings = 0;
  while (tiles >> halvings > 1) ++halvings;
  return halvings;
}

// The calling thread is tile 0, the others are threads of the group, which sleep between runs. Any number of threads
// may call run() at once: the first gets the tiles, and each of the others does the work of all tiles itself.
class TileGroup {
 public:
  // `count` 0 takes as many tiles as the process may use cores. Throws Error if the system cannot start the threads.
  explicit TileGroup(int count);
  ~TileGroup();
  TileGroup(const TileGroup&) = delete;
  TileGroup& operator=(const TileGroup&) = delete;

  int count() const { return count_; }
  // The barrier of the tiles that are left at work after this many halvings.
  TileBarrier& barrier(int halvings = 0) { return barriers_[static_cast<std::size_t>(halvings)]; }
  // For tile 0 at work: whether fewer tiles are faster at the moment.
  Crowding& crowding() { return crowding_; }
  // Returns when the work of the first `tiles` tiles is done: work(tile, tile + 1) was called on each, or work(0,
  // tiles) on the calling thread because another call had the tiles. The work must not throw. Throws Error in a child
  // made by fork(), where the tiles' threads do not exist.
  void run(int tiles, const Function<void(int first, int last)>& work);
  void run(const Function<void(int first, int last)>& work) { run(count_, work); }

 private:
  void serve(int tile);
  void stop();

  const int cores_, count_;
  const ProcessMark process_;
  std::deque<TileBarrier> barriers_;
  Crowding crowding_;
  std::atomic<bool> taken_ = false;
  const Function<void(int, int)>* work_ = nullptr;
  alignas(64) Awaited<std::uint32_t> launch_ = 0;
  // The number of the newest launch and, in the lower half, of its tiles. A tile that launches leave out may miss some.
  std::atomic<std::uint64_t> newest_ = 0;
  alignas(64) Awaited<int> running_ = 0;
  std::atomic<bool> stopping_ = false;
  std::vector<Thread> threads_;
};

}  // namespace pando
