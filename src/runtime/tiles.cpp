#include "runtime/tiles.h"

#include <pando/error.h>

#include <sched.h>

#include <algorithm>

namespace pando {

namespace {

// Workers look for the next execution this long before they sleep: longer than a front end needs between two.
constexpr std::uint32_t turns_before_sleep = 1u << 14;
constexpr std::uint32_t turns_before_yield = 1u << 18;
constexpr std::uint32_t turns_before_yield_oversubscribed = 1u << 6;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) cores.push_back(core);
  if (cores.empty()) cores.push_back(0);
  return cores;
}

// Keeps the calling thread on one core while it lives. Pinning is for speed only: where it is refused, nothing is lost.
class Pinned {
 public:
  explicit Pinned(int core, bool unless_there = false) {
    if (core < 0 || (unless_there && sched_getcpu() == core)) return;
    if (sched_getaffinity(0, sizeof old_, &old_) != 0) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    pinned_ = sched_setaffinity(0, sizeof set, &set) == 0;
  }
  ~Pinned() {
    if (pinned_) sched_setaffinity(0, sizeof old_, &old_);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  cpu_set_t old_;
  bool pinned_ = false;
};

}  // namespace

void wait_turn(std::uint32_t turn, bool oversubscribed) {
  const std::uint32_t limit = oversubscribed ? turns_before_yield_oversubscribed : turns_before_yield;
  if (turn < limit) pause();
  else sched_yield();
}

void SpinBarrier::arrive_and_wait() {
  if (count_ == 1) return;
  const std::uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) == count_ - 1) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1, std::memory_order_release);
    return;
  }
  for (std::uint32_t turn = 0; generation_.load(std::memory_order_acquire) == generation; ++turn)
    wait_turn(turn, oversubscribed_);
}

TileGroup::TileGroup(int count, const TilePlacement& placement)
    : cores_(allowed_cores()),
      first_core_(placement.first_core),
      count_(count > 0 ? count : static_cast<int>(cores_.size())),
      oversubscribed_(placement.shared_cores || first_core_ + count_ > static_cast<int>(cores_.size())),
      barrier_(count_, oversubscribed_) {
  try {
    for (int tile = 1; tile < count_; ++tile) threads_.emplace_back([this, tile] { serve(tile); });
  } catch (const std::system_error&) {
    stopping_ = true;
    launch_.fetch_add(1);
    launch_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    throw Error("cannot start " + std::to_string(count_) + " tile threads; use fewer tiles");
  }
}

TileGroup::~TileGroup() {
  stopping_ = true;
  launch_.fetch_add(1);
  launch_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

int TileGroup::core_of(int tile) const {
  return oversubscribed_ ? -1 : cores_[static_cast<std::size_t>(first_core_ + tile)];
}

void TileGroup::run(const std::function<void(int)>& work, bool brief) {
  if (count_ == 1) return work(0);
  const Pinned pinned(core_of(0), brief);
  work_ = &work;
  running_.store(count_ - 1, std::memory_order_relaxed);
  launch_.fetch_add(1, std::memory_order_release);
  launch_.notify_all();
  work(0);
  for (std::uint32_t turn = 0; running_.load(std::memory_order_acquire) != 0; ++turn) wait_turn(turn, oversubscribed_);
}

void TileGroup::serve(int tile) {
  const Pinned pinned(core_of(tile));
  std::uint32_t seen = 0;
  while (true) {
    std::uint32_t turn = 0;
    while (launch_.load(std::memory_order_acquire) == seen && turn < turns_before_sleep)
      wait_turn(turn++, oversubscribed_);
    launch_.wait(seen, std::memory_order_acquire);
    seen = launch_.load(std::memory_order_acquire);
    if (stopping_) return;
    (*work_)(tile);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace pando
