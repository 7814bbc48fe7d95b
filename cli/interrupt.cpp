// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <array>
#include <csignal>
#include <cstddef>

namespace pando::cli {

namespace {

constexpr std::array<int, 3> signals = {SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, signals.size()> before;
volatile std::sig_atomic_t received = 0;

void remember(int number) {
  received = 1;
  std::signal(number, SIG_DFL);
}

}  // namespace

InterruptWatch::InterruptWatch() {
  received = 0;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    struct sigaction action = {};
    action.sa_handler = remember;
    action.sa_flags = SA_RESTART;
    sigaction(signals[i], nullptr, &before[i]);
    // A signal that a shell set to be ignored, for a job in the background, stays ignored.
    if (before[i].sa_handler != SIG_IGN) sigaction(signals[i], &action, nullptr);
  }
}

InterruptWatch::~InterruptWatch() {
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before[i], nullptr);
}

bool InterruptWatch::interrupted() const { return received != 0; }

}  // namespace pando::cli
