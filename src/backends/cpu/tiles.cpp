// SPDX-License-Identifier: Apache-2.0
// A thread that waits stays awake for a moment and only then sleeps, because to wake it takes longer than many
// supersteps do. With more tiles than cores it sleeps at once: the one it waits for may need its core.
#include "backends/cpu/tiles.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/machine/cores.h"

namespace pando {

namespace {

constexpr int bits_of_tiles = 32;

// Tiles of all groups of this process that are at work.
std::atomic<int> tiles_at_work = 0;

class AtWork {
 public:
  explicit AtWork(int tiles) : tiles_(tiles) { tiles_at_work.fetch_add(tiles_, std::memory_order_relaxed); }
  ~AtWork() { tiles_at_work.fetch_sub(tiles_, std::memory_order_relaxed); }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

 private:
  const int tiles_;
};

// If more tiles are at work than there are cores, a tile that others wait for may need the core of one that waits.
// Tiles that sleep are woken one after the other, which takes longer the more there are: if the first did not wait
// awake for the last, they would sleep again, at every barrier.
std::chrono::nanoseconds time_to_stay_awake(int tiles, int cores) {
  if (tiles_at_work.load(std::memory_order_relaxed) > cores) return std::chrono::nanoseconds(0);
  return awake_time * std::max(tiles / 2, 1);
}

}  // namespace

bool TileBarrier::arrive_and_wait() {
  if (count_ == 1) return false;
  const std::uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) == count_ - 1) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1);
    generation_.notify_all();
    return false;
  }
  return wait_while(generation_, generation, time_to_stay_awake(count_, cores_));
}

TileGroup::TileGroup(int count) : cores_(usable_cores()), count_(count > 0 ? count : cores_) {
  for (int halvings = 0; halvings <= most_halvings(count_); ++halvings)
    barriers_.emplace_back(halved(count_, halvings), cores_);
  try {
    for (int tile = 1; tile < count_; ++tile) {
      threads_.emplace_back(fmt::format("for tile {} of {}", tile + 1, count_), [this, tile] { serve(tile); });
      crowding_.add_member(threads_.back().native_handle());
    }
  } catch (...) {
    stop();
    throw;
  }
}

TileGroup::~TileGroup() { stop(); }

void TileGroup::stop() {
  stopping_ = true;
  launch_.fetch_add(1);
  launch_.notify_all();
}

void TileGroup::run(int tiles, const Function<void(int, int)>& work) {
  if (tiles > 1) process_.check("a device of several tiles");
  if (tiles == 1 || taken_.exchange(true, std::memory_order_acquire)) {
    const AtWork alone(1);
    return work(0, tiles);
  }
  const AtWork all(tiles);
  crowding_.resume();
  work_ = &work;
  for (int halvings = 0; halvings <= most_halvings(tiles); ++halvings)
    barrier(halvings).set_count(halved(tiles, halvings));
  running_.store(tiles - 1, std::memory_order_relaxed);
  const std::uint64_t number = (newest_.load(std::memory_order_relaxed) >> bits_of_tiles) + 1;
  newest_.store(number << bits_of_tiles | static_cast<std::uint32_t>(tiles), std::memory_order_release);
  launch_.fetch_add(1);
  launch_.notify_all();
  work(0, 1);
  for (int running; (running = running_.load(std::memory_order_acquire)) != 0;)
    wait_while(running_, running, time_to_stay_awake(tiles, cores_));
  crowding_.pause();
  taken_.store(false, std::memory_order_release);
}

void TileGroup::serve(int tile) {
  leave_signals_to_others();
  std::uint32_t seen = 0;
  std::uint64_t done = 0;
  // A tile that was left out is likely to be left out again.
  bool is_left_out = false;
  while (true) {
    wait_while(launch_, seen, is_left_out ? std::chrono::nanoseconds(0) : time_to_stay_awake(1, cores_));
    seen = launch_.load(std::memory_order_acquire);
    if (stopping_) return;
    const std::uint64_t newest = newest_.load(std::memory_order_acquire);
    is_left_out = static_cast<std::uint32_t>(newest) <= static_cast<std::uint32_t>(tile);
    if (newest == done || is_left_out) continue;
    done = newest;
    (*work_)(tile, tile + 1);
    if (running_.fetch_sub(1) == 1) running_.notify_all();
  }
}

}  // namespace pando
