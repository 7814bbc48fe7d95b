// SPDX-License-Identifier: Apache-2.0
// UseLock: any number of readers of a variable, or one that changes it.
#pragma once
#include <atomic>
#include <cstdint>

#include "base/waiting.h"

namespace pando {

// First come, first served, so that training, which changes a variable at every step, lets others read it between two
// steps. If the variable is free, the lock costs two atomic operations and no system call.
class UseLock {
 public:
  // `first` is the initial count of uses.
  explicit UseLock(std::uint32_t first = 0) : next_(first), served_(first) {}

  void begin(bool changes) {
    const std::uint32_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
    for (std::uint32_t served; (served = served_.load(std::memory_order_acquire)) != ticket;)
      wait_while(served_, served);
    if (changes) {
      for (std::uint32_t readers; (readers = readers_.load(std::memory_order_acquire)) != 0;)
        wait_while(readers_, readers);
    } else {
      readers_.fetch_add(1, std::memory_order_relaxed);
      serve(ticket + 1);
    }
  }

  void end(bool changes) {
    if (changes) serve(served_.load(std::memory_order_relaxed) + 1);
    else if (readers_.fetch_sub(1) == 1) readers_.notify_all();
  }

 private:
  void serve(std::uint32_t ticket) {
    served_.store(ticket);
    served_.notify_all();
  }

  std::atomic<std::uint32_t> next_;
  Awaited<std::uint32_t> served_, readers_ = 0;
};

}  // namespace pando
