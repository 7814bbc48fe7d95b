// SPDX-License-Identifier: Apache-2.0
#include "comm/wake_up.h"

#include <pando/base/error.h>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

namespace pando {

namespace {

std::atomic<const WakeUp*> woken_by_signal = nullptr;
std::atomic<bool> told_to_end = false;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<const WakeUp*>::is_always_lock_free);

void remember_termination(int) {
  told_to_end = true;
  if (const WakeUp* wake_up = woken_by_signal) wake_up->wake();
}

}  // namespace

WakeUp::WakeUp() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0)
    throw Error(fmt::format("cannot make a descriptor for workers: {}; close files, or raise the limit (ulimit -n)",
                            std::strerror(errno)));
}

WakeUp::~WakeUp() { close(descriptor_); }

void WakeUp::wake() const noexcept {
  const int error = errno;
  const std::uint64_t one = 1;
  // It fails only if it is awake already.
  if (write(descriptor_, &one, sizeof one) < 0) errno = error;
}

void WakeUp::sleep(std::chrono::steady_clock::duration longest) const {
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
  pollfd waited{.fd = descriptor_, .events = POLLIN, .revents = 0};
  std::uint64_t count = 0;
  if (poll(&waited, 1, static_cast<int>(std::clamp<std::int64_t>(milliseconds, 1, 60'000))) > 0 &&
      read(descriptor_, &count, sizeof count) < 0)
    return;
}

void delay_termination(const WakeUp& wake_up) {
  woken_by_signal = &wake_up;
  struct sigaction before = {};
  if (sigaction(SIGTERM, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
  struct sigaction action = {};
  action.sa_handler = remember_termination;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
}

bool is_told_to_end() { return told_to_end; }

void deliver_termination() {
  std::signal(SIGTERM, SIG_DFL);
  kill(getpid(), SIGTERM);
}

}  // namespace pando
