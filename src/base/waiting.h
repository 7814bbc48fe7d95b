// SPDX-License-Identifier: Apache-2.0
// How threads wait for each other: awake for some microseconds, in which a partner on another core has usually arrived,
// then asleep. If another process took the partner's core, the waiting thread must not keep a core itself: the partner
// may need it.
#pragma once
#include <atomic>
#include <chrono>

namespace pando {

// What a thread that waits awake does between two looks.
inline void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Longer than tiles of equal shares differ on a quiet machine, far shorter than the time for which a system lets a
// process run.
inline constexpr std::chrono::microseconds awake_time{50};

// Looks until `ready()` or for `time`, once if that is 0; returns what the last look said.
template <class Ready>
bool wait_awake(std::chrono::nanoseconds time, const Ready& ready) {
  constexpr int looks_a_clock = 32;
  std::chrono::steady_clock::time_point end = {};
  if (time.count() == 0) return ready();
  while (true) {
    for (int look = 0; look < looks_a_clock; ++look) {
      if (ready()) return true;
      pause_core();
    }
    const auto now = std::chrono::steady_clock::now();
    if (end == std::chrono::steady_clock::time_point()) end = now + time;
    else if (now >= end) return false;
  }
}

// A number that threads wait for. It counts those that sleep: std::atomic has one count for all atomics of a process
// whose addresses have the same low bits. One thread asleep anywhere would then make notify_all() elsewhere a system
// call.
template <class T>
class Awaited : public std::atomic<T> {
 public:
  using std::atomic<T>::atomic;
  using std::atomic<T>::operator=;

  // Sleeps until the value differs from `old`.
  void wait(T old) const {
    sleepers_.fetch_add(1);
    std::atomic<T>::wait(old);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }
  // After the value was changed in the default memory order: with a weaker one the change could be delayed past the
  // look at the sleepers.
  void notify_all() {
    if (sleepers_.load() > 0) std::atomic<T>::notify_all();
  }

 private:
  mutable std::atomic<int> sleepers_ = 0;
};

// Returns when `value` differs from `old`, and says whether it slept meanwhile.
template <class T>
bool wait_while(const Awaited<T>& value, T old, std::chrono::nanoseconds awake = awake_time) {
  const auto changed = [&] { return value.load(std::memory_order_acquire) != old; };
  if (wait_awake(awake, changed)) return false;
  value.wait(old);
  return true;
}

// Raises `value`, which only grows, also if several threads raise it at once, and wakes those who wait for it.
template <class T>
void publish(Awaited<T>& value, T raised) {
  T known = value.load(std::memory_order_relaxed);
  while (known < raised && !value.compare_exchange_weak(known, raised)) {
  }
  value.notify_all();
}

// Returns when `value`, which only grows, is at least `wanted`.
template <class T>
void wait_until_at_least(const Awaited<T>& value, T wanted, std::chrono::nanoseconds awake = awake_time) {
  const auto reached = [&] { return value.load(std::memory_order_acquire) >= wanted; };
  if (wait_awake(awake, reached)) return;
  for (T seen; (seen = value.load(std::memory_order_acquire)) < wanted;) value.wait(seen);
}

}  // namespace pando
