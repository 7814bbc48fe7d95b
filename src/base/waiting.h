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

// Returns when `value` is no longer `old`, and says whether it slept meanwhile. The code that changes the value must
// store or add in the default memory order and then notify: with a weaker order the change could be delayed past the
// check for sleepers.
template <class T>
bool wait_while(const std::atomic<T>& value, T old, std::chrono::nanoseconds awake = awake_time) {
  const auto changed = [&] { return value.load(std::memory_order_acquire) != old; };
  if (wait_awake(awake, changed)) return false;
  value.wait(old, std::memory_order_acquire);
  return true;
}

// Raises `value`, which only grows, also if several threads raise it at once, and wakes those who wait for it.
template <class T>
void publish(std::atomic<T>& value, T raised) {
  T known = value.load(std::memory_order_relaxed);
  while (known < raised && !value.compare_exchange_weak(known, raised)) {
  }
  value.notify_all();
}

// Returns when `value`, which only grows, is at least `wanted`.
template <class T>
void wait_until_at_least(const std::atomic<T>& value, T wanted, std::chrono::nanoseconds awake = awake_time) {
  const auto reached = [&] { return value.load(std::memory_order_acquire) >= wanted; };
  if (wait_awake(awake, reached)) return;
  for (T seen; (seen = value.load(std::memory_order_acquire)) < wanted;) value.wait(seen, std::memory_order_acquire);
}

}  // namespace pando
