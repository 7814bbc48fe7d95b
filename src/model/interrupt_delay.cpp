// SPDX-License-Identifier: Apache-2.0
#include "model/interrupt_delay.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <string_view>

namespace pando {

namespace {

constexpr std::chrono::milliseconds no_grace(0);

// A timer for each signal: it sends the signal once more when the grace period is over. The kernel keeps it, so that
// neither a thread nor memory is needed, and a handler may start it.
struct Interrupt {
  int signal;
  struct sigaction before = {};
  bool delayed = false;
  timer_t timer = {};
  bool has_timer = false;
};
Interrupt interrupts[] = {{SIGINT}, {SIGTERM}, {SIGHUP}};

std::mutex delays_mutex;
// How many delays there are, and how many of them have been told of the interrupt.
int delays = 0, told = 0;
// The first that came; 0: none.
volatile std::sig_atomic_t interrupted = 0;
// Milliseconds. A handler reads it.
std::atomic<std::int64_t> grace = 0;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

void set_timer(const Interrupt& interrupt, std::chrono::milliseconds period) {
  if (!interrupt.has_timer) return;
  itimerspec once = {};
  once.it_value.tv_sec = static_cast<time_t>(period.count() / 1000);
  once.it_value.tv_nsec = static_cast<long>(period.count() % 1000 * 1'000'000);
  timer_settime(interrupt.timer, 0, &once, nullptr);
}

// The second interrupt, or the end of the grace period. The signal acts as if nothing had been installed for it.
void end_process(int signal, siginfo_t* cause, void*) {
  constexpr std::string_view text = "\nInterrupted: the execution does not end; the process ends without it.\n";
  if (cause->si_code == SI_TIMER && write(STDERR_FILENO, text.data(), text.size()) < 0) {
    // The text is lost; there is no way to report that.
  }
  raise(signal);
}

// Calls only what a signal handler may call: sigaction and timer_settime.
void remember_interrupt(int signal) {
  interrupted = signal;
  struct sigaction end = {};
  end.sa_sigaction = end_process;
  end.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  for (const Interrupt& interrupt : interrupts) {
    if (interrupt.delayed) sigaction(interrupt.signal, &end, nullptr);
    if (interrupt.signal == signal) set_timer(interrupt, std::chrono::milliseconds(grace.load()));
  }
}

void delay(Interrupt& interrupt) {
  if (sigaction(interrupt.signal, nullptr, &interrupt.before) != 0) return;
  const bool ignored = (interrupt.before.sa_flags & SA_SIGINFO) == 0 && interrupt.before.sa_handler == SIG_IGN;
  if (ignored) return;
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = interrupt.signal;
  // If the system has no more timers there is no grace period, but a second interrupt still ends the process.
  interrupt.has_timer = timer_create(CLOCK_MONOTONIC, &event, &interrupt.timer) == 0;
  interrupt.delayed = true;
  struct sigaction remember = {};
  remember.sa_handler = remember_interrupt;
  remember.sa_flags = SA_RESTART;
  sigaction(interrupt.signal, &remember, nullptr);
}

void take_back(Interrupt& interrupt) {
  if (interrupt.delayed) sigaction(interrupt.signal, &interrupt.before, nullptr);
  if (interrupt.has_timer) timer_delete(interrupt.timer);
  interrupt.delayed = interrupt.has_timer = false;
}

// Stops the timers once every delay has been told: the lock is held.
void end_grace() {
  if (told < delays) return;
  for (const Interrupt& interrupt : interrupts) set_timer(interrupt, no_grace);
}

}  // namespace

InterruptDelay::InterruptDelay(std::chrono::milliseconds shortest_grace) {
  const std::lock_guard lock(delays_mutex);
  if (delays++ > 0) return;
  interrupted = 0;
  grace = shortest_grace.count();
  for (Interrupt& interrupt : interrupts) delay(interrupt);
}

InterruptDelay::~InterruptDelay() {
  const std::lock_guard lock(delays_mutex);
  if (told_) --told;
  --delays;
  end_grace();
  if (delays > 0) return;
  for (Interrupt& interrupt : interrupts) take_back(interrupt);
}

bool InterruptDelay::requested() {
  if (interrupted == 0) return false;
  const std::lock_guard lock(delays_mutex);
  if (!told_) ++told;
  told_ = true;
  end_grace();
  return true;
}

void InterruptDelay::allow_for(std::chrono::steady_clock::duration execution) {
  const std::int64_t wanted = std::chrono::duration_cast<std::chrono::milliseconds>(2 * execution).count();
  const std::lock_guard lock(delays_mutex);
  if (wanted > grace) grace = wanted;
}

void InterruptDelay::deliver() {
  int signal = 0;
  {
    const std::lock_guard lock(delays_mutex);
    if (delays > 1 || interrupted == 0) return;
    for (Interrupt& interrupt : interrupts) take_back(interrupt);
    signal = interrupted;
    interrupted = 0;
  }
  // Flushes what was printed.
  std::fflush(nullptr);
  std::raise(signal);
}

}  // namespace pando
