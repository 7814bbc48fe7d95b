// TileGroup: the tiles of one virtual IPU on the CPU, a thread each, and the barrier between them.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace pando {

// Waits by spinning; gives the core away only when there are more tiles than cores, or after a very long wait.
class SpinBarrier {
 public:
  SpinBarrier(int count, bool oversubscribed) : count_(count), oversubscribed_(oversubscribed) {}

  // Returns when all have arrived. What each wrote before is then visible to all.
  void arrive_and_wait();

 private:
  const int count_;
  const bool oversubscribed_;
  alignas(64) std::atomic<int> arrived_ = 0;
  alignas(64) std::atomic<std::uint32_t> generation_ = 0;
};

// One turn of a wait: `turn` counts up from 0.
void wait_turn(std::uint32_t turn, bool oversubscribed);

// Which cores the tiles of a group use.
struct TilePlacement {
  // Tile i is pinned to the core of this number among those of the process, plus i.
  int first_core = 0;
  // Other groups use the same cores: nobody is pinned, and who waits gives its core away.
  bool shared_cores = false;
};

// The calling thread is tile 0, the others are threads of the group. Each is pinned to a core while it runs, if there
// are enough cores. One run() at a time.
class TileGroup {
 public:
  // `count` 0 takes as many tiles as the process may use cores.
  explicit TileGroup(int count, const TilePlacement& placement = {});
  ~TileGroup();
  TileGroup(const TileGroup&) = delete;
  TileGroup& operator=(const TileGroup&) = delete;

  int count() const { return count_; }
  SpinBarrier& barrier() { return barrier_; }
  // Calls work(tile) on every tile and returns when all are done. The work must not throw. Where it is brief, pinning
  // would take longer: the caller then stays as it is if it is on the right core already.
  void run(const std::function<void(int tile)>& work, bool brief = false);

 private:
  void serve(int tile);

  // -1: tiles are not pinned.
  int core_of(int tile) const;

  std::vector<int> cores_;
  const int first_core_;
  const int count_;
  const bool oversubscribed_;
  SpinBarrier barrier_;
  const std::function<void(int)>* work_ = nullptr;
  std::atomic<std::uint32_t> launch_ = 0;
  std::atomic<int> running_ = 0;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace pando
