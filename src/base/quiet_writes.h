// QuietWrites: writes that fail by their return value, never by a signal.
#pragma once
#include <csignal>

namespace pando {

// While it lives, a write of this thread that fails returns its error: neither SIGPIPE, where the reader has gone, nor
// SIGXFSZ, where the file would be larger than the limit, reaches the program. Both signals go to the thread that
// writes, so they are held back on this thread alone. What the program does with signals stays as the program set it.
class QuietWrites {
 public:
  QuietWrites() noexcept {
    sigset_t before;
    sigpending(&before);
    sigemptyset(&held_);
    // One that waits already belongs to the program.
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
