#include "training/execution.h"

#include <algorithm>
#include <csignal>
#include <cstdio>

namespace pando {

std::int64_t run_executions(std::int64_t steps, std::int64_t steps_per_execution,
                            const std::function<std::int64_t(std::int64_t steps)>& execute,
                            const std::function<bool(std::int64_t first, std::int64_t count)>& after) {
  std::int64_t done = 0;
  while (steps < 0 || done < steps) {
    const std::int64_t count = execute(steps < 0 ? steps_per_execution : std::min(steps_per_execution, steps - done));
    if (count == 0) break;
    if (!after(done, count)) return done + count;
    done += count;
  }
  return done;
}

namespace {

volatile std::sig_atomic_t interrupted = 0;

void remember_interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

InterruptDelay::InterruptDelay() {
  struct sigaction current = {};
  // Fits within fits, and programs that handle Ctrl-C themselves, are left alone.
  if (sigaction(SIGINT, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) return;
  interrupted = 0;
  std::signal(SIGINT, remember_interrupt);
  installed_ = true;
}

InterruptDelay::~InterruptDelay() {
  if (installed_) std::signal(SIGINT, SIG_DFL);
}

bool InterruptDelay::requested() const { return installed_ && interrupted != 0; }

void InterruptDelay::deliver() {
  if (!requested()) return;
  // What was printed is not lost.
  std::fflush(nullptr);
  std::signal(SIGINT, SIG_DFL);
  std::raise(SIGINT);
}

}  // namespace pando
