#include "training/execution.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <mutex>

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

struct Interrupt {
  int signal;
  struct sigaction before = {};
  bool delayed = false;
};
Interrupt interrupts[] = {{SIGINT}, {SIGTERM}};

std::mutex delays_mutex;
int delays = 0;
// The first that came; 0: none.
volatile std::sig_atomic_t interrupted = 0;

void remember_interrupt(int signal) {
  interrupted = signal;
  for (const Interrupt& interrupt : interrupts)
    if (interrupt.delayed) std::signal(interrupt.signal, SIG_DFL);
}

void delay(Interrupt& interrupt) {
  if (sigaction(interrupt.signal, nullptr, &interrupt.before) != 0) return;
  const bool ignored = (interrupt.before.sa_flags & SA_SIGINFO) == 0 && interrupt.before.sa_handler == SIG_IGN;
  if (ignored) return;
  interrupt.delayed = true;
  struct sigaction remember = {};
  remember.sa_handler = remember_interrupt;
  remember.sa_flags = SA_RESTART;
  sigaction(interrupt.signal, &remember, nullptr);
}

void take_back(Interrupt& interrupt) {
  if (interrupt.delayed) sigaction(interrupt.signal, &interrupt.before, nullptr);
  interrupt.delayed = false;
}

}  // namespace

InterruptDelay::InterruptDelay() {
  const std::lock_guard lock(delays_mutex);
  if (delays++ > 0) return;
  interrupted = 0;
  for (Interrupt& interrupt : interrupts) delay(interrupt);
}

InterruptDelay::~InterruptDelay() {
  const std::lock_guard lock(delays_mutex);
  if (--delays > 0) return;
  for (Interrupt& interrupt : interrupts) take_back(interrupt);
}

bool InterruptDelay::requested() const { return interrupted != 0; }

void InterruptDelay::deliver() {
  int signal = 0;
  {
    const std::lock_guard lock(delays_mutex);
    if (delays > 1 || !requested()) return;
    for (Interrupt& interrupt : interrupts) take_back(interrupt);
    signal = interrupted;
    interrupted = 0;
  }
  // What was printed is not lost.
  std::fflush(nullptr);
  std::raise(signal);
}

}  // namespace pando
