// SPDX-License-Identifier: Apache-2.0
#include "base/machine/crowding.h"

#include <algorithm>

namespace pando {

namespace {

// A shorter time says little: another process may have run for a moment.
constexpr std::chrono::milliseconds shortest_phase{2};
// The ratio of the time apart to the time that it took to find out. It limits what trying again costs.
constexpr int least_ratio = 16;

std::chrono::nanoseconds read(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

void Crowding::add_member(pthread_t thread) {
  clockid_t clock = {};
  if (pthread_getcpuclockid(thread, &clock) == 0) members_.push_back(clock);
}

std::chrono::nanoseconds Crowding::processor_time() const {
  std::chrono::nanoseconds sum = read(CLOCK_THREAD_CPUTIME_ID);
  for (clockid_t member : members_) sum += read(member);
  return sum;
}

std::atomic<bool> Crowding::is_assumed = false;
std::atomic<int> Crowding::assumed_halvings = 0;
std::atomic<std::int64_t> Crowding::judgements = 0;

int Crowding::halvings(int most) {
  if (is_assumed.load(std::memory_order_relaxed)) return most;
  if (const int assumed = assumed_halvings.load(std::memory_order_relaxed); assumed > 0) return std::min(assumed, most);
  if (halvings_ == 0) return 0;
  halvings_ = std::min(halvings_, most);
  if (Clock::now() < apart_until_) return halvings_;
  halvings_ = 0;
  phase_begin_ = {};
  return 0;
}

void Crowding::judge() {
  judgements.fetch_add(1, std::memory_order_relaxed);
  const Clock::time_point now = Clock::now();
  if (phase_begin_ == Clock::time_point()) {
    phase_begin_ = now;
    processor_time_before_ = processor_time();
    return;
  }
  const std::chrono::nanoseconds phase = now - phase_begin_;
  const std::chrono::nanoseconds worked_well = phase_begin_ - std::min(apart_until_, phase_begin_);
  if (phase < shortest_phase) return;
  phase_begin_ = {};
  if (phase < processor_time() - processor_time_before_) return;
  ++halvings_;
  // Longer each time, unless the members worked well together in between.
  time_apart_ =
      std::clamp<std::chrono::nanoseconds>(2 * time_apart_ - worked_well, shortest_time_apart, longest_time_apart);
  apart_until_ = now + std::max(time_apart_, least_ratio * phase);
}

void Crowding::pause() {
  if (phase_begin_ == Clock::time_point()) return;
  caller_ = pthread_self();
  pause_begin_ = Clock::now();
  processor_time_at_pause_ = processor_time();
}

void Crowding::resume() {
  if (phase_begin_ == Clock::time_point()) return;
  // The clock of another thread says nothing about this one.
  if (pthread_equal(caller_, pthread_self()) == 0) return forget();
  phase_begin_ += Clock::now() - pause_begin_;
  processor_time_before_ += processor_time() - processor_time_at_pause_;
}

}  // namespace pando
