// SPDX-License-Identifier: Apache-2.0
// QuietWrites: writes that fail by their return value, never by a signal.
#pragma once
#include <csignal>

namespace pando {

// While it lives, a write of this thread that fails returns its error: neither SIGPIPE (a closed pipe) nor SIGXFSZ (the
// file would exceed the size limit) reaches the program. Both signals go to the thread that writes, so they are blocked
// on this thread only. The program's signal handlers stay as they are.
class QuietWrites {
 public:
  QuietWrites() noexcept {
    sigset_t before;
    sigpending(&before);
    sigemptyset(&held_);
    // A signal that is already pending belongs to the program.
    for (const int signal : {SIGPIPE, SIGXFSZ})
      if (sigismember(&before, signal) == 0) sigaddset(&held_, signal);
    pthread_sigmask(SIG_BLOCK, &held_, &mask_);
  }
  ~QuietWrites() {
    const timespec at_once = {};
    while (sigtimedwait(&held_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  QuietWrites(const QuietWrites&) = delete;
  QuietWrites& operator=(const QuietWrites&) = delete;

 private:
  sigset_t held_, mask_;
};

}  // namespace pando
