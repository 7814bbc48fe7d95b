// SPDX-License-Identifier: Apache-2.0
// PulseRecord: when this worker last heard the worker that sends it a pulse. Pulses go round in a ring, from each
// worker to the next, so each watches one other, and tells all when that one is silent.
#pragma once
#include <algorithm>
#include <chrono>

namespace pando {

class PulseRecord {
 public:
  using Clock = std::chrono::steady_clock;
  PulseRecord(Clock::duration patience, Clock::time_point now) : patience_(patience), heard_(now), looked_(now) {}

  void hear(Clock::time_point now) { heard_ = now; }
  // Whether the other has been silent for too long. Call it often: if this worker itself was stopped or had no
  // processor for a while, the other gets its whole time again.
  bool is_silent(Clock::time_point now) {
    if (now - looked_ > patience_ / 2) heard_ = now;
    looked_ = now;
    return now - heard_ > patience_;
  }
  // How often to send a pulse, and to look.
  static Clock::duration period(Clock::duration patience) {
    return std::min<Clock::duration>(patience / 10, std::chrono::milliseconds(500));
  }

 private:
  Clock::duration patience_;
  Clock::time_point heard_, looked_;
};

}  // namespace pando
