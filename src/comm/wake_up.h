// SPDX-License-Identifier: Apache-2.0
// WakeUp: a thread sleeps on it until another thread, or a signal handler, wakes it. SIGTERM can do so.
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

// From now on SIGTERM wakes this one, and deliver_termination() then ends the process. mpirun sends SIGTERM to all
// workers when one dies, and there is something to say before the end. Changes nothing if the program handles or
// ignores SIGTERM.
void delay_termination(const WakeUp& wake_up);
bool is_told_to_end();
// Ends the process by SIGTERM.
void deliver_termination();

}  // namespace pando
