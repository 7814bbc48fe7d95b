// SPDX-License-Identifier: Apache-2.0
// InterruptDelay: a run ends between two executions.
#pragma once
#include <chrono>

namespace pando {

// While it lives, the first interrupt, SIGINT (Ctrl-C), SIGTERM or SIGHUP (the terminal has gone), is remembered
// instead of acted on, even if the program has its own handler. A second one ends the process at once. So does the
// first if requested() is not called within the grace period after it, because an execution or a callback does not end:
// 10 seconds, or twice the longest execution so far if that is longer, so that a run that is merely slow loses nothing.
// A signal that the process ignores stays ignored. If several of these objects exist, nested or in different threads,
// the last one to end lets the interrupt act.
class InterruptDelay {
 public:
  explicit InterruptDelay(std::chrono::milliseconds shortest_grace = std::chrono::seconds(10));
  // Restores the old behaviour.
  ~InterruptDelay();
  InterruptDelay(const InterruptDelay&) = delete;
  InterruptDelay& operator=(const InterruptDelay&) = delete;

  // Whether to end. Once it has returned true, the grace period no longer applies to the caller.
  bool requested();
  // Reports how long an execution took.
  void allow_for(std::chrono::steady_clock::duration execution);
  // If there was an interrupt, and nothing else delays it, restores the old behaviour and lets it act now: the process
  // ends, or the program's handler is called.
  void deliver();

 private:
  bool told_ = false;
};

}  // namespace pando
