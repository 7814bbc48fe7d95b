// SPDX-License-Identifier: Apache-2.0
// ExpectedTime: how long work takes, learned from the last time it was done. A thread that waits for it sleeps until
// shortly before its end and is awake then: the system takes tens of microseconds to wake a thread.
#pragma once
#include <algorithm>
#include <chrono>

#include "base/waiting.h"

namespace pando {

class ExpectedTime {
 public:
  using Seconds = std::chrono::duration<double>;

  // How long to sleep once that much work has run for `passed`; 0 if sleeping is not worth it.
  Seconds sleep(double work, Seconds passed) const {
    const Seconds left = per_work_ * work - passed;
    return left > early + least_sleep ? left - early : Seconds(0);
  }
  // For how long to be awake after that.
  Seconds awake(double work) const { return awake_time + std::min(2 * per_work_ * work, 2 * early); }

  // Notes the time that the work took. Work that was over when the thread woke up took less than `taken`.
  void learn(double work, Seconds taken, bool was_over) {
    if (work > 0) per_work_ = taken / work * (was_over ? 0.5 : 1);
  }
  // The last time says nothing about the next.
  void forget() { per_work_ = Seconds(0); }

 private:
  static constexpr Seconds early = std::chrono::microseconds(250), least_sleep = std::chrono::microseconds(200);

  Seconds per_work_ = Seconds(0);
};

}  // namespace pando
