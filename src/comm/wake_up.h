// SPDX-License-Identifier: Apache-2.0
// WakeUp: what a thread sleeps on that others wake, also from a signal handler; and SIGTERM as such a call.
#pragma once
#include <chrono>

namespace pando {

class WakeUp {
 public:
  WakeUp();
  ~WakeUp();
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  // May be called in a signal handler.
  void wake() const noexcept;
  // Returns after this time, or when wake() is or was called.
  void sleep(std::chrono::steady_clock::duration longest) const;

 private:
  int descriptor_;
};

// From now on SIGTERM, unless the program handles or ignores it, wakes this one, and is then delivered by
// deliver_termination(): mpirun sends it to all workers when one dies, and there is something to say before the end.
void delay_termination(const WakeUp& wake_up);
bool is_told_to_end();
// Ends the process by SIGTERM.
void deliver_termination();

}  // namespace pando
